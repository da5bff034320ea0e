//! The checks of all sessions that the viewer may read, as a page with their result.
//!
//! With the script, the page of the audit runs the checks of the sessions under `/v1` one by one,
//! and shows its progress. Without it, the forms end here.

use axum::response::Response;
use maud::{Markup, html};
use recount::session::SessionId;
use recount_telling::count;

use crate::pages::frame::{Form, Frame, Page, said};
use crate::problems::Problem;
use crate::routes::Caller;
use crate::routes::reports::checking;

/// The maximum number of sessions of one check, newest first.
const SESSIONS_MAX: usize = 1_000;

/// The maximum number of records of one check. A session is checked whole.
const RECORDS_MAX: u64 = 200_000;

/// The result of a check of several sessions.
#[derive(Default)]
struct Checked {
    sessions: u64,
    /// The records, or the decisions that were made again.
    parts: u64,
    /// The sessions with a problem, each with its words.
    problems: Vec<(SessionId, String)>,
    /// The number of older sessions that were not checked.
    left_out: usize,
}

/// Verifies the hash chains.
pub(crate) async fn verify(caller: Caller, frame: Frame, form: Form) -> Result<Response, Problem> {
    form.only(&[])?;
    let _place = caller.service.streams.take("streams")?;
    let mut checked = Checked::default();
    for session in sessions(&caller, &mut checked).await? {
        match checking::verify_now(caller.ledger(), session).await {
            Ok(it) => {
                checked.parts += it.records;
                if let Some(flaw) = it.problem {
                    let words = format!("record {}: {}", flaw.seq, flaw.text);
                    checked.problems.push((session, words));
                }
            }
            Err(problem) => checked
                .problems
                .push((session, problem.detail().to_owned())),
        }
    }
    let good = "Consistent, not anchored: every hash holds";
    Ok(page(&frame, "Verified", good, "record", &checked))
}

/// Makes the decisions again.
pub(crate) async fn replay(caller: Caller, frame: Frame, form: Form) -> Result<Response, Problem> {
    form.only(&[])?;
    let _place = caller.service.streams.take("streams")?;
    let mut checked = Checked::default();
    for session in sessions(&caller, &mut checked).await? {
        match recount::replay::verify(caller.ledger(), session).await {
            Ok(it) => {
                checked.parts += it.decisions;
                if let Some(diverged) = it.diverged {
                    let words = format!("other decisions from record {} on", diverged.seq);
                    checked.problems.push((session, words));
                }
            }
            Err(error) => {
                let problem = Problem::from(error);
                checked
                    .problems
                    .push((session, problem.detail().to_owned()));
            }
        }
    }
    let good = "The same decisions";
    Ok(page(
        &frame,
        "Decisions checked",
        good,
        "decision",
        &checked,
    ))
}

/// The newest sessions that the viewer may read, within the bounds of one check.
async fn sessions(caller: &Caller, checked: &mut Checked) -> Result<Vec<SessionId>, Problem> {
    let (mut sessions, mut records) = (Vec::new(), 0);
    for (session, head) in caller.ledger().session_heads().await?.into_iter().rev() {
        if !caller.sees(session).await? {
            continue;
        }
        if sessions.len() >= SESSIONS_MAX || records >= RECORDS_MAX {
            checked.left_out += 1;
            continue;
        }
        records += head.seq;
        caller.shows(session);
        sessions.push(session);
    }
    checked.sessions = sessions.len() as u64;
    Ok(sessions)
}

fn page(frame: &Frame, title: &str, good: &str, part: &str, checked: &Checked) -> Response {
    let body = html! {
        (result(frame, good, part, checked))
        p.quiet {
            "Checked were the records that the service reads. It may have them in memory, or "
            "twice on disk. Its files are read by " code { "recount verify" }
            ", once the service has stopped, or on a backup."
        }
        p { a href=(frame.links().to("audit")) { "Back to the audit" } }
    };
    frame.page(Page::new(title, body))
}

fn result(frame: &Frame, good: &str, part: &str, checked: &Checked) -> Markup {
    let read = format!(
        "{} of {}",
        count(checked.parts, part),
        count(checked.sessions, "session")
    );
    html! {
        @if checked.problems.is_empty() {
            div.banner.good { p { strong { (good) } ", in " (read) "." } }
        } @else {
            div.banner.bad {
                p { strong { (count(checked.problems.len(), "session")) " with a problem" }
                    ", in " (read) "." }
                ul {
                    @for (session, words) in &checked.problems {
                        li {
                            a href=(frame.links().session(*session)) { (session.to_string()) }
                            ": " (said(words))
                        }
                    }
                }
            }
        }
        @if checked.left_out > 0 {
            p { "Not checked: " (count(checked.left_out, "older session")) "." }
        }
    }
}
