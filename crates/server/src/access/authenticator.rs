//! The seam for credentials of other kinds, as an embedding service has them.

use async_trait::async_trait;
use axum::http::header;
use axum::http::request::Parts;

use super::principal::Principal;
use crate::problems::Problem;

/// A check of credentials that the service does not know itself.
///
/// The service asks each authenticator in the order in which they were added, and takes the first
/// principal. A request with credentials that none of them knows is refused. A response that lasts,
/// such as a stream, asks again before each part, so that revoked credentials end it.
///
/// ```
/// use async_trait::async_trait;
/// use axum::http::request::Parts;
/// use recount::session::Actor;
/// use recount_server::{Authenticator, Grant, Principal, Problem, Role};
///
/// /// The user that a middleware of the embedding service has logged in.
/// #[derive(Clone)]
/// struct User(String);
///
/// struct LoggedIn;
///
/// #[async_trait]
/// impl Authenticator for LoggedIn {
///     async fn authenticate(&self, request: &Parts) -> Result<Option<Principal>, Problem> {
///         let user = request.extensions.get::<User>();
///         let viewer = || vec![Grant::everywhere(Role::Viewer)];
///         Ok(user.map(|it| Principal::new(Actor::embedder(it.0.clone()), viewer())))
///     }
/// }
/// ```
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Returns the principal of the request. `None` if it has no credentials of this kind.
    ///
    /// # Errors
    /// A problem if the credentials are of this kind and invalid. Its text must not contain them.
    async fn authenticate(&self, request: &Parts) -> Result<Option<Principal>, Problem>;
}

/// The token of `Authorization: Bearer`, if the request has exactly one such header.
///
/// ```
/// let request = axum::http::Request::builder().header("authorization", "Bearer abc");
/// let (parts, ()) = request.body(()).unwrap().into_parts();
/// assert_eq!(recount_server::bearer(&parts), Some("abc"));
/// ```
#[must_use]
pub fn bearer(request: &Parts) -> Option<&str> {
    let mut headers = request.headers.get_all(header::AUTHORIZATION).iter();
    let (Some(only), None) = (headers.next(), headers.next()) else {
        return None;
    };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim())
        .filter(|it| !it.is_empty())
}
