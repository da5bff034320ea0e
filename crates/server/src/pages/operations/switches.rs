//! The switches: forms that begin and end pauses, revoke leaves, release holds, and send dead
//! letters again or discard them, as the routes of `/v1` do.

use axum::response::Response;
use form_urlencoded::{byte_serialize, parse};
use recount::ledger::PauseTarget;

use crate::access::Role;
use crate::pages::frame::{Form, Frame};
use crate::problems::{Code, Problem};
use crate::requests::{seq, session};
use crate::routes::pauses::{EndOfPause, NewPause, begin, end};
use crate::routes::{Caller, holds, leaves, sinks};

/// The value of the field `target` for all sessions.
const EVERYTHING: &str = "everything";

/// The start of the value of the field `target` for an agent. The encoded name follows.
const AGENT: &str = "agent:";

/// Begins a pause.
pub(crate) async fn pause(caller: Caller, frame: Frame, form: Form) -> Result<Response, Problem> {
    caller.expect_somewhere(Role::Operator)?;
    form.only(&["target", "session", "tool", "reason", "cancel_running"])?;
    let new = NewPause {
        target: target(&form)?,
        reason: reason(&form)?,
        cancel_running: form.one("cancel_running")?.is_some(),
    };
    begin(&caller, new).await?;
    frame.see_other("operations")
}

/// Ends a pause.
pub(crate) async fn unpause(caller: Caller, frame: Frame, form: Form) -> Result<Response, Problem> {
    caller.expect_somewhere(Role::Operator)?;
    form.only(&["target", "session", "tool", "reason"])?;
    let ended = EndOfPause {
        target: target(&form)?,
        reason: reason(&form)?,
    };
    end(&caller, ended).await?;
    frame.see_other("operations")
}

/// Revokes a standing leave.
pub(crate) async fn revoke(caller: Caller, frame: Frame, form: Form) -> Result<Response, Problem> {
    form.only(&["session", "leave", "reason"])?;
    let field = |name| Ok::<_, Problem>(form.one(name)?.unwrap_or_default());
    let place = (field("session")?, field("leave")?);
    leaves::end(&caller, place, reason(&form)?).await?;
    frame.see_other("operations")
}

/// Releases a legal hold.
pub(crate) async fn unhold(caller: Caller, frame: Frame, form: Form) -> Result<Response, Problem> {
    form.only(&["hold", "reason"])?;
    let ended = holds::EndOfHold {
        hold: seq(form.one("hold")?.unwrap_or_default())?,
        reason: reason(&form)?.unwrap_or_default(),
    };
    holds::release(&caller, ended).await?;
    frame.see_other("operations")
}

/// Sends a dead letter again.
pub(crate) async fn retry_letter(
    caller: Caller,
    frame: Frame,
    form: Form,
) -> Result<Response, Problem> {
    let (sink, letter) = letter(&form)?;
    sinks::retry_one(&caller, sink, letter).await?;
    frame.see_other("operations")
}

/// Sends all dead letters of a sink again.
pub(crate) async fn retry_letters(
    caller: Caller,
    frame: Frame,
    form: Form,
) -> Result<Response, Problem> {
    form.only(&["sink"])?;
    sinks::retry_all(&caller, form.one("sink")?.unwrap_or_default()).await?;
    frame.see_other("operations")
}

/// Removes a dead letter.
pub(crate) async fn discard_letter(
    caller: Caller,
    frame: Frame,
    form: Form,
) -> Result<Response, Problem> {
    let (sink, letter) = letter(&form)?;
    sinks::discard_one(&caller, sink, letter).await?;
    frame.see_other("operations")
}

fn letter(form: &Form) -> Result<(&str, &str), Problem> {
    form.only(&["sink", "letter"])?;
    let field = |name| Ok::<_, Problem>(form.one(name)?.unwrap_or_default());
    Ok((field("sink")?, field("letter")?))
}

/// The fields of a form that name the target.
pub(super) fn fields_of(target: &PauseTarget) -> Vec<(&'static str, String)> {
    match target {
        PauseTarget::Everything => vec![("target", EVERYTHING.to_owned())],
        PauseTarget::Agent(agent) => vec![("target", agent_value(agent))],
        PauseTarget::Session(session) => vec![("session", session.to_string())],
        PauseTarget::Tool { session, tool } => {
            vec![("session", session.to_string()), ("tool", tool.clone())]
        }
    }
}

/// The value of the field `target` for an agent.
pub(super) fn agent_value(agent: &str) -> String {
    // A browser would change line breaks in a plain name. Those of tools have none.
    let name: String = byte_serialize(agent.as_bytes()).collect();
    format!("{AGENT}{name}")
}

/// The agent whose encoded name a field has.
fn agent_of(text: &str) -> Result<String, Problem> {
    let mut pairs = parse(text.as_bytes());
    match (pairs.next(), pairs.next()) {
        (Some((name, value)), None) if value.is_empty() => Ok(name.into_owned()),
        (Some(_), _) | (None, _) => {
            let detail = format!("target: expected an encoded name of an agent, found {text:?}");
            Err(Problem::new(Code::BadRequest, detail))
        }
    }
}

fn target(form: &Form) -> Result<PauseTarget, Problem> {
    let unfit = |detail: &str| Err(Problem::new(Code::BadRequest, detail));
    match (form.one("target")?, form.one("session")?, form.one("tool")?) {
        (Some(EVERYTHING), None, None) => Ok(PauseTarget::Everything),
        (Some(target), None, None) => match target.strip_prefix(AGENT) {
            Some(agent) => Ok(PauseTarget::Agent(agent_of(agent)?)),
            None => unfit("target: expected everything, or agent: and a name"),
        },
        (None, Some(id), None) => Ok(PauseTarget::Session(session(id.trim())?)),
        (None, Some(id), Some(tool)) => Ok(PauseTarget::Tool {
            session: session(id.trim())?,
            tool: tool.to_owned(),
        }),
        (Some(_), _, _) => unfit("expected a target, or a session, and not both"),
        (None, None, _) => unfit("expected a target, or the id of a session"),
    }
}

fn reason(form: &Form) -> Result<Option<String>, Problem> {
    let reason = form.one("reason")?.map(str::trim);
    Ok(reason.filter(|it| !it.is_empty()).map(str::to_owned))
}
