//! The checks of a session as a page: its hashes, and its decisions made again.
//!
//! With the script, the page of the session shows the stream of the same check under `/v1`, with
//! its progress. Without it, the form of the check ends here, with the result alone.

use axum::response::Response;
use maud::{Markup, html};
use recount::replay::Report;
use recount::session::SessionId;
use recount_telling::count;

use crate::access::Role;
use crate::pages::frame::{Form, Frame, Page, said};
use crate::problems::Problem;
use crate::requests::{InPath, session};
use crate::routes::Caller;
use crate::routes::reports::checking::{self, Verified};

/// Verifies the hash chain of a session.
pub(crate) async fn verify(
    caller: Caller,
    frame: Frame,
    InPath(id): InPath<String>,
    form: Form,
) -> Result<Response, Problem> {
    let id = expected(&caller, &id, &form).await?;
    let _place = caller.service.streams.take("streams")?;
    let verified = checking::verify_now(caller.ledger(), id).await?;
    Ok(page(&frame, id, "Verified", &verified_in_words(&verified)))
}

/// Makes the decisions of a session again.
pub(crate) async fn replay(
    caller: Caller,
    frame: Frame,
    InPath(id): InPath<String>,
    form: Form,
) -> Result<Response, Problem> {
    let id = expected(&caller, &id, &form).await?;
    let _place = caller.service.streams.take("streams")?;
    let report = recount::replay::verify(caller.ledger(), id).await?;
    Ok(page(
        &frame,
        id,
        "Decisions checked",
        &replayed_in_words(&report),
    ))
}

async fn expected(caller: &Caller, id: &str, form: &Form) -> Result<SessionId, Problem> {
    form.only(&[])?;
    let id = session(id)?;
    caller.session(id, Role::Viewer).await?;
    Ok(id)
}

fn page(frame: &Frame, id: SessionId, title: &str, result: &Markup) -> Response {
    let body = html! {
        (result)
        p { a href=(frame.links().session(id)) { "Back to the session" } }
    };
    frame.page(Page::new(title, body))
}

fn verified_in_words(it: &Verified) -> Markup {
    let records = count(it.records, "record");
    html! {
        @match &it.problem {
            None => {
                div.banner.good {
                    p {
                        strong { "Consistent, not anchored" }
                        ": every hash of this session holds, in " (records) "."
                    }
                }
                p { "Hash of the last record: " code { (it.head.to_string()) } }
            },
            Some(flaw) => div.banner.bad {
                p {
                    strong { "Damaged" } ": record " (flaw.seq) ": " (said(&flaw.text))
                    ". Consistent before it: " (records) "."
                }
            },
        }
        p.quiet {
            "Checked were the records that the service reads. It may have them in memory, or "
            "twice on disk. Its files are read by " code { "recount verify" }
            ", once the service has stopped, or on a backup."
        }
    }
}

fn replayed_in_words(it: &Report) -> Markup {
    let decisions = count(it.decisions, "decision");
    html! {
        @match &it.diverged {
            None => div.banner.good {
                p { strong { "The same decisions" } ": " (decisions) " made again." }
            },
            Some(diverged) => div.banner.bad {
                p { strong { "Diverged" } " at record " (diverged.seq) "." }
            },
        }
    }
}
