//! The page of a card.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};

use super::loaded::Loaded;
use super::typed::Typed;
use super::{answers, arguments, facts, status};
use crate::pages::denying;
use crate::pages::frame::{Form, Frame, Page, said};
use crate::pages::live::Watched;
use crate::problems::Problem;
use crate::requests::{InPath, Params};
use crate::routes::Caller;

/// Shows a call.
pub(crate) async fn show(
    caller: Caller,
    frame: Frame,
    InPath((id, name)): InPath<(String, String)>,
    params: Params,
) -> Result<Response, Problem> {
    let denied = denying::told(&params)?;
    page(&caller, &frame, &id, &name, Note::Denied(denied)).await
}

/// The outcome of the form that has led to the card.
pub(super) enum Note<'n> {
    /// A sentence about calls that were denied together, if there was such a form.
    Denied(Option<Markup>),
    /// The problem of an answer, and the form as it was sent.
    Refused {
        problem: &'n Problem,
        form: &'n Form,
    },
}

/// The card, with the outcome of a form.
///
/// An answer that comes too late shows the card as others have decided it, with the status 409.
pub(super) async fn page(
    caller: &Caller,
    frame: &Frame,
    id: &str,
    name: &str,
    note: Note<'_>,
) -> Result<Response, Problem> {
    // Taken before the read, so that the page hears of changes meanwhile.
    let position = caller.ledger().journal().position().await?;
    let loaded = Loaded::of(caller, id, name).await?;
    let is_over = loaded.open().is_none() && loaded.call.ended.is_some();
    let (banner, typed, status) = match note {
        Note::Denied(told) => (told, Typed::default(), StatusCode::OK),
        Note::Refused { problem, form } => (
            Some(refusal(problem)),
            Typed::of(form),
            problem.code().status(),
        ),
    };
    let body = html! {
        @if let Some(banner) = banner { (banner) }
        section.card.over[is_over] id="status" data-part aria-live="polite" {
            (status::shown(frame, &loaded))
        }
        // Above the answers: a person reads them first.
        section.card id="arguments" data-part { (arguments::shown(&loaded)) }
        (answers::shown(frame, &loaded, typed))
        section.card id="facts" data-part { (facts::shown(&loaded)) }
    };
    let tool = match loaded.call.tool.as_str() {
        "" => "A call without a name",
        tool => tool,
    };
    let title = recount_telling::one_line(tool).into_owned();
    let page = Page::new(title, body).heading(said(tool));
    let page = page.count(usize::from(loaded.is_mine));
    Ok(frame.page_with(
        status,
        page.live(&Watched::Session(loaded.session), position),
    ))
}

fn refusal(problem: &Problem) -> Markup {
    // The state of the call has refused the answer, or the answer has a mistake.
    let lead = match problem.code().status() {
        StatusCode::CONFLICT | StatusCode::GONE | StatusCode::PRECONDITION_FAILED => {
            "Your answer does not count: "
        }
        _ => "Nothing was recorded: ",
    };
    html! {
        div.banner.bad id=(Typed::MISTAKE) role="alert" {
            p { strong { (lead) } (said(problem.detail())) "." }
        }
    }
}
