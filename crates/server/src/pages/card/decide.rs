//! The answers of a card: each form becomes the same operation as its route under `/v1`.

use axum::response::Response;
use recount::control::{checked, confirmation, finding};
use recount::engine::{Operation, Ticket};
use recount::session::{RequestId, Timestamp};
use recount_text::json::quote;
use serde_json::value::RawValue;

use super::loaded::card;
use super::show::{Note, page};
use crate::access::Role;
use crate::pages::frame::{Form, Frame};
use crate::problems::{Code, Problem};
use crate::requests::{InPath, call, request, seq, session};
use crate::routes::{Caller, of_control};

/// The microseconds of an hour.
const HOUR_US: i64 = 3600 * 1_000_000;

/// Answers the open request of a call.
pub(crate) async fn answer(
    caller: Caller,
    frame: Frame,
    InPath((id, name)): InPath<(String, String)>,
    form: Form,
) -> Result<Response, Problem> {
    let known = [
        "request",
        "request_hash",
        "answer",
        "reason",
        "payload",
        "result",
        "bound",
        "count",
        "hours",
    ];
    form.only(&known)?;
    let given = given(&form, caller.service.access.now());
    let answered = match given {
        Ok(text) => send(&caller, &form, &text).await,
        Err(problem) => Err(problem),
    };
    done(&caller, &frame, (&id, &name), &form, answered).await
}

/// Sends an answer, given as JSON text, to the request that the form names.
pub(super) async fn send(caller: &Caller, form: &Form, answer: &str) -> Result<(), Problem> {
    let id: RequestId = request(form.one("request")?.unwrap_or_default())?;
    let known = caller.request(id, Role::Approver).await?;
    let given = confirmation(&raw("answer", answer)?);
    let request = known.id;
    caller.operate(Operation::Answer { request, given }).await?;
    Ok(())
}

/// Shows the card: in place of the form, or with the problem of the answer and the form as sent.
pub(super) async fn done(
    caller: &Caller,
    frame: &Frame,
    (id, name): (&str, &str),
    form: &Form,
    answered: Result<(), Problem>,
) -> Result<Response, Problem> {
    match answered {
        Ok(()) => {
            let session = session(id)?;
            let call = caller.call(session, call(name)?).await?;
            frame.see_other(&card(session, call))
        }
        Err(problem) if is_about_the_call(&problem) => {
            let note = Note::Refused {
                problem: &problem,
                form,
            };
            page(caller, frame, id, name, note).await
        }
        Err(problem) => Err(problem),
    }
}

/// True for a problem that the card explains: the call was decided, or the answer is unfit.
fn is_about_the_call(problem: &Problem) -> bool {
    let status = problem.code().status().as_u16();
    problem.is_refusal() || matches!(status, 409 | 410 | 412 | 413 | 422)
}

/// The answer of the form as JSON text.
///
/// It names the hash of the request that the person saw. An answer about a call in doubt does not:
/// what the person found is true of the call, whichever request asked.
fn given(form: &Form, now: Timestamp) -> Result<String, Problem> {
    let reason = form.one("reason")?;
    let mut members = Vec::new();
    match form.one("answer")? {
        Some("yes") => members.push(r#""confirmed":true"#.to_owned()),
        Some("allow") => {
            members.push(r#""confirmed":true"#.to_owned());
            members.push(format!(r#""allow_for":{}"#, bound(form, now)?));
        }
        Some("no") => members.push(r#""confirmed":false"#.to_owned()),
        // An answer to a call in doubt has this key alone.
        Some("done") => return Ok(format!(r#"{{"found":{{"done":{}}}}}"#, result(form)?)),
        Some("failed") => {
            let reason = quoted(reason.unwrap_or_default());
            return Ok(format!(r#"{{"found":{{"failed":{reason}}}}}"#));
        }
        Some(_) | None => {
            let detail = "answer: expected yes, allow, no, done or failed";
            return Err(Problem::new(Code::BadRequest, detail));
        }
    }
    if let Some(reason) = reason {
        members.push(format!(r#""reason":{}"#, quoted(reason)));
    }
    if let Some(payload) = form.one("payload")? {
        members.push(format!(r#""payload":{}"#, raw("payload", payload)?.get()));
    }
    if let Some(hash) = form.one("request_hash")? {
        members.push(format!(r#""request_hash":{}"#, quoted(hash)));
    }
    Ok(format!("{{{}}}", members.join(",")))
}

/// The bound of a standing leave.
fn bound(form: &Form, now: Timestamp) -> Result<String, Problem> {
    let number = |name| {
        let text = form.one(name)?.unwrap_or_default();
        text.trim().parse::<u32>().map_err(|_| {
            let detail = format!("{name}: expected a whole number, found {text:?}");
            Problem::new(Code::BadRequest, detail)
        })
    };
    match form.one("bound")? {
        Some("hours") => {
            let span = i64::from(number("hours")?).saturating_mul(HOUR_US);
            Ok(format!(r#"{{"until_us":{}}}"#, now.0.saturating_add(span)))
        }
        Some("count") => Ok(format!(r#"{{"count":{}}}"#, number("count")?)),
        Some(_) | None => {
            let detail = "bound: expected count or hours";
            Err(Problem::new(Code::BadRequest, detail))
        }
    }
}

fn result(form: &Form) -> Result<String, Problem> {
    let text = form.one("result")?.unwrap_or_default();
    let result = raw("result", text)?;
    if !result.get().starts_with('{') {
        let detail = "the result is not a JSON object: expected { as its first character";
        return Err(Problem::new(Code::BadRequest, detail));
    }
    Ok(result.get().to_owned())
}

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    quote(text, &mut quoted);
    quoted
}

/// A JSON text that a person typed into a field with this name.
fn raw(name: &str, text: &str) -> Result<Box<RawValue>, Problem> {
    serde_json::from_str(text).map_err(|error| {
        let what = error.to_string();
        // The parser counts bytes, and puts the place at the end.
        let what = what.split(" at line ").next().unwrap_or_default();
        let line = text.lines().nth(error.line().saturating_sub(1));
        let before = line.unwrap_or_default().bytes().take(error.column());
        let character = before.filter(|it| !(0x80..0xc0).contains(it)).count();
        let place = format!("line {}, character {character}", error.line());
        Problem::new(
            Code::NotJson,
            format!("the {name} is not JSON: {place}: {what}"),
        )
    })
}

/// Supplies the result of a call that waits for it.
pub(crate) async fn respond(
    caller: Caller,
    frame: Frame,
    InPath((id, name)): InPath<(String, String)>,
    form: Form,
) -> Result<Response, Problem> {
    form.only(&["result"])?;
    let responded = async {
        let session = session(&id)?;
        caller.session(session, Role::Operator).await?;
        let call = caller.call(session, call(&name)?).await?;
        let tool = caller.ledger().tool_of(session, call).await?;
        let tool = tool.unwrap_or_default();
        let operation = Operation::Respond {
            ticket: Ticket {
                session,
                call,
                tool,
            },
            response: checked(&raw("result", &result(&form)?)?).map_err(of_control)?,
            interim: false,
        };
        caller.operate(operation).await.map(drop)
    };
    let responded = responded.await;
    done(&caller, &frame, (&id, &name), &form, responded).await
}

/// Records what a call did whose outcome was unknown when it ended.
pub(crate) async fn reconcile(
    caller: Caller,
    frame: Frame,
    InPath((id, name)): InPath<(String, String)>,
    form: Form,
) -> Result<Response, Problem> {
    form.only(&["found", "result", "reason"])?;
    let reconciled = async {
        let session = session(&id)?;
        caller.session(session, Role::Operator).await?;
        let call = caller.call(session, call(&name)?).await?;
        let found = match form.one("found")? {
            Some("done") => format!(r#"{{"done":{}}}"#, result(&form)?),
            Some("failed") => {
                let reason = form.one("reason")?.unwrap_or_default();
                format!(r#"{{"failed":{}}}"#, quoted(reason))
            }
            Some(_) | None => {
                let detail = "found: expected done or failed";
                return Err(Problem::new(Code::BadRequest, detail));
            }
        };
        let operation = Operation::Reconcile {
            session,
            call,
            found: finding(&raw("finding", &found)?).map_err(of_control)?,
        };
        caller.operate(operation).await.map(drop)
    };
    let reconciled = reconciled.await;
    done(&caller, &frame, (&id, &name), &form, reconciled).await
}

/// Revokes the standing leave that an answer to the call gave.
pub(crate) async fn revoke(
    caller: Caller,
    frame: Frame,
    InPath((id, name, leave)): InPath<(String, String, String)>,
    form: Form,
) -> Result<Response, Problem> {
    form.only(&["reason"])?;
    let revoked = async {
        let session = session(&id)?;
        caller.session(session, Role::Approver).await?;
        let operation = Operation::RevokeLeave {
            session,
            leave: seq(&leave)?,
            reason: form.one("reason")?.map(str::to_owned),
        };
        caller.operate(operation).await.map(drop)
    };
    let revoked = revoked.await;
    done(&caller, &frame, (&id, &name), &form, revoked).await
}
