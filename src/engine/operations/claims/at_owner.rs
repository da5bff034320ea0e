//! The claim of a call whose session another process owns.

use std::time::Duration;

use tokio::sync::oneshot;

use super::super::desk::Desk;
use super::super::operation::{Executor, Operated, Operation};
use super::claiming::{ClaimRequest, ClientAction};
use crate::engine::error::Error;
use crate::engine::inputs::offers::{CallOf, UnderWay};
use crate::engine::serving::engine::Engine;
use crate::ledger::ClaimKey;
use crate::session::{Actor, Seq};

/// The time for which a claim waits for the owner of its session. The worker could run another call
/// meanwhile, so it is shorter than for what a person asks.
const WITHIN: Duration = Duration::from_secs(5);

/// The reason on record of a claim whose client has gone before it had the call.
const CLIENT_GONE: &str = "the client has left before it had the call";

/// An executor that lives as long as a task.
enum Detached {
    Engine(Engine),
    Desk(Desk),
}

impl Detached {
    fn executor(&self) -> Executor<'_> {
        match self {
            Detached::Engine(engine) => Executor::Engine(engine),
            Detached::Desk(desk) => Executor::Desk(desk),
        }
    }
}

impl Executor<'_> {
    fn detached(&self) -> Detached {
        match self {
            Executor::Engine(engine) => Detached::Engine((*engine).clone()),
            Executor::Desk(desk) => Detached::Desk((*desk).clone()),
        }
    }

    /// Claims a call at the owner of its session. Returns the record. `owned` is the error of the
    /// attempt here; `under_way` ends with the attempt there.
    ///
    /// A claim that nothing waits for any more is given back: otherwise its call would wait for the
    /// end of the lease, and be in doubt then.
    pub(super) async fn claim_elsewhere(
        &self,
        (session, call): CallOf,
        request: &ClaimRequest,
        by: Actor,
        (owned, under_way): (Error, Option<UnderWay>),
    ) -> Result<Seq, Error> {
        let (claim, lease) = (request.claim.clone(), request.lease);
        let operation = Operation::Claim {
            session,
            call,
            claim: claim.clone(),
            lease,
        };
        let (reply, replied) = oneshot::channel();
        let detached = self.detached();
        // The request of the client may be dropped at any time, such as with its connection.
        tokio::spawn(async move {
            let executor = detached.executor();
            let sent = executor.record_elsewhere(operation, by.clone(), owned, WITHIN);
            let claimed = sent.await;
            let (is_claimed, may_be_recorded) = match &claimed {
                Ok(_) => (true, true),
                Err(Error::RefusedElsewhere(_)) => (false, false),
                Err(error) => (false, !error.is_owned()),
            };
            match &claimed {
                Ok(_) | Err(Error::RefusedElsewhere(_)) => drop(under_way),
                Err(_) => under_way.into_iter().for_each(UnderWay::leave),
            }
            let is_heard = reply.send(claimed).is_ok();
            if may_be_recorded && !(is_claimed && is_heard) {
                let key = ClaimKey {
                    session,
                    call,
                    attempt: None,
                    claim,
                };
                give_back(&executor, key, by).await;
            }
        });
        // Without a reply, the runtime ends.
        replied.await.unwrap_or(Err(Error::ShutDown))
    }
}

/// Ends a claim that no client has begun.
async fn give_back(executor: &Executor<'_>, key: ClaimKey, by: Actor) {
    let (session, call) = (key.session, key.call);
    let action = ClientAction::End {
        reason: Some(CLIENT_GONE.to_owned()),
        not_begun: true,
    };
    let ended = executor.operate_anywhere(Operation::Client { key, action }, by);
    match ended.await {
        Ok(Operated::OnRecord(_) | Operated::OnRecordBut(..)) => {}
        // The claim was not recorded, or its lease has passed.
        Ok(Operated::Refused(refusal)) => {
            tracing::debug!(%session, %call, refusal = %refusal.text, "no claim to give back");
        }
        Err(error) => {
            tracing::warn!(
                %session, %call, %error,
                "a claim without a client, if it is on record, ends with its lease"
            );
        }
    }
}
