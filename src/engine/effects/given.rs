//! The approval of a run: the recorded answer, and the state from which its tool asked.

use serde_json::Value;

use crate::engine::error::Error;
use crate::ledger::Ledger;
use crate::session::{
    Call, Event, Leave, Observation, Phase, RequestState, Seq, Session, SessionId,
};
use crate::tool::{ToolConfirmation, ToolContext};

/// The records of the approval of a call.
pub(in crate::engine) struct Given {
    pub(in crate::engine) request: Seq,
    pub(in crate::engine) answer: Seq,
    /// The `tool_asked` from whose state the tool resumes.
    pub(in crate::engine) asked: Option<Seq>,
}

/// Returns the records of the approval under which a call runs.
pub(in crate::engine) fn given(session: &Session, call: &Call) -> Option<Given> {
    let Phase::Running {
        leave: Leave::Approved(leave),
        ..
    } = call.phase
    else {
        return None;
    };
    let own = call.asked.as_ref();
    let (asked, request) = match own.and_then(|own| Some((own.at, own.answered?))) {
        Some((asked, request)) => (Some(asked), request),
        // A yes about a call in doubt says only that it may run again.
        None => (None, call.gate_passed.unwrap_or(leave)),
    };
    match &session.requests.get(&request)?.state {
        RequestState::Answered(answered) => Some(Given {
            request,
            answer: answered.at,
            asked,
        }),
        RequestState::Open
        | RequestState::Expired { .. }
        | RequestState::Withdrawn { .. }
        | RequestState::Superseded { .. } => None,
    }
}

/// Returns the context of a run with the approver's answer.
pub(in crate::engine) async fn with_given(
    context: ToolContext,
    ledger: &Ledger,
    session: SessionId,
    given: Given,
) -> Result<ToolContext, Error> {
    let said = confirmation_of(ledger, session, given.request, given.answer).await?;
    let context = said
        .into_iter()
        .fold(context, ToolContext::with_confirmation);
    let Some(asked) = given.asked else {
        return Ok(context);
    };
    let state = match ledger.fact(session, asked).await?.map(|fact| fact.event) {
        Some(Event::Observed(Observation::ToolAsked(it))) => it.state.to_value(),
        Some(Event::Observed(_) | Event::Decided(_)) | None => Value::Null,
    };
    Ok(context.resuming(state))
}

/// Reads the recorded answer to a request.
pub(in crate::engine) async fn confirmation_of(
    ledger: &Ledger,
    session: SessionId,
    request: Seq,
    answer: Seq,
) -> Result<Option<ToolConfirmation>, Error> {
    let (asked, said) = (
        ledger.fact(session, request).await?,
        ledger.fact(session, answer).await?,
    );
    let hint = asked.and_then(|fact| match fact.event {
        Event::Decided(decision) => decision.question().and_then(|it| it.hint.clone()),
        Event::Observed(_) => None,
    });
    Ok(said.and_then(|fact| {
        if let Event::Observed(Observation::ConfirmationAnswered(it)) = fact.event {
            Some(ToolConfirmation::recorded(it, hint))
        } else {
            None
        }
    }))
}
