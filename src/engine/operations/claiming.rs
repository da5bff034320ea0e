//! Calls that clients run: claimed, renewed, finished and given back through the session's task or
//! the desk.

use std::collections::{BTreeMap, BTreeSet};

use super::desk::Desk;
use super::operation::Executor;
use crate::engine::admission::opened_arguments::opened;
use crate::engine::effects::given::{confirmation_of, given};
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger::{self, ClaimKey, ClaimedCall, Ledger};
use crate::session::{
    Actor, ClaimAction, ClaimCommand, ClaimRejection, Command, Json, Lease, Rejection, Seq,
    SessionId, Timestamp,
};

/// The calls that a client can run, and the terms of its claim.
///
/// ```
/// use recount::engine::ClaimRequest;
/// let request = ClaimRequest::new("worker-7/0001").tool("pack_order").label("site", "berlin");
/// assert_eq!(request.lease.millis(), 60_000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The id of the claim. The client chooses a new one for every claim.
    pub claim: String,
    /// The time for which the client holds the call without renewing the claim.
    pub lease: Lease,
    /// The tools that the client can run. Empty: any tool.
    pub tools: BTreeSet<String>,
    /// The agents whose sessions the client serves. Empty: any agent.
    pub agents: BTreeSet<String>,
    /// The labels that a session must have.
    pub labels: BTreeMap<String, String>,
    /// The only call to claim. A refusal is an error then.
    pub call: Option<(SessionId, Seq)>,
}

impl ClaimRequest {
    /// Asks for any call, for the default lease of a minute.
    pub fn new(claim: impl Into<String>) -> ClaimRequest {
        ClaimRequest {
            claim: claim.into(),
            lease: Lease::DEFAULT,
            tools: BTreeSet::new(),
            agents: BTreeSet::new(),
            labels: BTreeMap::new(),
            call: None,
        }
    }

    /// Adds a tool that the client can run.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> ClaimRequest {
        self.tools.insert(name.into());
        self
    }

    /// Adds an agent whose sessions the client serves.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>) -> ClaimRequest {
        self.agents.insert(name.into());
        self
    }

    /// Adds a label that a session must have.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> ClaimRequest {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Sets the lease.
    #[must_use]
    pub fn lease(mut self, lease: Lease) -> ClaimRequest {
        self.lease = lease;
        self
    }

    /// Asks for this call only.
    #[must_use]
    pub fn of_call(mut self, session: SessionId, call: Seq) -> ClaimRequest {
        self.call = Some((session, call));
        self
    }
}

/// The requests of a client about a call that it holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientAction {
    /// Renews the lease. A shorter lease than the current one has no effect.
    Renew(Lease),
    /// Ends the claim without a result.
    End {
        /// The reason.
        reason: Option<String>,
        /// True if the client has not begun to run the call. The call is then ready for another
        /// client, and not in doubt.
        not_begun: bool,
    },
    /// Reports the end of the run: the result, or the reason of the failure.
    Return(Result<Json, String>),
    /// Reports one of several results.
    Yield(Json),
    /// Reports an event for the embedding program, such as progress.
    Report {
        /// The name of the event.
        name: String,
        /// The data of the event.
        data: Json,
    },
}

impl Engine {
    /// Claims the oldest ready call that the client can run. Returns `None` if there is none.
    ///
    /// The claim is recorded, and starts the call, before this method returns. The client renews
    /// the claim while it works, and [finishes](Engine::finish_claim) it with the result. If the
    /// lease passes first, the call is in doubt. A claim whose reply was lost ends with its lease.
    ///
    /// ```
    /// # async fn example(engine: recount::engine::Engine) -> Result<(), recount::engine::Error> {
    /// use recount::engine::ClaimRequest;
    /// use recount::session::{Actor, Json};
    /// use serde_json::json;
    /// let warehouse = Actor::embedder("warehouse");
    /// let request = ClaimRequest::new("worker-7/0001").tool("pack_order");
    /// if let Some(call) = engine.claim(&request, warehouse.clone()).await? {
    ///     let packed = Json::of(&json!({"packed": true}));
    ///     engine.finish_claim(call.key(), Ok(packed), warehouse).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if the id of the claim does not fit a record, or if the one call that the
    /// request names cannot be claimed. The refusal names the client that holds the call.
    pub async fn claim(
        &self,
        request: &ClaimRequest,
        by: Actor,
    ) -> Result<Option<ClaimedCall>, Error> {
        Executor::Engine(self).claim(request, by).await
    }

    /// Waits until a call is ready that the client can run, and claims it.
    ///
    /// Dropping the future records nothing more. If a claim was just recorded, it ends with its
    /// lease.
    ///
    /// # Errors
    /// Those of [`claim`](Engine::claim).
    pub async fn claim_next(
        &self,
        request: &ClaimRequest,
        by: Actor,
    ) -> Result<ClaimedCall, Error> {
        let journal = self.ledger().journal().clone();
        // Taken before the first look, so that no call becomes ready unnoticed.
        let mut position = journal.position().await?;
        loop {
            if let Some(claimed) = self.claim(request, by.clone()).await? {
                return Ok(claimed);
            }
            position = journal.follow(position).await?.position;
        }
    }

    /// Renews the lease of a claim. Returns the record.
    ///
    /// # Errors
    /// [`Error::Refused`] if the claim has ended, belongs to another client, or the call has ended,
    /// for example because it was cancelled.
    pub async fn renew_claim(&self, key: ClaimKey, lease: Lease, by: Actor) -> Result<Seq, Error> {
        self.client(key, ClientAction::Renew(lease), by).await
    }

    /// Reports the result of a claimed call, or the reason of its failure. Returns the record.
    ///
    /// A result that comes after its lease still settles the doubt about the call, unless the call
    /// was claimed again or its outcome was decided.
    ///
    /// # Errors
    /// [`Error::Refused`] if the result does not count.
    pub async fn finish_claim(
        &self,
        key: ClaimKey,
        result: Result<Json, String>,
        by: Actor,
    ) -> Result<Seq, Error> {
        self.client(key, ClientAction::Return(result), by).await
    }

    /// Ends a claim without a result. Returns the record.
    ///
    /// A call that the client has not begun is ready for another client. Otherwise it is in doubt.
    ///
    /// # Errors
    /// [`Error::Refused`] if the claim has ended or belongs to another client.
    pub async fn end_claim(
        &self,
        key: ClaimKey,
        reason: Option<String>,
        not_begun: bool,
        by: Actor,
    ) -> Result<Seq, Error> {
        let end = ClientAction::End { reason, not_begun };
        self.client(key, end, by).await
    }

    async fn client(&self, key: ClaimKey, action: ClientAction, by: Actor) -> Result<Seq, Error> {
        let now = self.inner.clock.now();
        let (session, command) = command_of(self.ledger(), key, action, now, by).await?;
        self.command(session, command).await
    }
}

impl Desk {
    /// Claims the oldest ready call that the client can run, as [`Engine::claim`] does.
    ///
    /// # Errors
    /// Those of [`Engine::claim`].
    pub async fn claim(
        &self,
        request: &ClaimRequest,
        by: Actor,
    ) -> Result<Option<ClaimedCall>, Error> {
        Executor::Desk(self).claim(request, by).await
    }
}

impl Executor<'_> {
    async fn claim(&self, request: &ClaimRequest, by: Actor) -> Result<Option<ClaimedCall>, Error> {
        if let Some((session, call)) = request.call {
            return self.claim_one(session, call, request, by).await.map(Some);
        }
        for item in self.ledger().claimable().await? {
            let (session, call) = (SessionId(item.session), Seq(item.item));
            if !self.can_run(session, call, request).await? {
                continue;
            }
            match self.claim_one(session, call, request, by.clone()).await {
                Ok(claimed) => return Ok(Some(claimed)),
                Err(Error::Refused(rejection)) if is_taken(&rejection) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// True if the client can run the call. False for a sealed session without its key.
    async fn can_run(
        &self,
        session: SessionId,
        call: Seq,
        request: &ClaimRequest,
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
        if request.tools.is_empty() {
            return Ok(true);
        }
        let tool = self.ledger().tool_of(session, call).await?;
        Ok(tool.is_some_and(|tool| request.tools.contains(&tool)))
    }

    async fn claim_one(
        &self,
        session: SessionId,
        call: Seq,
        request: &ClaimRequest,
        by: Actor,
    ) -> Result<ClaimedCall, Error> {
        let command = Command::Claim(ClaimCommand {
            call,
            attempt: None,
            claim: request.claim.clone(),
            by,
            action: ClaimAction::Claim {
                until_us: request.lease.until(self.now()),
            },
        });
        let seq = self.take(session, command).await?;
        claimed(self.ledger(), session, call, seq).await
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

/// Returns a claimed call with what its client needs to run it.
async fn claimed(
    ledger: &Ledger,
    session: SessionId,
    call: Seq,
    at: Seq,
) -> Result<ClaimedCall, Error> {
    let loaded = ledger.load(session).await?;
    let open = loaded.session.calls.get(&call);
    let held = open.and_then(|open| open.held_claim().filter(|claim| claim.at == at));
    let (Some(open), Some(claim)) = (open, held) else {
        // It was cancelled, or its lease was over, before this process looked.
        let attempt = open.map_or(0, |open| open.attempts);
        let ended = ClaimRejection::ClaimEnded { call, attempt };
        return Err(Error::Refused(ended.into()));
    };
    let args = match opened(session, &loaded.seal, open, &open.args) {
        Ok(args) => args,
        Err(_) => return Err(ledger::Error::Sealed { session }.into()),
    };
    let confirmation = match given(&loaded.session, open) {
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

/// Returns the command of a client about a claim. Only the record of an ended call has its tool.
pub(super) async fn command_of(
    ledger: &Ledger,
    key: ClaimKey,
    action: ClientAction,
    now: Timestamp,
    by: Actor,
) -> Result<(SessionId, Command), Error> {
    let ClaimKey {
        session,
        call,
        attempt,
        claim,
    } = key;
    let action = match action {
        ClientAction::Renew(lease) => ClaimAction::Renew {
            until_us: lease.until(now),
        },
        ClientAction::End { reason, not_begun } => ClaimAction::End { reason, not_begun },
        ClientAction::Return(result) => {
            let name = ledger.tool_of(session, call).await?.unwrap_or_default();
            let (response, failed) = match result {
                Ok(result) => (result, None),
                Err(reason) => (Json::empty_object(), Some(reason)),
            };
            ClaimAction::Return {
                name,
                response,
                failed,
            }
        }
        ClientAction::Yield(response) => ClaimAction::Yield { response },
        ClientAction::Report { name, data } => ClaimAction::Report { name, data },
    };
    let command = Command::Claim(ClaimCommand {
        call,
        attempt,
        claim,
        by,
        action,
    });
    Ok((session, command))
}
