//! Problem details (RFC 9457): the body of every response that is no success.

use std::borrow::Cow;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use recount::control::{OnRecord, Refusal};
use recount::session::{Actor, FoundAs, RequestId, Seq, SessionId, Timestamp};
use serde::Serialize;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::codes::Code;

/// The content type of a problem.
pub(crate) const CONTENT_TYPE: &str = "application/problem+json";

/// The time after which a client should try again, in seconds, unless the problem knows better.
const RETRY_AFTER_S: u64 = 5;

/// A problem: the body of every response that is no success (RFC 9457).
///
/// `code` is the stable code of the command line. The later fields describe the record that
/// conflicts with the request, if there is one, as in
/// [`Refusal`](recount::control::Refusal).
///
/// ```json
/// {"type":"urn:problem-type:recount:already-answered","title":"The request was answered before",
///  "status":409,"detail":"it was approved by ada before, at seq 21","code":"already-answered",
///  "session":"0199…","at":21,"at_us":1763980000000000,"confirmed":true,
///  "by":{"name":"ada","authenticated_by":"token"}}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Problem(Box<Content>);

/// The members of a problem.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
struct Content {
    /// The URI of the kind of problem, made from the code.
    #[serde(rename = "type")]
    kind: String,
    /// The description of the code.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// The stable code, as the command line has it.
    #[schema(value_type = String)]
    code: Code,
    /// The description of this problem, in one line.
    detail: String,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    session: Option<SessionId>,
    /// The record that conflicts with the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    at: Option<Seq>,
    /// The time of that record, in microseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    at_us: Option<Timestamp>,
    /// The earlier answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
    /// The earlier finding: `done` or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    found: Option<FoundAs>,
    /// The actor of that record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    by: Option<Actor>,
    /// The end of the lease of the client that holds the call, in microseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    until_us: Option<Timestamp>,
    /// True if the matter is still undecided, so another answer may count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    leaves_open: bool,
    /// The request to answer instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    instead: Option<RequestId>,
    /// The record of the operation, if it was recorded in spite of the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    on_record: Option<Box<OnRecord>>,
    /// The time after which a client should try again, in seconds. It is a header.
    #[serde(skip)]
    #[schema(ignore)]
    retry_after_s: u64,
}

impl Problem {
    /// A problem with this code and this description.
    ///
    /// ```
    /// use recount_server::{Code, Problem};
    /// let problem = Problem::new(Code::UnknownSession, "there is no session 0199…");
    /// assert_eq!(problem.code(), Code::UnknownSession);
    /// ```
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        let content = Content {
            kind: format!("urn:problem-type:recount:{}", code.as_str()),
            title: code.title(),
            status: code.status().as_u16(),
            code,
            detail: detail.into(),
            session: None,
            at: None,
            at_us: None,
            confirmed: None,
            found: None,
            by: None,
            until_us: None,
            leaves_open: false,
            instead: None,
            on_record: None,
            retry_after_s: RETRY_AFTER_S,
        };
        Problem(Box::new(content))
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The time after which a client should try again.
    #[must_use]
    pub fn wait(&self) -> Duration {
        Duration::from_secs(self.0.retry_after_s)
    }

    /// The description of this problem, in one line.
    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    /// True if a rule of the session refused the operation.
    pub(crate) fn is_refusal(&self) -> bool {
        // Only the conversion of a refusal names a session.
        self.0.session.is_some()
    }

    /// The problem with the time after which a client should try again, in microseconds.
    pub(crate) fn retry_after(mut self, wait_us: i64) -> Problem {
        let seconds = u64::try_from(wait_us)
            .unwrap_or_default()
            .div_ceil(1_000_000);
        self.0.retry_after_s = seconds.max(1);
        self
    }

    /// The problem with another code and the same description.
    pub(crate) fn with_code(self, code: Code) -> Problem {
        Problem::new(code, self.0.detail)
    }

    /// The problem of an operation that is recorded nevertheless.
    pub(crate) fn behind_record(mut self, on_record: OnRecord) -> Problem {
        let seq = on_record.seq;
        let content = &mut self.0;
        content.detail = format!("it is on record at seq {seq}, but {}", content.detail);
        content.on_record = Some(Box::new(on_record));
        self
    }
}

impl PartialSchema for Problem {
    fn schema() -> RefOr<Schema> {
        Content::schema()
    }
}

impl ToSchema for Problem {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Problem")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Content::schemas(schemas);
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let mut problem = Problem::new(Code::of_refusal(&refusal.code), refusal.text);
        let content = &mut problem.0;
        content.session = Some(refusal.session);
        content.at = refusal.at;
        content.at_us = refusal.at_us;
        content.confirmed = refusal.confirmed;
        content.found = refusal.found;
        content.by = refusal.by;
        content.until_us = refusal.until;
        content.leaves_open = refusal.leaves_open;
        content.instead = refusal.instead;
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, code) = (self.code().status(), self.code());
        let retry_after = HeaderValue::from(self.0.retry_after_s);
        let mut response = (status, Json(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        match status.as_u16() {
            429 | 503 => {
                headers.insert(header::RETRY_AFTER, retry_after);
            }
            401 => {
                let bearer = HeaderValue::from_static("Bearer");
                headers.insert(header::WWW_AUTHENTICATE, bearer);
            }
            _ => {}
        }
        response.extensions_mut().insert(code);
        // A page shows it in its own way.
        response.extensions_mut().insert(self);
        response
    }
}
