//! The claim of a call for a client, by an engine or at a desk.

use recount_journal::causes;
use std::sync::Arc;

use super::super::operation::Executor;
use super::claiming::{ClaimRequest, claim_of};
use crate::engine::admission::opened_arguments::opened;
use crate::engine::effects::given::{confirmation_of, given};
use crate::engine::error::Error;
use crate::engine::inputs::offers::{Known, Offer, Offers};
use crate::ledger::{self, ClaimedCall};
use crate::session::{Actor, ClaimRejection, Rejection, Seq, SessionId, Timestamp};

/// The codes of refusals after which the next call is tried.
const TAKEN: [&str; 6] = [
    "already_claimed",
    "call_not_ready",
    "not_for_clients",
    "stale_attempt",
    "call_settled",
    "session_closed",
];

impl Executor<'_> {
    /// Claims a call. If there is none, returns the next time at which to try again.
    pub(super) async fn claim(
        &self,
        request: &ClaimRequest,
        by: Actor,
    ) -> Result<Result<ClaimedCall, Option<Timestamp>>, Error> {
        if let Some((session, call)) = request.call {
            let recorded = self.record_claim(session, call, request, by.clone()).await;
            let seq = match recorded {
                Err(error) if error.is_owned() => {
                    self.claim_elsewhere((session, call), request, by, (error, None))
                        .await?
                }
                recorded => recorded?,
            };
            return self.claimed(session, call, seq).await.map(Ok);
        }
        let (now, offers) = (self.now(), self.offers());
        let mut next: Option<Timestamp> = None;
        for offer in offers.list(self.ledger()).await?.iter() {
            if now < offer.from {
                next = Some(next.map_or(offer.from, |it| it.min(offer.from)));
                continue;
            }
            let (session, call) = offer.call();
            match self.try_claim(&offers, offer, request, by.clone()).await {
                Ok(Some(seq)) => return self.claimed(session, call, seq).await.map(Ok),
                Ok(None) => {}
                Err(error) if is_taken(&error) => {}
                // The calls of other sessions must not wait for this one.
                Err(error) if error.is_owned() || is_of_session(&error) => {
                    tracing::warn!(
                        %session, error = %causes(&error),
                        "a call of a session cannot be claimed"
                    );
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Err(next))
    }

    /// The calls to claim. A desk lists them for itself.
    fn offers(&self) -> Arc<Offers> {
        match self {
            Executor::Engine(engine) => engine.inner.offers.clone(),
            Executor::Desk(_) => Arc::default(),
        }
    }

    /// Records the claim of an offered call, if the client can run it.
    async fn try_claim(
        &self,
        offers: &Arc<Offers>,
        offer: &Offer,
        request: &ClaimRequest,
        by: Actor,
    ) -> Result<Option<Seq>, Error> {
        let (session, call) = offer.call();
        if !self.can_run(offer, request).await? {
            return Ok(None);
        }
        let owned = match self.record_claim(session, call, request, by.clone()).await {
            Err(error) if error.is_owned() => error,
            claimed => return claimed.map(Some),
        };
        let Some(under_way) = offers.begin_elsewhere((session, call)) else {
            return Ok(None);
        };
        let attempt = (owned, Some(under_way));
        let claimed = self.claim_elsewhere((session, call), request, by, attempt);
        claimed.await.map(Some)
    }

    /// True if the client can run the call. False for a sealed session without its key.
    async fn can_run(&self, offer: &Offer, request: &ClaimRequest) -> Result<bool, Error> {
        let known = offer.known(self.ledger()).await?;
        let Some(tool) = known.and_then(|it| tool_within(it, request)) else {
            return Ok(false);
        };
        if !offer.may_be_of_any_tool() {
            return Ok(true);
        }
        let session = self.folded(offer.call().0).await?;
        let declared = session.terms.catalog.tools.get(tool);
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
        let (claim, lease) = (request.claim.clone(), request.lease);
        let command = claim_of(call, claim, lease.until(self.now()), by);
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

/// Returns the tool of the call if it is in the scope of the request.
fn tool_within<'k>(known: &'k Known, request: &ClaimRequest) -> Option<&'k String> {
    let is_served = request.agents.is_empty() || request.agents.contains(&known.agent);
    let mut labels = request.labels.iter();
    let is_labelled = labels.all(|(key, value)| known.labels.get(key) == Some(value));
    let tool = known.tool.as_ref()?;
    let is_run = request.tools.is_empty() || request.tools.contains(tool);
    (is_served && is_labelled && is_run).then_some(tool)
}

/// True if another client or the session was faster, so that the next call is tried.
fn is_taken(error: &Error) -> bool {
    if let Error::RefusedElsewhere(refusal) = error {
        return TAKEN.contains(&refusal.code.as_str());
    }
    matches!(
        error,
        Error::Refused(
            Rejection::Claim(
                ClaimRejection::AlreadyClaimed { .. }
                    | ClaimRejection::NotReady { .. }
                    | ClaimRejection::NotForClients { .. }
                    | ClaimRejection::StaleAttempt { .. },
            ) | Rejection::CallSettled { .. }
                | Rejection::SessionClosed
        )
    )
}
