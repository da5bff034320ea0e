//! The login and logout of a browser.

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::html;

use super::frame::{Form, Frame, Page, is_page, said, takes_html};
use crate::problems::{Code, Problem};
use crate::requests::Params;
use crate::service::Service;

/// The target of the login form. `/login` itself has the methods of the OpenAPI document alone.
const WITH_TOKEN: &str = "login/token";

/// The page after a login that names none.
const AFTER_LOGIN: &str = "inbox";

/// Opens a session of a browser with a one-time login token, and sets its cookie.
///
/// Without a token it is the page that takes one. `next` is the page after the login, such as the
/// card of a notification.
#[utoipa::path(
    get,
    path = "/login",
    operation_id = "logIn",
    tag = "account",
    security(()),
    params(
        ("token" = Option<String>, Query, description = "The login token; it is valid once"),
        ("next" = Option<String>, Query,
            description = "The page after the login: a path of this service, without the first /"),
    ),
    responses(
        (status = 200, description = "The page that takes a token", body = String,
            content_type = "text/html"),
        (status = 303, description = "Logged in"),
    ),
)]
pub(crate) async fn log_in(
    State(service): State<Service>,
    method: Method,
    params: Params,
    frame: Frame,
    request: Request,
) -> Result<Response, Problem> {
    // A program that looks at a link before it is opened must not use it up.
    if method == Method::HEAD {
        let problem = Problem::new(Code::MethodNotAllowed, "a login is a GET");
        let allowed = [(header::ALLOW, HeaderValue::from_static("GET"))];
        return Ok((allowed, problem).into_response());
    }
    let next = params.one("next")?.unwrap_or_default();
    let Some(token) = params.one("token")? else {
        return Ok(page(&frame, StatusCode::OK, next, None));
    };
    let (parts, _) = request.into_parts();
    let opened = service.access.log_in(token);
    match opened.map_err(|problem| service.access.failed(&parts, problem)) {
        Ok(cookie) => opened_at(&frame, &cookie, next),
        // The address has the token, so the page does not lead back to it.
        Err(problem) if problem.code() == Code::Unauthenticated && takes_html(&parts.headers) => {
            Ok(asked(&frame, next, Some(&problem)))
        }
        Err(problem) => Err(problem),
    }
}

/// Opens a session of a browser with a token that a person types: a login token, or the token of a
/// client.
pub(crate) async fn with_token(
    State(service): State<Service>,
    frame: Frame,
    form: Form,
    request: Request,
) -> Result<Response, Problem> {
    form.only(&["token", "next"])?;
    let next = form.one("next")?.unwrap_or_default();
    let token = form.one("token")?.unwrap_or_default();
    let opened = service.access.log_in_with(token.trim());
    let (parts, _) = request.into_parts();
    match opened.map_err(|problem| service.access.failed(&parts, problem)) {
        Ok(cookie) => opened_at(&frame, &cookie, next),
        Err(problem) if problem.code() == Code::Unauthenticated => {
            Ok(asked(&frame, next, Some(&problem)))
        }
        Err(problem) => Err(problem),
    }
}

/// Ends the session of the request's cookie.
pub(crate) async fn log_out(
    State(service): State<Service>,
    frame: Frame,
    form: Form,
    request: Request,
) -> Result<Response, Problem> {
    form.only(&[])?;
    let (parts, _) = request.into_parts();
    let cookie = service.access.log_out(&parts);
    with_cookie(frame.see_other("login")?, &cookie)
}

/// The login page in place of a page that needs a principal. It leads to `next`.
pub(super) fn asked(frame: &Frame, next: &str, problem: Option<&Problem>) -> Response {
    let mut response = page(frame, StatusCode::UNAUTHORIZED, next, problem);
    let bearer = HeaderValue::from_static("Bearer");
    let headers = response.headers_mut();
    headers.insert(header::WWW_AUTHENTICATE, bearer);
    response.extensions_mut().insert(Code::Unauthenticated);
    response
}

fn page(frame: &Frame, status: StatusCode, next: &str, problem: Option<&Problem>) -> Response {
    let next = Some(next).filter(|it| is_page(it));
    let body = html! {
        @if let Some(problem) = problem {
            p.bad role="alert" { (said(problem.detail())) "." }
        }
        form.narrow.card method="post" action=(frame.links().to(WITH_TOKEN)) {
            @if let Some(next) = next {
                input type="hidden" name="next" value=(next);
            }
            label for="token" { "Token" }
            input id="token" name="token" type="password" autocomplete="off" required
                autofocus aria-describedby="token-help";
            p.quiet id="token-help" {
                "No token? Ask the person who runs Recount. The service prints a link with a login "
                "token when it starts. The command "
                code { "recount token create" }
                " makes a token of your own."
            }
            button.go { "Log in" }
        }
    };
    frame.page_with(status, Page::new("Log in", body))
}

fn opened_at(frame: &Frame, cookie: &str, next: &str) -> Result<Response, Problem> {
    let next = Some(next).filter(|it| is_page(it)).unwrap_or(AFTER_LOGIN);
    with_cookie(frame.see_other(next)?, cookie)
}

fn with_cookie(mut response: Response, cookie: &str) -> Result<Response, Problem> {
    let cookie = HeaderValue::from_str(cookie)
        .map_err(|_| Problem::new(Code::Broken, "the cookie is no header value"))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}
