//! An answer at the engine's door: held against the question on record, so that what does not fit
//! is refused on record, too.

use serde_json::Value;

use super::opened_arguments::opened;
use crate::engine::error::Error;
use crate::ledger::{Ledger, Seal};
use crate::session::{Event, ObjectHash, Observation, Seq, Session, SessionId, UnfitAnswer};
use crate::tool::{Asked, ToolConfirmation, ToolContext};

/// Where it is on record what a person gave for a call.
pub(in crate::engine) struct Given {
    pub(in crate::engine) request: Seq,
    pub(in crate::engine) answer: Seq,
    /// The `tool_asked` from whose state the tool goes on.
    pub(in crate::engine) asked: Option<Seq>,
}

/// The context of a run, with what a person gave for it.
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

/// Reads the answer on record to a request.
async fn confirmation_of(
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

/// The answer, or what is wrong with it. Of a request that is not open nothing is looked at: the
/// session says what became of it.
pub(in crate::engine) async fn examine(
    ledger: &Ledger,
    session: &Session,
    seal: &Seal,
    request: Seq,
    given: Result<ToolConfirmation, UnfitAnswer>,
) -> Result<Result<ToolConfirmation, UnfitAnswer>, Error> {
    let confirmation = match given {
        Ok(confirmation) => confirmation,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let asked = session.requests.get(&request);
    let call = asked.and_then(|asked| session.calls.get(&asked.call));
    let entry = ledger.entries(session.id, request, 1).await?.pop();
    let (Some(call), Some(entry)) = (call, entry) else {
        return Ok(Ok(confirmation));
    };
    let Event::Decided(decision) = entry.fact()?.event else {
        return Ok(Ok(confirmation));
    };
    let Some(question) = decision.question() else {
        return Ok(Ok(confirmation));
    };
    let declared = session.terms.catalog.tools.get(&call.name);
    let asked = Asked {
        question,
        hash: Some(ObjectHash::from_bytes(*entry.hash().as_bytes())),
        args: &call.args,
        sealed: &call.sealed_args,
        parameters: declared.and_then(|it| it.parameters.as_ref()),
    };
    Ok(asked.fit(confirmation, |edited| {
        opened(session.id, seal, call, edited).ok()
    }))
}
