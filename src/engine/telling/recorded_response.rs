//! The response in a record.

use crate::session::{Event, Fact, Finding, Json, Observation};

/// Returns the response that an observation contains.
pub(in crate::engine) fn response_in(fact: &Fact) -> Option<Json> {
    let Event::Observed(observation) = &fact.event else {
        return None;
    };
    if let Observation::ToolReturned(it) = observation {
        Some(it.response.clone())
    } else if let Observation::ResponseSupplied(it) = observation {
        Some(it.response.clone())
    } else if let Observation::ToolPaused(it) = observation {
        it.interim.clone()
    } else if let Observation::HookAnswered(it) = observation {
        it.response.clone()
    } else if let Observation::OperatorCancelled(it) = observation {
        it.response.clone()
    } else if let Observation::ToolYielded(it) = observation {
        Some(it.response.clone())
    } else if let Observation::ConfirmationAnswered(it) = observation {
        it.found.as_ref().and_then(result_in)
    } else if let Observation::OutcomeFound(it) = observation {
        result_in(&it.found)
    } else {
        None
    }
}

fn result_in(found: &Finding) -> Option<Json> {
    match found {
        Finding::Done(result) => Some(result.clone()),
        Finding::Failed(_) => None,
    }
}
