//! Responses that are written while they are read, part by part.

use std::io;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;

use crate::access::Proof;
use crate::driving::Place;
use crate::problems::Problem;

/// A report whose parts are read as the client takes them.
pub(super) trait Parts: Send + 'static {
    /// Returns the next part. `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Problem>> + Send;

    /// The last part of a report that cannot be read to its end. An error breaks the response off.
    fn broken(&self, problem: Problem) -> io::Result<Bytes>;
}

struct Report<P> {
    parts: P,
    /// The proof of the client, which every part needs.
    proof: Proof,
    is_over: bool,
    _place: Place,
}

/// Returns a response of the parts.
pub(super) fn response(
    parts: impl Parts,
    proof: Proof,
    place: Place,
    content_type: &'static str,
) -> Response {
    let report = Report {
        parts,
        proof,
        is_over: false,
        _place: place,
    };
    let body = Body::from_stream(unfold(report, step));
    let content_type = HeaderValue::from_static(content_type);
    ([(header::CONTENT_TYPE, content_type)], body).into_response()
}

async fn step<P: Parts>(mut report: Report<P>) -> Option<(io::Result<Bytes>, Report<P>)> {
    if report.is_over {
        return None;
    }
    let next = report.parts.next().await;
    // After the read of the part: the credentials may have been revoked meanwhile.
    let next = report.proof.check_part().await.and(next);
    let part = match next {
        Ok(Some(part)) => Ok(part),
        Ok(None) => return None,
        Err(problem) => {
            report.is_over = true;
            report.parts.broken(problem)
        }
    };
    Some((part, report))
}
