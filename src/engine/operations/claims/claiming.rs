//! Calls that clients run: claimed, renewed, finished and given back through the session's task or
//! the desk.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::super::desk::Desk;
use super::super::elsewhere::forwarding::WITHIN;
use super::super::operation::{Executor, Operation};
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::fixture::RELAYED;
use crate::ledger::{ClaimKey, ClaimedCall, Ledger};
use crate::session::{
    Actor, ClaimAction, ClaimCommand, Command, Json, Lease, OpenKind, Seq, SessionId, Timestamp,
};

/// The reason on record of a claim whose process was killed.
const PROCESS_GONE: &str = "the process that relayed the connection is gone";

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAction {
    /// Renews the lease. A shorter lease than the current one has no effect.
    Renew(#[serde(with = "super::super::elsewhere::lease_ms")] Lease),
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
        let claimed = Executor::Engine(self).claim(request, by).await?;
        Ok(claimed.ok())
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
        let clock = &self.inner.clock;
        loop {
            let due = match Executor::Engine(self).claim(request, by.clone()).await? {
                Ok(claimed) => return Ok(claimed),
                Err(due) => due,
            };
            // The call of a session that nothing serves is offered again at its deadline.
            let due = async {
                match due {
                    Some(due) => clock.reached(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                followed = journal.follow(position) => position = followed?.position,
                () = due => {}
            }
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

    /// Reports one of several results of a claimed call. Returns the record.
    ///
    /// # Errors
    /// [`Error::Refused`] if the claim has ended or belongs to another client.
    pub async fn yield_claim(
        &self,
        key: ClaimKey,
        response: Json,
        by: Actor,
    ) -> Result<Seq, Error> {
        self.client(key, ClientAction::Yield(response), by).await
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
        let recorded = self.client_here(key.clone(), action.clone(), by.clone());
        match recorded.await {
            // A client may report to any process of the journal.
            Err(error) if error.is_owned() => {
                let operation = Operation::Client { key, action };
                let owner = Executor::Engine(self);
                owner.record_elsewhere(operation, by, error, WITHIN).await
            }
            recorded => recorded,
        }
    }

    async fn client_here(
        &self,
        key: ClaimKey,
        action: ClientAction,
        by: Actor,
    ) -> Result<Seq, Error> {
        let now = self.inner.clock.now();
        let (session, command) = command_of(self.ledger(), key, action, now, by).await?;
        self.command(session, command).await
    }
}

impl Engine {
    /// Ends the claims of relayed connections of an earlier process. Their calls are in doubt then,
    /// and the rules of their tools apply. Returns the number of claims.
    ///
    /// A program that [relays](crate::engine::LiveHandle::relay) connections calls it before the
    /// first one.
    ///
    /// # Errors
    /// If the journal cannot be read or written.
    #[doc(hidden)]
    pub async fn end_relayed_claims(&self) -> Result<usize, Error> {
        let claimed = self.ledger().open_items_of(&[OpenKind::Claimed]).await?;
        let mut ended = 0;
        for item in claimed {
            let (session, call) = (SessionId(item.session), Seq(item.item));
            let folded = Executor::Engine(self).folded(session).await?;
            let held = folded.calls.get(&call).and_then(|it| it.held_claim());
            let Some(held) = held.filter(|it| it.claim.starts_with(RELAYED)) else {
                continue;
            };
            let key = ClaimKey {
                session,
                call,
                attempt: Some(held.attempt),
                claim: held.claim.clone(),
            };
            let reason = Some(PROCESS_GONE.to_owned());
            let not_begun = false;
            let end = ClientAction::End { reason, not_begun };
            match self.client_here(key, end, held.by.clone()).await {
                Ok(_) => ended += 1,
                // Another process serves it, and may relay its connection.
                Err(error) if error.is_owned() => {}
                // Its lease has passed meanwhile, or its session cannot be read.
                Err(error) => tracing::warn!(%session, %call, %error, "a claim was not ended"),
            }
        }
        Ok(ended)
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
        let claimed = Executor::Desk(self).claim(request, by).await?;
        Ok(claimed.ok())
    }
}

/// Returns the command that claims the next start of a call until a time.
pub(in crate::engine::operations) fn claim_of(
    call: Seq,
    claim: String,
    until_us: Timestamp,
    by: Actor,
) -> Command {
    Command::Claim(ClaimCommand {
        call,
        attempt: None,
        claim,
        by,
        action: ClaimAction::Claim { until_us },
    })
}

/// Returns the command of a client about a claim. Only the record of an ended call has its tool.
pub(in crate::engine::operations) async fn command_of(
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
