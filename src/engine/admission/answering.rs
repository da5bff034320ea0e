//! The check of an answer against the recorded request, so that an unfit answer is recorded as
//! refused.

use super::opened_arguments::opened;
use crate::engine::error::Error;
use crate::ledger::{Ledger, Seal};
use crate::session::{Event, ObjectHash, Seq, Session, Timestamp, UnfitAnswer};
use crate::tool::{Asked, ToolConfirmation};

/// Returns the answer, or the reason why it does not fit. An answer to a closed request is not
/// checked, because the session reports its outcome.
pub(in crate::engine) async fn examine(
    ledger: &Ledger,
    session: &Session,
    seal: &Seal,
    now: impl FnOnce() -> Timestamp,
    request: Seq,
    given: Result<ToolConfirmation, UnfitAnswer>,
) -> Result<Result<ToolConfirmation, UnfitAnswer>, Error> {
    let confirmation = match given {
        Ok(confirmation) => confirmation,
        Err(unfit) => return Ok(Err(unfit)),
    };
    // The clock is read only for a leave. The time of the answer itself is read when the answer is
    // recorded.
    if let Some(bound) = confirmation.allow_for
        && let Some(problem) = bound.unfit_at(now())
    {
        return Ok(Err(UnfitAnswer::InvalidLeave { problem }));
    }
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
        opened(session.id, seal.key.as_ref(), call, edited).ok()
    }))
}
