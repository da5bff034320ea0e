//! The middleware behind the authentication of every request.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use recount_reads::{Depth, Door, Read};

use super::classes::{Class, class_of, door_of};
use crate::access::Admitted;
use crate::reading::Reading;
use crate::service::Service;

/// Puts the read of a request on record before its answer goes out.
///
/// A change is on record in the journal, so only a refused one is a read here.
pub(crate) async fn put_on_record(
    State(service): State<Service>,
    mut request: Request,
    next: Next,
) -> Response {
    let (Some(recorder), Some(admitted)) = (
        service.reads.clone(),
        request.extensions().get::<Admitted>(),
    ) else {
        return next.run(request).await;
    };
    let pattern = pattern(&request);
    let method = match request.method() {
        // The head of an answer, which has nothing of its body.
        &Method::HEAD => &Method::GET,
        method => method,
    };
    let (class, door) = (class_of(method.as_str(), &pattern), door_of(&pattern));
    let depth = match class {
        Class::Nothing => return next.run(request).await,
        Class::Read(depth) => depth,
        // The page of a form that was refused shows the call again.
        Class::Change if door == Door::Pages => Depth::Bodies,
        Class::Change => Depth::Envelopes,
    };
    let read = Read {
        by: admitted.principal.actor().clone(),
        how: admitted.how,
        door,
        route: format!("{} {pattern}", request.method()),
        sessions: Vec::new(),
        every_session: false,
        depth,
        status: 0,
    };
    let reading = Reading::new(recorder, read);
    request.extensions_mut().insert(reading.clone());
    let response = next.run(request).await;
    let status = response.status();
    if class == Class::Change && (status.is_success() || status.is_redirection()) {
        return response;
    }
    match reading.record(status).await {
        Ok(()) => response,
        Err(problem) => problem.into_response(),
    }
}

/// The pattern of the route, below the prefix under which the service is mounted.
fn pattern(request: &Request) -> String {
    let matched = request.extensions().get::<MatchedPath>();
    let matched = matched.map_or("", MatchedPath::as_str);
    below_the_mount(matched, request.uri())
}

/// The last segments of a pattern: as many as the path has, from which the mount was taken.
fn below_the_mount(matched: &str, uri: &Uri) -> String {
    let segments = uri.path().matches('/').count();
    let slashes = matched.rmatch_indices('/');
    let begin = slashes.take(segments).last().map_or(0, |(at, _)| at);
    matched.get(begin..).unwrap_or(matched).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_has_no_prefix_and_no_parameters() {
        for (matched, path, expected) in [
            (
                "/v1/sessions/{id}",
                "/v1/sessions/7?a=b",
                "/v1/sessions/{id}",
            ),
            ("/a/{tenant}/inbox", "/inbox", "/inbox"),
            ("/recount/", "/", "/"),
            ("/", "/", "/"),
        ] {
            let uri = path.parse().unwrap();
            assert_eq!(below_the_mount(matched, &uri), expected, "{matched}");
        }
    }
}
