//! The claim of a call for a client, by an engine or at a desk.

use recount_journal::OpenItem;

use super::super::operation::Executor;
use super::claiming::ClaimRequest;
use crate::engine::admission::opened_arguments::opened;
use crate::engine::effects::given::{confirmation_of, given};
use crate::engine::error::Error;
use crate::ledger::{self, ClaimedCall};
use crate::session::{
    Actor, ClaimAction, ClaimCommand, ClaimRejection, Command, OpenKind, Rejection, Seq, SessionId,
    Timestamp,
};

impl Executor<'_> {
    /// Claims a call. If there is none, returns the next time at which to try again.
    pub(super) async fn claim(
        &self,
        request: &ClaimRequest,
        by: Actor,
    ) -> Result<Result<ClaimedCall, Option<Timestamp>>, Error> {
        if let Some((session, call)) = request.call {
            let seq = self.record_claim(session, call, request, by).await?;
            return self.claimed(session, call, seq).await.map(Ok);
        }
        let claimable = self.ledger().claimable(self.now()).await?;
        for item in claimable.items {
            let (session, call) = (SessionId(item.session), Seq(item.item));
            match self.try_claim(&item, request, by.clone()).await {
                Ok(Some(seq)) => return self.claimed(session, call, seq).await.map(Ok),
                Ok(None) => {}
                Err(Error::Refused(rejection)) if is_taken(&rejection) => {}
                // Its own process offers it.
                Err(error) if error.is_owned() => {}
                // The calls of other sessions must not wait for this one.
                Err(error) if is_of_session(&error) => {
                    tracing::warn!(%session, %error, "a call of a session cannot be claimed");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Err(claimable.next))
    }

    /// Records the claim of a listed call, if the client can run it.
    async fn try_claim(
        &self,
        item: &OpenItem,
        request: &ClaimRequest,
        by: Actor,
    ) -> Result<Option<Seq>, Error> {
        let (session, call) = (SessionId(item.session), Seq(item.item));
        let by_any = item.kind == OpenKind::Ready.as_str();
        if !self.can_run(session, call, request, by_any).await? {
            return Ok(None);
        }
        let claimed = self.record_claim(session, call, request, by).await;
        claimed.map(Some)
    }

    /// True if the client can run the call. False for a sealed session without its key.
    ///
    /// With `by_any`, a tool that clients do not run may have the call.
    async fn can_run(
        &self,
        session: SessionId,
        call: Seq,
        request: &ClaimRequest,
        by_any: bool,
    ) -> Result<bool, Error> {
        let opened = match self.ledger().opened(session).await {
            Err(ledger::Error::Sealed { .. }) => return Ok(false),
            opened => opened?,
        };
        let Some((_, opened)) = opened else {
            return Ok(false);
        };
        let served = request.agents.is_empty() || request.agents.contains(&opened.agent);
        let labelled = request
            .labels
            .iter()
            .all(|(key, value)| opened.labels.get(key) == Some(value));
        if !served || !labelled {
            return Ok(false);
        }
        if request.tools.is_empty() && !by_any {
            return Ok(true);
        }
        let Some(tool) = self.ledger().tool_of(session, call).await? else {
            return Ok(false);
        };
        if !request.tools.is_empty() && !request.tools.contains(&tool) {
            return Ok(false);
        }
        if !by_any {
            return Ok(true);
        }
        let session = self.folded(session).await?;
        let declared = session.terms.catalog.tools.get(&tool);
        Ok(declared.is_some_and(|it| it.kind.runs_at_client()))
    }

    /// Records the claim of a call. Returns the record.
    async fn record_claim(
        &self,
        session: SessionId,
        call: Seq,
        request: &ClaimRequest,
        by: Actor,
    ) -> Result<Seq, Error> {
        let command = Command::Claim(ClaimCommand {
            call,
            attempt: None,
            claim: request.claim.clone(),
            by,
            action: ClaimAction::Claim {
                until_us: request.lease.until(self.now()),
            },
        });
        self.take(session, command).await
    }

    /// Returns a claimed call with what its client needs to run it.
    async fn claimed(&self, session: SessionId, call: Seq, at: Seq) -> Result<ClaimedCall, Error> {
        let ledger = self.ledger();
        let folded = self.folded(session).await?;
        let open = folded.calls.get(&call);
        let held = open.and_then(|open| open.held_claim().filter(|claim| claim.at == at));
        let (Some(open), Some(claim)) = (open, held) else {
            // It was cancelled, or its lease was over, before this process looked.
            let attempt = open.map_or(0, |open| open.attempts);
            let ended = ClaimRejection::ClaimEnded { call, attempt };
            return Err(Error::Refused(ended.into()));
        };
        let key = match open.sealed_args.is_empty() {
            true => None,
            false => ledger.key(session).await?,
        };
        let args = match opened(session, key.as_ref(), open, &open.args) {
            Ok(args) => args,
            Err(_) => return Err(ledger::Error::Sealed { session }.into()),
        };
        let confirmation = match given(&folded, open) {
            Some(given) => confirmation_of(ledger, session, given.request, given.answer).await?,
            None => None,
        };
        let (_, header) = ledger
            .opened(session)
            .await?
            .ok_or(ledger::Error::UnknownSession { session })?;
        Ok(ClaimedCall {
            session,
            call,
            attempt: claim.attempt,
            claim: claim.claim.clone(),
            id: session.call_id(call),
            agent: header.agent,
            external_id: header.external_id,
            labels: header.labels,
            tool: open.name.clone(),
            args,
            idempotency_key: session.idempotency_key(call).to_string(),
            until: claim.until,
            confirmation: confirmation.map(|it| it.for_program()),
        })
    }
}

/// True if the error is of one session, which cannot be read or has stopped.
fn is_of_session(error: &Error) -> bool {
    match error {
        Error::Ledger(error) => !matches!(error, ledger::Error::Journal(_)),
        other => matches!(other, Error::Stopped { .. }),
    }
}

/// True if another client or the session was faster, so that the next call is tried.
fn is_taken(rejection: &Rejection) -> bool {
    matches!(
        rejection,
        Rejection::Claim(
            ClaimRejection::AlreadyClaimed { .. }
                | ClaimRejection::NotReady { .. }
                | ClaimRejection::NotForClients { .. }
                | ClaimRejection::StaleAttempt { .. },
        ) | Rejection::CallSettled { .. }
            | Rejection::SessionClosed
    )
}
