//! The outcome of an ended call, read from the journal.

use crate::engine::telling::recorded_response::response_in;
use crate::ledger::{Error, Ledger};
use crate::session::{
    Decision, Event, Fact, Finding, FoundAs, Json, Observation, Outcome, Seq, Session, Timestamp,
};
use crate::tool::ToolError;

/// The number of records in one read.
const PAGE: usize = 256;

/// The end of a call, with the outcome that its caller receives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallEnd {
    /// The record that ended the call.
    pub at: Seq,
    /// The time of that record.
    pub time: Timestamp,
    /// The outcome.
    pub outcome: Outcome,
    /// The finding, if the outcome was unknown and was found later. The result is that of the
    /// finding then.
    pub found: Option<FoundAs>,
    /// The number of starts of the tool.
    pub attempts: u32,
    /// The results of a streaming tool, those of its last start. Empty for other tools.
    pub results: Vec<Json>,
    /// The response, or the reason why the call failed.
    pub result: Result<Json, ToolError>,
}

/// Returns the end of a call from the journal. `None` if the call is open or unknown.
///
/// No task of the session is needed, so it also works after a restart and for sealed sessions whose
/// key is available.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
/// # runtime.unwrap().block_on(async {
/// use recount::engine::call_end;
/// use recount::prelude::*;
///
/// let pay = T::simple("pay", "Pays", |args| async move { Ok(json!({"paid": args["cents"]})) });
/// let engine = Engine::in_memory().agent("orders", Agent::new().tools(pay)).open().await?;
/// let session = engine.session("orders").open().await?;
/// let by = Actor::embedder("pipeline");
/// let paid = session.call_with_key("pay", json!({"cents": 7}), "order-7", by).await?;
/// let loaded = engine.ledger().load(session.session_id()).await?.session;
/// let end = call_end(engine.ledger(), &loaded, paid.call).await?.unwrap();
/// assert_eq!(end.result.unwrap().as_str(), r#"{"paid":7}"#);
/// # Ok::<(), recount::engine::Error>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// The error of a record that cannot be read.
pub async fn call_end(
    ledger: &Ledger,
    session: &Session,
    call: Seq,
) -> Result<Option<CallEnd>, Error> {
    let Some(settled) = session.settled.get(&call) else {
        return Ok(None);
    };
    let Some(end) = ledger.fact(session.id, settled.at).await? else {
        return Ok(None);
    };
    let found = match session.reconciled.get(&call) {
        Some(reconciled) => ledger.fact(session.id, reconciled.at).await?,
        None => None,
    };
    let finding = found.as_ref().and_then(finding_in);
    let result = match finding {
        Some(Finding::Done(result)) => Ok(result.clone()),
        Some(Finding::Failed(reason)) => Err(ToolError::ExecutionFailed(reason.clone())),
        None => result_in(ledger, session, &end).await?,
    };
    Ok(Some(CallEnd {
        at: settled.at,
        time: end.at,
        outcome: settled.outcome,
        found: session.reconciled.get(&call).map(|it| it.found),
        attempts: settled.attempts,
        results: yielded(ledger, session, call, settled.at).await?,
        result,
    }))
}

fn finding_in(fact: &Fact) -> Option<&Finding> {
    match &fact.event {
        Event::Observed(Observation::OutcomeFound(it)) => Some(&it.found),
        Event::Observed(_) | Event::Decided(_) => None,
    }
}

/// Returns the result in the record that ended a call.
async fn result_in(
    ledger: &Ledger,
    session: &Session,
    end: &Fact,
) -> Result<Result<Json, ToolError>, Error> {
    let (outcome, of, response) = match &end.event {
        Event::Decided(Decision::ResponseIssued(it)) => (it.outcome, it.of, it.response.clone()),
        Event::Decided(Decision::CallCancelled(it)) => {
            return Ok(Err(ToolError::Cancelled(it.reason.in_words().to_owned())));
        }
        Event::Decided(_) | Event::Observed(_) => (Outcome::Unknown, None, None),
    };
    let response = match (response, of) {
        (Some(response), _) => Some(response),
        (None, Some(of)) => {
            let fact = ledger.fact(session.id, of).await?;
            fact.as_ref().and_then(response_in)
        }
        (None, None) => None,
    };
    let response = response.unwrap_or_else(Json::empty_object);
    Ok(match outcome {
        Outcome::Interim | Outcome::Returned | Outcome::Supplied => Ok(response),
        Outcome::Failed
        | Outcome::Refused
        | Outcome::Denied
        | Outcome::Expired
        | Outcome::TimedOut
        | Outcome::Cancelled
        | Outcome::Unknown
        | Outcome::Withdrawn => Err(ToolError::of_response(&response.to_value())),
    })
}

/// Returns the results that the last start of a call has yielded, up to the end of the call.
async fn yielded(
    ledger: &Ledger,
    session: &Session,
    call: Seq,
    end: Seq,
) -> Result<Vec<Json>, Error> {
    let (mut results, mut next) = (Vec::new(), call);
    while next <= end {
        let facts = ledger.facts(session.id, next, PAGE).await?;
        let Some(last) = facts.last() else { break };
        next = last.seq.next();
        for fact in facts.into_iter().filter(|it| it.seq <= end) {
            match fact.event {
                Event::Observed(Observation::ToolYielded(it)) if it.call == call => {
                    results.push(it.response);
                }
                Event::Decided(Decision::CallStarted(it)) if it.call == call => results.clear(),
                Event::Observed(_) | Event::Decided(_) => {}
            }
        }
    }
    Ok(results)
}
