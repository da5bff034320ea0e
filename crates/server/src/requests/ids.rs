//! Ids in paths: sessions, calls, requests and seqs.

use std::fmt::Display;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use recount::session::{CallId, RequestId, Seq, SessionId};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::problems::{Code, Problem};

/// The parameters of a path, as text.
pub(crate) struct InPath<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<InPath<T>, Problem> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        let unfit = |_| Problem::new(Code::NotFound, "there is no such resource");
        path.map(|Path(it)| InPath(it)).map_err(unfit)
    }
}

/// A call in a path: the seq of its record, or its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallName {
    Seq(Seq),
    Id(CallId),
}

/// Parses the id of a session.
pub(crate) fn session(text: &str) -> Result<SessionId, Problem> {
    parsed(text, "the id of a session, which is a UUID")
}

/// Parses the id of a confirmation request.
pub(crate) fn request(text: &str) -> Result<RequestId, Problem> {
    parsed(text, "the id of a request, which is a UUID")
}

/// Parses the id of a message to a sink.
pub(crate) fn message(text: &str) -> Result<Uuid, Problem> {
    parsed(text, "the id of a message, which is a UUID")
}

/// Parses a seq, which begins with 1.
pub(crate) fn seq(text: &str) -> Result<Seq, Problem> {
    let number: u64 = parsed(text, "the seq of a record, a number from 1")?;
    match number {
        0 => Err(wrong("the seq of a record, a number from 1", text)),
        seq => Ok(Seq(seq)),
    }
}

/// Parses a call: a seq or an id.
pub(crate) fn call(text: &str) -> Result<CallName, Problem> {
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if is_number && text.len() < 20 {
        return seq(text).map(CallName::Seq);
    }
    let id = parsed(text, "a call: the seq of its record, or its id")?;
    Ok(CallName::Id(id))
}

fn parsed<T: FromStr<Err: Display>>(text: &str, expected: &str) -> Result<T, Problem> {
    text.parse().map_err(|_| wrong(expected, text))
}

fn wrong(expected: &str, found: &str) -> Problem {
    Problem::new(
        Code::NotAnId,
        format!("expected {expected}, found {found:?}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_a_seq_or_an_id() {
        let id = "5b1c2d3e-0000-5000-8000-000000000001";
        assert_eq!(call("5").unwrap(), CallName::Seq(Seq(5)));
        assert!(matches!(call(id).unwrap(), CallName::Id(_)));
        for text in ["", "0", "x", "-1", "5 ", "1.5"] {
            assert_eq!(call(text).unwrap_err().code(), Code::NotAnId, "{text}");
        }
    }

    #[test]
    fn malformed_session_is_no_id() {
        assert!(session("0199e2a0-0000-7000-8000-000000000001").is_ok());
        for text in ["", "0199", "..", "%00"] {
            assert_eq!(session(text).unwrap_err().code(), Code::NotAnId, "{text}");
        }
    }
}
