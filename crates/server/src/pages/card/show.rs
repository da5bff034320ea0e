//! The page of a card.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};

use super::loaded::Loaded;
use super::{answers, arguments, facts, status};
use crate::pages::frame::{Frame, Page, said};
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
    params.only(&[])?;
    page(&caller, &frame, &id, &name, None).await
}

/// The card, with the problem of an answer that was refused.
///
/// An answer that comes too late shows the card as others have decided it, with the status 409.
pub(super) async fn page(
    caller: &Caller,
    frame: &Frame,
    id: &str,
    name: &str,
    refused: Option<&Problem>,
) -> Result<Response, Problem> {
    // Taken before the read, so that the page hears of changes meanwhile.
    let position = caller.ledger().journal().position().await?;
    let loaded = Loaded::of(caller, id, name).await?;
    let is_over = loaded.open().is_none() && loaded.call.ended.is_some();
    let body = html! {
        @if let Some(problem) = refused { (refusal(problem)) }
        section.card.over[is_over] id="status" data-part aria-live="polite" {
            (status::shown(frame, &loaded))
        }
        // Above the answers: a person reads them first.
        section.card id="arguments" data-part { (arguments::shown(&loaded)) }
        (answers::shown(frame, &loaded))
        section.card id="facts" data-part { (facts::shown(&loaded)) }
    };
    let tool = match loaded.call.tool.as_str() {
        "" => "A call without a name",
        tool => tool,
    };
    let title = recount_telling::one_line(tool).into_owned();
    let page = Page::new(title, body).heading(said(tool));
    let page = page.count(usize::from(loaded.is_mine));
    let status = refused.map_or(StatusCode::OK, |it| it.code().status());
    Ok(frame.page_with(
        status,
        page.live(&Watched::Session(loaded.session), position),
    ))
}

fn refusal(problem: &Problem) -> Markup {
    html! {
        div.banner.bad role="alert" {
            p { strong { "Your answer does not count: " } (said(problem.detail())) "." }
        }
    }
}
