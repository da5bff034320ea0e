//! The middleware that every request for a page passes before its handler.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::form::Form;
use super::layout::Frame;
use super::links::page_of;
use crate::access::{Admitted, Credentials};
use crate::pages::login;
use crate::problems::{Code, Problem};
use crate::requests::bytes;
use crate::service::Service;

/// Authenticates a request for a page, and checks the token of a form.
///
/// A handler gets the form only from here, so none can forget the check. A problem of a handler
/// becomes a page.
pub(crate) async fn guard(
    State(service): State<Service>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let frame = Frame::of(&parts);
    let admitted = match admit(&service, &parts).await {
        Ok(admitted) => admitted,
        Err(problem) if problem.code() == Code::Unauthenticated && parts.method.is_safe() => {
            return login::asked(&frame, frame.here(), None);
        }
        Err(problem) if problem.code() == Code::Unauthenticated => {
            let detail = "your login has ended, and nothing was changed: log in and send it again";
            let problem = Problem::new(Code::Unauthenticated, detail);
            return login::asked(&frame, &page_of(parts.uri.path()), Some(&problem));
        }
        Err(problem) => return frame.problem(&problem),
    };
    let frame = frame.admitted(&admitted);
    let credentials = Credentials::of(&parts);
    let mut body = body;
    if !parts.method.is_safe() {
        match form(&service, &parts, body, &admitted).await {
            Ok(form) => parts.extensions.insert(form),
            Err(problem) => return frame.problem(&problem),
        };
        body = Body::empty();
    }
    parts.extensions.insert(credentials);
    parts.extensions.insert(admitted);
    parts.extensions.insert(frame.clone());
    dressed(&frame, next.run(Request::from_parts(parts, body)).await)
}

/// Checks a request for a page that needs no principal. Programs, which ask for no HTML, get the
/// problem itself.
pub(crate) async fn check(
    State(service): State<Service>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, mut body) = request.into_parts();
    let (frame, is_browser) = (Frame::of(&parts), takes_html(&parts.headers));
    let refused = |problem: Problem| match is_browser {
        true => frame.problem(&problem),
        false => problem.into_response(),
    };
    if let Err(problem) = check_site(&service, &parts) {
        return refused(problem);
    }
    if !parts.method.is_safe() {
        match fields(&parts, body).await {
            Ok(form) => parts.extensions.insert(form),
            Err(problem) => return refused(problem),
        };
        body = Body::empty();
    }
    parts.extensions.insert(frame.clone());
    let response = next.run(Request::from_parts(parts, body)).await;
    match response.extensions().get::<Problem>() {
        Some(problem) if is_browser => frame.problem(problem),
        Some(_) | None => response,
    }
}

/// The response to a page's path without the method. A form that was refused is shown at the path
/// to which it was posted, so the script, a reload or a bookmark may GET it: its page is there.
pub(crate) async fn no_such_method(request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if parts.method.is_safe() && takes_html(&parts.headers) {
        let frame = Frame::of(&parts);
        let page = frame.see_other(&page_of(parts.uri.path()));
        return page.unwrap_or_else(|problem| frame.problem(&problem));
    }
    Problem::new(Code::MethodNotAllowed, "the route has no such method").into_response()
}

/// The response to a path that is no route: a page for a browser, a problem for a program.
pub(crate) async fn not_found(request: Request) -> Response {
    let problem = Problem::new(Code::NotFound, "there is no such route");
    let (parts, _) = request.into_parts();
    if !parts.uri.path().starts_with("/v1/") && takes_html(&parts.headers) {
        return Frame::of(&parts).problem(&problem);
    }
    problem.into_response()
}

/// True if the client asks for HTML, as a browser does for a page.
pub(crate) fn takes_html(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter();
    accepted.any(|it| it.to_str().is_ok_and(|it| it.contains("text/html")))
}

async fn admit(service: &Service, request: &Parts) -> Result<Admitted, Problem> {
    check_site(service, request)?;
    service.access.admit(request).await
}

fn check_site(service: &Service, request: &Parts) -> Result<(), Problem> {
    service.access.check_host(request)?;
    service.access.check_form(request)
}

/// Reads a form and checks its token.
async fn form(
    service: &Service,
    parts: &Parts,
    body: Body,
    admitted: &Admitted,
) -> Result<Form, Problem> {
    let mut form = fields(parts, body).await?;
    let token = form.take_token();
    if let Some(csrf) = &admitted.csrf {
        let fits = token.is_some_and(|it| csrf.fits(&it));
        if !fits {
            let detail = "the form is of another login: open its page again";
            return Err(Problem::new(Code::CsrfToken, detail));
        }
    }
    if service.is_draining() {
        let detail = "the service is shutting down; repeat the request at the next one";
        return Err(Problem::new(Code::Draining, detail));
    }
    Ok(form)
}

async fn fields(parts: &Parts, body: Body) -> Result<Form, Problem> {
    let mut request = Request::new(body);
    // The limits of the body are among the extensions.
    *request.extensions_mut() = parts.extensions.clone();
    let body = bytes(request, &()).await?;
    Form::parse(&parts.headers, &body)
}

/// The response with the page of its problem, if it has one.
fn dressed(frame: &Frame, response: Response) -> Response {
    let problem = response.extensions().get::<Problem>();
    match problem {
        Some(problem) if problem.code() == Code::Unauthenticated => {
            login::asked(frame, frame.here(), None)
        }
        Some(problem) => frame.problem(problem),
        None => response,
    }
}
