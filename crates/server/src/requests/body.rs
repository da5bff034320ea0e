//! Request bodies: strict JSON with limits of size, depth and time.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use recount_text::json::{JsonProblem, check};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::problems::{Code, Problem};

/// The default maximum size of a body, in bytes. As at the control socket, it is the largest record
/// and the JSON around it.
pub(crate) const BODY_BYTES_MAX: usize = 4 << 20;

/// The default maximum time for a body. Without it, a client that sends one byte after another
/// holds a connection as long as it likes.
pub(crate) const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// The maximum time for the body of a request, among its extensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyTime(pub(crate) Duration);

/// The maximum depth of a body. A record holds no deeper JSON.
const DEPTH_MAX: usize = 128;

/// A JSON object in a body. Unknown and repeated keys are refused.
pub(crate) struct Strict<T>(pub(crate) T);

/// A JSON object in a body, or the default for a request without a body.
pub(crate) struct StrictOrEmpty<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Strict<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Strict<T>, Problem> {
        let is_json = is_json(request.headers());
        let body = bytes(request, state).await?;
        if !is_json {
            return Err(not_json_by_type());
        }
        read(&body).map(Strict)
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for StrictOrEmpty<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<StrictOrEmpty<T>, Problem> {
        let is_typed = request.headers().contains_key(header::CONTENT_TYPE);
        let is_json = is_json(request.headers());
        let body = bytes(request, state).await?;
        if body.is_empty() && !is_typed {
            return Ok(StrictOrEmpty(T::default()));
        }
        if !is_json {
            return Err(not_json_by_type());
        }
        if body.is_empty() {
            return Ok(StrictOrEmpty(T::default()));
        }
        read(&body).map(StrictOrEmpty)
    }
}

/// Reads the whole body, up to the limits of the router.
pub(crate) async fn bytes<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    let time = request.extensions().get::<BodyTime>();
    let time = time.map_or(BODY_TIME_MAX, |it| it.0);
    let Ok(read) = timeout(time, Bytes::from_request(request, state)).await else {
        let detail = format!("the body did not come within {time:?}");
        return Err(Problem::new(Code::TooSlow, detail));
    };
    read.map_err(|error| {
        let is_too_large = error.status() == axum::http::StatusCode::PAYLOAD_TOO_LARGE;
        match error {
            BytesRejection::FailedToBufferBody(_) if is_too_large => Problem::new(
                Code::TooLarge,
                "the body is larger than the service accepts",
            ),
            error => Problem::new(Code::BadRequest, error.body_text()),
        }
    })
}

/// Parses a body strictly: an object with the keys of `T`, and no other.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(body)
        .map_err(|error| Problem::new(Code::NotJson, format!("the body is no UTF-8: {error}")))?;
    check(text, DEPTH_MAX).map_err(|problem| match problem {
        JsonProblem::TooDeep => {
            let detail = format!("the body nests deeper than {DEPTH_MAX} levels");
            Problem::new(Code::TooDeep, detail)
        }
        problem => Problem::new(Code::NotJson, problem.to_string()),
    })?;
    // The derived deserializer also accepts arrays as structs.
    if !text.trim_start().starts_with('{') {
        return Err(Problem::new(Code::BadRequest, "expected a JSON object"));
    }
    serde_json::from_str(text).map_err(|error| Problem::new(Code::BadRequest, error.to_string()))
}

fn not_json_by_type() -> Problem {
    Problem::new(
        Code::ContentType,
        "expected the header Content-Type: application/json",
    )
}

/// True if the one content type is JSON. A form or plain text is what other sites can send.
fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(only), None) = (types.next(), types.next()) else {
        return false;
    };
    let Ok(text) = only.to_str() else {
        return false;
    };
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let parameters = parameters.trim().to_ascii_lowercase();
    essence.trim().eq_ignore_ascii_case("application/json")
        && matches!(
            parameters.as_str(),
            "" | "charset=utf-8" | r#"charset="utf-8""#
        )
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Reason {
        reason: String,
    }

    fn code(body: &str) -> Option<Code> {
        read::<Reason>(body.as_bytes()).err().map(|it| it.code())
    }

    #[test]
    fn body_is_read_strictly() {
        assert_eq!(code(r#"{"reason":"x"}"#), None);
        assert_eq!(
            code(r#"{"reason":"x","as":"root"}"#),
            Some(Code::BadRequest)
        );
        assert_eq!(code(r#"{"reason":"x","reason":"y"}"#), Some(Code::NotJson));
        assert_eq!(code(r#"["x"]"#), Some(Code::BadRequest));
        assert_eq!(code("{"), Some(Code::NotJson));
        assert_eq!(code(""), Some(Code::NotJson));
        assert_eq!(read::<Reason>(b"\xff").unwrap_err().code(), Code::NotJson);
    }

    #[test]
    fn deep_body_is_refused() {
        let nested = |depth: usize| {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            format!(r#"{{"reason":{open}{close}}}"#)
        };
        assert_eq!(code(&nested(DEPTH_MAX - 1)), Some(Code::BadRequest));
        assert_eq!(code(&nested(DEPTH_MAX)), Some(Code::TooDeep));
        assert_eq!(code(&nested(1000)), Some(Code::TooDeep));
    }

    #[test]
    fn only_json_is_json() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, text.parse().unwrap());
            is_json(&headers)
        };
        assert!(of("application/json") && of("Application/JSON; charset=UTF-8"));
        assert!(!of("text/plain") && !of("application/x-www-form-urlencoded"));
        assert!(!of("application/json; charset=utf-16") && !of("application/jsonx"));
        assert!(!is_json(&HeaderMap::new()));
    }
}
