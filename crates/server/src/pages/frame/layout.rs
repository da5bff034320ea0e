//! The layout of every page: header, navigation, the person who is logged in, and the content.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};
use recount_telling::acted;

use super::form::CSRF;
use super::links::Links;
use super::navigation::entries;
use super::text::said;
use crate::access::{Admitted, Principal, Secret};
use crate::pages::assets;
use crate::pages::live::Watched;
use crate::problems::{Code, Problem};

/// The rules of what a page may load and where it may send forms: its own origin alone.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
    base-uri 'none'";

/// The frame of the pages of one request: its path and the person who is logged in.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    links: Links,
    /// The path and the query below the mount, without the first slash.
    here: String,
    principal: Option<Principal>,
    /// The token for changes, if a cookie proves the principal.
    csrf: Option<Secret>,
}

/// The content of a page.
pub(crate) struct Page {
    title: String,
    heading: Option<Markup>,
    body: Markup,
    /// The number before the title, of what waits.
    count: usize,
    live: Option<String>,
}

impl Page {
    /// A page with this title, which is its heading, too.
    pub(crate) fn new(title: impl Into<String>, body: Markup) -> Page {
        Page {
            title: title.into(),
            heading: None,
            body,
            count: 0,
            live: None,
        }
    }

    /// Sets a heading other than the title.
    pub(crate) fn heading(self, heading: Markup) -> Page {
        let heading = Some(heading);
        Page { heading, ..self }
    }

    /// Sets the number that the title begins with. 0 shows none.
    pub(crate) fn count(self, count: usize) -> Page {
        Page { count, ..self }
    }

    /// Makes the page live: it is fetched again after records that the watch names. `position` is
    /// that of the journal, taken before the content of the page was read.
    pub(crate) fn live(self, watched: &Watched, position: u64) -> Page {
        let live = Some(watched.stream(position));
        Page { live, ..self }
    }
}

impl Frame {
    /// The frame of a request that nothing has admitted.
    pub(super) fn of(request: &Parts) -> Frame {
        let path = request.uri.path();
        let query = request.uri.query();
        let here = path.trim_start_matches('/');
        Frame {
            links: Links::of(path),
            here: match query {
                Some(query) => format!("{here}?{query}"),
                None => here.to_owned(),
            },
            principal: None,
            csrf: None,
        }
    }

    /// The frame of an admitted request.
    pub(super) fn admitted(self, admitted: &Admitted) -> Frame {
        Frame {
            principal: Some(admitted.principal.clone()),
            csrf: admitted.csrf.clone(),
            ..self
        }
    }

    /// The links of the page.
    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// The path and the query below the mount, as `next` of a login names them.
    pub(crate) fn here(&self) -> &str {
        &self.here
    }

    /// A form that posts to a page of ours, with the token against cross-site requests.
    pub(crate) fn form(&self, page: &str, fields: Markup) -> Markup {
        html! {
            form method="post" action=(self.links.to(page)) {
                @if let Some(csrf) = &self.csrf {
                    input type="hidden" name=(CSRF) value=(csrf.expose());
                }
                (fields)
            }
        }
    }

    /// The response to a form: the browser opens another page of ours.
    pub(crate) fn see_other(&self, page: &str) -> Result<Response, Problem> {
        let location = HeaderValue::from_str(&self.links.to(page));
        let location =
            location.map_err(|_| Problem::new(Code::Broken, "the link is no header value"))?;
        Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
    }

    /// A page.
    pub(crate) fn page(&self, page: Page) -> Response {
        self.page_with(StatusCode::OK, page)
    }

    /// A page with another status, such as that of a refused form.
    pub(crate) fn page_with(&self, status: StatusCode, page: Page) -> Response {
        let html = self.document(&page).into_string();
        let headers = [
            (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
            // Without a referrer, a browser names no origin with a form.
            (header::REFERRER_POLICY, "same-origin"),
        ];
        (status, headers, Html(html)).into_response()
    }

    /// The page of a problem. Its code stays among the extensions of the response.
    pub(crate) fn problem(&self, problem: &Problem) -> Response {
        let (code, status) = (problem.code(), problem.code().status());
        let body = html! {
            p { (said(problem.detail())) }
            p.quiet { "Status " (status.as_u16()) ", code " code { (code.as_str()) } }
            p { a href=(self.links.to("inbox")) { "To the inbox" } }
        };
        let mut response = self.page_with(status, Page::new(code.title(), body));
        response.extensions_mut().insert(code);
        response
    }

    fn document(&self, page: &Page) -> Markup {
        let count = match page.count {
            0 => String::new(),
            count => format!("({count}) "),
        };
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (count) (page.title) " · Recount" }
                    link rel="stylesheet" href=(self.links.to(&assets::style()));
                    link rel="icon" type="image/svg+xml" href=(self.links.to(&assets::icon()));
                    script src=(self.links.to(&assets::script())) defer {}
                }
                body {
                    a.skip href="#content" { "Skip to the content" }
                    (self.header())
                    main id="content" tabindex="-1"
                        data-live=[page.live.as_ref().map(|it| self.links.to(it))] {
                        h1 {
                            @match &page.heading {
                                Some(heading) => (heading),
                                None => (page.title),
                            }
                        }
                        (page.body)
                    }
                    // The script tells here when the connection is lost.
                    div.notice id="notice" role="status" {}
                }
            }
        }
    }

    fn header(&self) -> Markup {
        let Some(principal) = &self.principal else {
            return html! { header.top { span.brand { "Recount" } } };
        };
        let path = self.here.split('?').next().unwrap_or_default();
        html! {
            header.top {
                span.brand { "Recount" }
                nav aria-label="Pages" {
                    @for entry in entries(principal) {
                        a href=(self.links.to(entry.page))
                            aria-current=[entry.is_at(path).then_some("page")] { (entry.name) }
                    }
                }
                div.who {
                    span title=(acted("logged in as", principal.actor())) {
                        (said(&principal.actor().name))
                    }
                    // Without a cookie there is no session to end.
                    @if self.csrf.is_some() {
                        (self.form("logout", html! { button.plain { "Log out" } }))
                    }
                }
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Frame {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Frame, Problem> {
        let frame = parts.extensions.get::<Frame>().cloned();
        // Only a route outside the guard has none.
        frame.ok_or_else(|| Problem::new(Code::Broken, "a page without its frame"))
    }
}
