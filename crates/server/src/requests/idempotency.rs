//! `Idempotency-Key`: a repeated POST gets the first answer.
//!
//! The table is in memory and bounded. After a restart, at another node, or once an entry is gone,
//! a repeated request runs again. The journal makes that harmless for answers and claims: the
//! first answer counts, and a claim id is used once. A route whose repetition would do harm gets
//! the key as [`Repeatable`].

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::body::bytes;
use crate::access::{Admitted, Principal};
use crate::problems::{Code, Problem};

/// The header with the key.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header of an answer that was given before.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The maximum length of a key, in bytes, as for a key of a call.
const KEY_BYTES_MAX: usize = 200;

/// The maximum number of answers in the table.
const ANSWERS_MAX: usize = 10_000;

/// The maximum size of all bodies in the table, in bytes.
const BODIES_BYTES_MAX: usize = 32 << 20;

/// The maximum size of one body in the table, in bytes. A larger answer is not kept.
const BODY_BYTES_MAX: usize = 1 << 20;

/// The first answers to requests with keys.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    entries: BTreeMap<Place, Entry>,
    /// The places of the answers in the table, oldest first.
    answered: VecDeque<Place>,
    /// The size of all bodies.
    bytes: usize,
}

/// The hash of a request's sender, grants, route and key. A hash has one length, so the table stays
/// small whatever the length of routes and keys.
type Place = [u8; 32];

#[derive(Clone, Debug)]
struct Entry {
    /// The hash of the request's body.
    request: [u8; 32],
    /// The first answer. `None` while the first request runs.
    answer: Option<Answer>,
}

#[derive(Clone, Debug)]
struct Answer {
    status: StatusCode,
    content_type: Option<HeaderValue>,
    location: Option<HeaderValue>,
    body: Bytes,
}

/// The outcome of a lookup.
enum Lookup {
    /// The request is the first one, and its place is reserved.
    First,
    /// The request was answered before.
    Answered(Answer),
    /// The first request still runs.
    InProgress,
    /// The key belongs to another body.
    OtherBody,
}

/// Runs a POST with a key once. It must follow the authentication.
pub(crate) async fn run_once(
    State(answers): State<Arc<Answers>>,
    admitted: Admitted,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let key = match key_of(&parts) {
        Ok(Some(key)) => key,
        Ok(None) => return next.run(Request::from_parts(parts, body)).await,
        Err(problem) => return problem.into_response(),
    };
    let place = place_of(&admitted.principal, &parts.uri.to_string(), &key);
    let request = Request::from_parts(parts, body);
    let answered = match place {
        Ok(place) => answer(&answers, place, request, next).await,
        Err(problem) => Err(problem),
    };
    answered.unwrap_or_else(Problem::into_response)
}

/// The place of a request. Other grants of the same actor, such as of another token, may not see
/// the answer.
fn place_of(principal: &Principal, route: &str, key: &str) -> Result<Place, Problem> {
    let parts = (principal.actor(), principal.grants(), route, key);
    let text = serde_json::to_vec(&parts)
        .map_err(|error| Problem::new(Code::Broken, error.to_string()))?;
    Ok(Sha256::digest(&text).into())
}

async fn answer(
    answers: &Arc<Answers>,
    place: Place,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    // The limit of the router is among the extensions of the request.
    let reading = Request::from_parts(parts.clone(), body);
    let body = bytes(reading, &()).await?;
    let hash: [u8; 32] = Sha256::digest(&body).into();
    match answers.look_up(&place, hash) {
        Lookup::First => {}
        Lookup::Answered(first) => return Ok(first.replayed()),
        Lookup::InProgress => {
            let detail = "the first request with this key has not ended; repeat it later";
            return Err(Problem::new(Code::IdempotencyInProgress, detail));
        }
        Lookup::OtherBody => return Err(other_body()),
    }
    // A request whose client leaves frees its place, so that a repetition runs.
    let reserved = Reserved {
        answers: answers.clone(),
        place: Some(place),
    };
    let mut request = Request::from_parts(parts, Body::from(body));
    let (key, request_hash) = (place, hash);
    request
        .extensions_mut()
        .insert(Repeatable { key, request_hash });
    let response = next.run(request).await;
    reserved.keep(response).await
}

/// The key of a request, if it has one.
fn key_of(request: &Parts) -> Result<Option<String>, Problem> {
    let mut keys = request.headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(first) = keys.next() else {
        return Ok(None);
    };
    let unfit = || {
        let detail =
            format!("expected one Idempotency-Key of 1 to {KEY_BYTES_MAX} printable characters");
        Problem::new(Code::UnfitIdempotencyKey, detail)
    };
    let text = first.to_str().map_err(|_| unfit())?;
    let is_fit = keys.next().is_none() && (1..=KEY_BYTES_MAX).contains(&text.len());
    is_fit.then(|| Some(text.to_owned())).ok_or_else(unfit)
}

/// The idempotency key of a call, which the request must have. It is recorded with the call, so it
/// outlives a restart.
pub(crate) struct CallKey(pub(crate) String);

impl<S: Sync> FromRequestParts<S> for CallKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<CallKey, Problem> {
        let missing = || {
            let detail = "expected the header Idempotency-Key: the same key is the same call";
            Problem::new(Code::UnfitIdempotencyKey, detail)
        };
        key_of(parts)?.map(CallKey).ok_or_else(missing)
    }
}

/// The key of a request that may be repeated at another node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeatable {
    /// The hash of the sender, its grants, the route and the key.
    pub(crate) key: [u8; 32],
    /// The hash of the body.
    pub(crate) request_hash: [u8; 32],
}

/// The key of a request, if it has one.
pub(crate) struct RepeatableKey(pub(crate) Option<Repeatable>);

impl<S: Sync> FromRequestParts<S> for RepeatableKey {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<RepeatableKey, Infallible> {
        Ok(RepeatableKey(parts.extensions.get().copied()))
    }
}

/// The problem of a key that another body had.
pub(crate) fn other_body() -> Problem {
    let detail = "the key was given with another body; use a new key for a new request";
    Problem::new(Code::IdempotencyKeyReused, detail)
}

/// The place of a request that runs. Dropped without an answer, it is free again.
struct Reserved {
    answers: Arc<Answers>,
    place: Option<Place>,
}

impl Reserved {
    /// Keeps the answer for repetitions, unless a repetition may succeed.
    async fn keep(mut self, response: Response) -> Result<Response, Problem> {
        let status = response.status();
        // A problem of a moment, or an answer that contains one.
        let code = response.extensions().get::<Code>();
        if status.is_server_error() || code.is_some_and(|it| it.is_momentary()) {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX)
            .await
            .map_err(|error| Problem::new(Code::Engine, error.to_string()))?;
        if let Some(place) = self.place.take() {
            let answer = Answer {
                status,
                content_type: parts.headers.get(header::CONTENT_TYPE).cloned(),
                location: parts.headers.get(header::LOCATION).cloned(),
                body: body.clone(),
            };
            self.answers.keep(place, answer);
        }
        Ok(Response::from_parts(parts, Body::from(body)))
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.answers.table().entries.remove(&place);
        }
    }
}

impl Answers {
    fn look_up(&self, place: &Place, request: [u8; 32]) -> Lookup {
        let mut table = self.table();
        match table.entries.get(place) {
            Some(entry) if entry.request != request => Lookup::OtherBody,
            Some(Entry {
                answer: Some(answer),
                ..
            }) => Lookup::Answered(answer.clone()),
            Some(_) => Lookup::InProgress,
            None => {
                let entry = Entry {
                    request,
                    answer: None,
                };
                table.entries.insert(*place, entry);
                Lookup::First
            }
        }
    }

    fn keep(&self, place: Place, answer: Answer) {
        let mut table = self.table();
        let size = answer.body.len();
        if size > BODY_BYTES_MAX {
            table.entries.remove(&place);
            return;
        }
        let Some(entry) = table.entries.get_mut(&place) else {
            return;
        };
        entry.answer = Some(answer);
        table.bytes += size;
        table.answered.push_back(place);
        while table.answered.len() > ANSWERS_MAX || table.bytes > BODIES_BYTES_MAX {
            let Some(oldest) = table.answered.pop_front() else {
                break;
            };
            let removed = table.entries.remove(&oldest).and_then(|it| it.answer);
            let freed = removed.map_or(0, |it| it.body.len());
            table.bytes = table.bytes.saturating_sub(freed);
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Each change is one step, so a panic elsewhere leaves a whole table.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer {
    fn replayed(self) -> Response {
        let mut response = (self.status, self.body).into_response();
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_TYPE);
        if let Some(content_type) = self.content_type {
            headers.insert(header::CONTENT_TYPE, content_type);
        }
        if let Some(location) = self.location {
            headers.insert(header::LOCATION, location);
        }
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
        response
    }
}

#[cfg(test)]
mod tests {
    use recount::session::Actor;

    use super::*;
    use crate::access::{Grant, Role};

    fn place(key: &str) -> Place {
        let ada = Principal::new(Actor::token("ada"), Vec::new());
        place_of(&ada, "/v1/pause", key).unwrap()
    }

    fn answer(bytes: usize) -> Answer {
        Answer {
            status: StatusCode::OK,
            content_type: None,
            location: None,
            body: Bytes::from(vec![0; bytes]),
        }
    }

    #[test]
    fn place_differs_by_sender_grants_route_and_key() {
        let of = |name: &str, role, route: &str, key: &str| {
            let grants = vec![Grant::everywhere(role)];
            place_of(&Principal::new(Actor::token(name), grants), route, key).unwrap()
        };
        let viewer = Role::Viewer;
        let places = [
            of("ada", viewer, "/v1/pause", "k"),
            of("eve", viewer, "/v1/pause", "k"),
            of("ada", Role::Admin, "/v1/pause", "k"),
            of("ada", viewer, "/v1/unpause", "k"),
            of("ada", viewer, "/v1/pause", "l"),
        ];
        let different: std::collections::BTreeSet<_> = places.iter().collect();
        assert_eq!(different.len(), places.len());
        assert_eq!(of("ada", viewer, "/v1/pause", "k"), places[0]);
    }

    #[test]
    fn table_is_bounded_by_number_and_size() {
        let answers = Answers::default();
        for number in 0..ANSWERS_MAX + 5 {
            let place = place(&number.to_string());
            assert!(matches!(answers.look_up(&place, [0; 32]), Lookup::First));
            answers.keep(place, answer(1));
        }
        assert_eq!(answers.table().entries.len(), ANSWERS_MAX);
        for number in 0..64 {
            let place = place(&format!("large {number}"));
            assert!(matches!(answers.look_up(&place, [0; 32]), Lookup::First));
            answers.keep(place, answer(BODY_BYTES_MAX));
        }
        let table = answers.table();
        assert!(table.bytes <= BODIES_BYTES_MAX);
        assert_eq!(table.entries.len(), table.answered.len());
    }

    #[test]
    fn larger_answer_is_given_anew() {
        let answers = Answers::default();
        let first = |key: &str| matches!(answers.look_up(&place(key), [0; 32]), Lookup::First);
        assert!(first("large") && first("largest"));
        answers.keep(place("large"), answer(BODY_BYTES_MAX + 1));
        answers.keep(place("largest"), answer(BODY_BYTES_MAX));
        assert!(first("large") && !first("largest"));
    }

    #[test]
    fn dropped_request_frees_its_place() {
        let answers = Arc::new(Answers::default());
        assert!(matches!(
            answers.look_up(&place("k"), [0; 32]),
            Lookup::First
        ));
        assert!(matches!(
            answers.look_up(&place("k"), [0; 32]),
            Lookup::InProgress
        ));
        assert!(matches!(
            answers.look_up(&place("k"), [1; 32]),
            Lookup::OtherBody
        ));
        drop(Reserved {
            answers: answers.clone(),
            place: Some(place("k")),
        });
        assert!(matches!(
            answers.look_up(&place("k"), [1; 32]),
            Lookup::First
        ));
    }
}
