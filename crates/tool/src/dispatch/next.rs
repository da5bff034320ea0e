//! What a call without a live session does next, as the facts about it say.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use recount_session::{
    ConfirmationRequested, Decision, Event, Fact, Json, Observation, Outcome, ResponseIssued, Seq,
    Timestamp, Verdict,
};
use serde_json::Value;
use tokio::sync::oneshot;

/// What a call does next.
pub(crate) enum Next {
    /// Its tool runs.
    Run(Start),
    /// A person is asked this, and may take so long.
    Ask {
        request: Seq,
        question: Box<ConfirmationRequested>,
        at: Timestamp,
        expires: Option<Due>,
    },
    /// The program says whether a person is asked; the state as it is.
    Verdict(Arc<BTreeMap<String, Json>>),
    /// It is run again, after a while.
    Again { attempt: u32, due: Due },
    /// It waits for an equal call that runs.
    Wait(oneshot::Receiver<Next>),
    /// It has begun what is finished elsewhere; the model would be told this meanwhile.
    Paused(Option<Json>),
    /// It is over.
    Ended(Ended),
}

/// How a tool is started.
pub(crate) struct Start {
    pub(crate) attempt: u32,
    pub(crate) started: Timestamp,
    pub(crate) limit: Option<Duration>,
    /// The state as it is.
    pub(crate) seen: Arc<BTreeMap<String, Json>>,
}

/// When a time comes, and how long that is from the record that says so.
#[derive(Clone, Copy)]
pub(crate) struct Due {
    pub(crate) at: Timestamp,
    pub(crate) wait: Duration,
}

/// How a call ended.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    /// The result of an equal call, if it took one.
    pub(super) reused: Option<Value>,
    /// What the engine answered itself.
    pub(crate) response: Option<Json>,
}

/// What a fact means for a call.
pub(crate) fn means(
    fact: &Fact,
    seen: Option<&Arc<BTreeMap<String, Json>>>,
    results: &BTreeMap<Seq, Value>,
) -> Option<(Seq, Next)> {
    let decision = match &fact.event {
        Event::Observed(Observation::ToolPaused(it)) => {
            return Some((it.call, Next::Paused(it.interim.clone())));
        }
        Event::Observed(_) => return None,
        Event::Decided(decision) => decision,
    };
    let due = |at: Timestamp| {
        let us = u64::try_from(at.0.saturating_sub(fact.at.0)).unwrap_or(0);
        let wait = Duration::from_micros(us);
        Due { at, wait }
    };
    match decision {
        Decision::CallStarted(it) => {
            let start = Start {
                attempt: it.attempt,
                started: fact.at,
                limit: it.deadline_us.map(|at| due(at).wait),
                seen: seen.cloned().unwrap_or_default(),
            };
            Some((it.call, Next::Run(start)))
        }
        Decision::ConfirmationRequested(_) | Decision::ConfirmationReopened(_) => {
            let asked = decision.question()?;
            let ask = Next::Ask {
                request: fact.seq,
                question: Box::new(asked.clone()),
                at: fact.at,
                expires: asked.expires_at_us.map(due),
            };
            Some((asked.call, ask))
        }
        Decision::RetryScheduled(it) => {
            let (attempt, due) = (it.attempt, due(it.due_us));
            Some((it.call, Next::Again { attempt, due }))
        }
        Decision::ResponseIssued(it) if it.outcome != Outcome::Interim => {
            Some((it.call, Next::Ended(ended(it, results))))
        }
        Decision::CallCancelled(it) => {
            let ended = Ended {
                outcome: Outcome::Withdrawn,
                reused: None,
                response: None,
            };
            Some((it.call, Next::Ended(ended)))
        }
        Decision::PolicyDecided(it) if it.verdict == Verdict::AskProgram => {
            Some((it.call, Next::Verdict(seen.cloned().unwrap_or_default())))
        }
        Decision::PolicyDecided(_)
        | Decision::GateWaived(_)
        | Decision::ConfirmationExpired(_)
        | Decision::ConfirmationWithdrawn(_)
        | Decision::CallReady(_)
        | Decision::ResultReused(_)
        | Decision::OutcomeReconciled(_)
        | Decision::BackgroundSpawned(_)
        | Decision::ResponseIssued(_)
        | Decision::DeliveryChosen(_)
        | Decision::PhaseEntered(_) => None,
    }
}

fn ended(issued: &ResponseIssued, results: &BTreeMap<Seq, Value>) -> Ended {
    Ended {
        outcome: issued.outcome,
        reused: issued.of.and_then(|of| results.get(&of)).cloned(),
        response: issued.response.clone(),
    }
}
