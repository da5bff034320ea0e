//! The changes that the page of a session offers: pauses, their end, and the end of a leave.
//!
//! They are the operations of the routes under `/v1`, with the same checks.

use axum::response::Response;
use recount::ledger::PauseTarget;

use crate::pages::frame::{Form, Frame};
use crate::problems::Problem;
use crate::requests::{InPath, session};
use crate::routes::{Caller, leaves, pauses};

/// Pauses the session.
pub(crate) async fn pause(
    caller: Caller,
    frame: Frame,
    InPath(id): InPath<String>,
    form: Form,
) -> Result<Response, Problem> {
    form.only(&["reason", "cancel_running"])?;
    let id = session(&id)?;
    let new = pauses::NewPause {
        target: PauseTarget::Session(id),
        reason: form.one("reason")?.map(str::to_owned),
        cancel_running: form.one("cancel_running")?.is_some(),
    };
    pauses::begin(&caller, new).await?;
    frame.see_other(&format!("sessions/{id}"))
}

/// Ends the pause of the session.
pub(crate) async fn unpause(
    caller: Caller,
    frame: Frame,
    InPath(id): InPath<String>,
    form: Form,
) -> Result<Response, Problem> {
    form.only(&["reason"])?;
    let id = session(&id)?;
    let end = pauses::EndOfPause {
        target: PauseTarget::Session(id),
        reason: form.one("reason")?.map(str::to_owned),
    };
    pauses::end(&caller, end).await?;
    frame.see_other(&format!("sessions/{id}"))
}

/// Revokes a standing leave of the session.
pub(crate) async fn revoke(
    caller: Caller,
    frame: Frame,
    InPath((id, leave)): InPath<(String, String)>,
    form: Form,
) -> Result<Response, Problem> {
    form.only(&["reason"])?;
    let reason = form.one("reason")?.map(str::to_owned);
    leaves::end(&caller, (&id, &leave), reason).await?;
    frame.see_other(&format!("sessions/{id}"))
}
