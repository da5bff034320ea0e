//! The link to the next page of a listing, and the page of a filter that is not understood.

use axum::http::StatusCode;
use axum::response::Response;
use form_urlencoded::Serializer;
use maud::{Markup, html};

use super::layout::{Frame, Page};
use super::text::said;
use crate::problems::Problem;

/// The query with these parameters, without those that are empty.
pub(crate) fn query<'p>(parameters: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in parameters {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    query.finish()
}

/// The link to the next page, with the parameters of this one and the cursor of the next.
pub(crate) fn next_page<'p>(
    parameters: impl IntoIterator<Item = (&'p str, &'p str)>,
    cursor: Option<&'p str>,
) -> Markup {
    let Some(cursor) = cursor else {
        return Markup::default();
    };
    let query = query(parameters.into_iter().chain([("cursor", cursor)]));
    html! { p.next { a rel="next" href={ "?" (query) } { "Next page" } } }
}

/// The page of a listing whose filters are not understood: the form as it was filled in, and the
/// problem. Other problems are pages of their own.
///
/// # Errors
/// A problem that is not about the parameters.
pub(crate) fn not_filtered(
    frame: &Frame,
    title: &str,
    filters: Markup,
    problem: &Problem,
) -> Result<Response, Problem> {
    if problem.code().status() != StatusCode::UNPROCESSABLE_ENTITY {
        return Err(problem.clone());
    }
    let body = html! {
        div.banner.bad role="alert" {
            p { "Nothing is listed, because a filter is not understood." }
            p { (said(problem.detail())) }
        }
        (filters)
    };
    Ok(frame.page_with(StatusCode::UNPROCESSABLE_ENTITY, Page::new(title, body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_page_keeps_the_filters() {
        let link = next_page([("agent", "a&b"), ("tool", "")], Some("abc")).into_string();
        assert!(
            link.contains(r#"href="?agent=a%26b&amp;cursor=abc""#),
            "{link}"
        );
        assert_eq!(next_page([("agent", "a")], None).into_string(), "");
    }
}
