//! The middleware that every request passes before a handler.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::HeaderName;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::entrance::{Access, Admitted};
use super::principal::Principal;
use super::proof::Credentials;
use super::secret::Secret;
use super::site::is_safe;
use crate::problems::{Code, Problem};

/// The header with the token against cross-site requests, for changes that a cookie admits.
pub(crate) const CSRF: HeaderName = HeaderName::from_static("x-recount-csrf");

/// Checks the host and the site of a request, for routes that need no credentials.
pub(crate) async fn check_site(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let checked = access
        .check_host(&parts)
        .and_then(|()| access.check_site(&parts));
    match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => problem.into_response(),
    }
}

/// Authenticates a request. Without a principal, no handler sees it.
pub(crate) async fn authenticate(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let admitted = match access.admit(&parts).await {
        Ok(admitted) => admitted,
        Err(problem) => return problem.into_response(),
    };
    if let Some(csrf) = &admitted.csrf
        && !is_safe(&parts.method)
        && !has_token(&parts, csrf)
    {
        let detail = "expected the token of GET /v1/me in the header X-Recount-CSRF";
        return Problem::new(Code::CsrfToken, detail).into_response();
    }
    let credentials = Credentials::of(&parts);
    parts.extensions.insert(credentials);
    parts.extensions.insert(admitted);
    next.run(Request::from_parts(parts, body)).await
}

fn has_token(request: &Parts, csrf: &Secret) -> bool {
    let mut given = request.headers.get_all(CSRF).iter();
    match (given.next(), given.next()) {
        (Some(only), None) => only.to_str().is_ok_and(|it| csrf.fits(it)),
        (Some(_), Some(_)) | (None, _) => false,
    }
}

impl<S: Sync> FromRequestParts<S> for Admitted {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Admitted, Problem> {
        let admitted = parts.extensions.get::<Admitted>().cloned();
        // Only a route outside the authentication has none.
        admitted.ok_or_else(|| Problem::new(Code::Broken, "a route without authentication"))
    }
}

impl<S: Sync> FromRequestParts<S> for Credentials {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Credentials, Problem> {
        let credentials = parts.extensions.get::<Credentials>().cloned();
        // Only a route outside the authentication has none.
        credentials.ok_or_else(|| Problem::new(Code::Broken, "a route without authentication"))
    }
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Principal, Problem> {
        let admitted = Admitted::from_request_parts(parts, state).await?;
        Ok(admitted.principal)
    }
}
