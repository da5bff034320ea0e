//! The next step of a call without a live session, derived from its recorded events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use recount_session::{
    ConfirmationRequested, Decision, Event, Fact, Json, Observation, Outcome, ResponseIssued, Seq,
    Timestamp, Verdict,
};
use serde_json::Value;
use tokio::sync::oneshot;

/// The next step of a call.
pub(crate) enum Next {
    /// Run the tool.
    Run(Start),
    /// Ask an approver, until the request expires.
    Ask {
        request: Seq,
        question: Box<ConfirmationRequested>,
        at: Timestamp,
        expires: Option<Due>,
    },
    /// Ask the program whether the call needs an approval, with the current state.
    Verdict(Arc<BTreeMap<String, Json>>),
    /// Run the tool again after a delay.
    Retry { attempt: u32, due: Due },
    /// Wait for an equal call that runs.
    Wait(oneshot::Receiver<Next>),
    /// The result will come later from elsewhere; the value is the interim response.
    Paused(Option<Json>),
    /// The call has ended.
    Ended(Ended),
}

/// The parameters of a run.
pub(crate) struct Start {
    pub(crate) attempt: u32,
    pub(crate) started: Timestamp,
    pub(crate) limit: Option<Duration>,
    /// The current state of the session.
    pub(crate) seen: Arc<BTreeMap<String, Json>>,
}

/// A point in time, and its distance from the record that names it.
#[derive(Clone, Copy)]
pub(crate) struct Due {
    pub(crate) at: Timestamp,
    pub(crate) wait: Duration,
}

/// The end of a call.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    /// The result of an equal call, if it was reused.
    pub(super) reused: Option<Value>,
    /// The response if the rules answered the call without a result of the tool.
    pub(crate) response: Option<Json>,
}

/// Returns the next step that an event means for a call.
pub(crate) fn next_step(
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
            Some((it.call, Next::Retry { attempt, due }))
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
        | Decision::LeaveUsed(_)
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
