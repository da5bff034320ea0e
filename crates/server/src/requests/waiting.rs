//! The time that a request waits for its outcome: `Prefer: wait=10`, or the parameter `wait`.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;

use super::params::Params;
use crate::problems::{Code, Problem};

/// The longest time that a request waits. Proxies end a silent request after a minute or more.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The header with preferences (RFC 7240).
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The time that the client prefers to wait, by the header `Prefer`. Zero without one.
pub(crate) struct Preferred(pub(crate) Duration);

impl<S: Sync> FromRequestParts<S> for Preferred {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Preferred, Problem> {
        for header in parts.headers.get_all(PREFER) {
            let unfit = |_| Problem::new(Code::BadRequest, "the header Prefer is no text");
            for preference in header.to_str().map_err(unfit)?.split(',') {
                // A preference may have parameters behind a semicolon.
                let (preference, _) = preference.split_once(';').unwrap_or((preference, ""));
                let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
                if name.trim().eq_ignore_ascii_case("wait") {
                    // Of several, the first one counts. Unknown preferences are ignored.
                    return bounded(value.trim().trim_matches('"')).map(Preferred);
                }
            }
        }
        Ok(Preferred(Duration::ZERO))
    }
}

impl Params {
    /// The time to wait, by the parameter `wait`, in seconds. Zero without one.
    pub(crate) fn wait(&self) -> Result<Duration, Problem> {
        self.one("wait")?.map_or(Ok(Duration::ZERO), bounded)
    }
}

/// Bounds a time to wait that a body has, in seconds.
pub(crate) fn wait_of(seconds: Option<u64>) -> Duration {
    Duration::from_secs(seconds.unwrap_or(0)).min(WAIT_MAX)
}

fn bounded(text: &str) -> Result<Duration, Problem> {
    let Ok(seconds) = text.parse() else {
        let detail = format!("wait: expected a number of seconds, found {text:?}");
        return Err(Problem::new(Code::BadRequest, detail));
    };
    Ok(wait_of(Some(seconds)))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    async fn preferred(values: &[&str]) -> Result<Duration, Problem> {
        let mut request = Request::builder();
        for value in values {
            request = request.header(PREFER, *value);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        let preferred = Preferred::from_request_parts(&mut parts, &()).await;
        preferred.map(|it| it.0)
    }

    #[tokio::test]
    async fn wait_is_found_among_preferences_and_bounded() {
        let seconds = Duration::from_secs;
        for (values, expected) in [
            (&[] as &[&str], 0),
            (&["respond-async"], 0),
            (&["wait=7"], 7),
            (&["respond-async, Wait = \"8\"; x=1"], 8),
            (&["return=minimal", "wait=9, wait=1"], 9),
            (&["wait=100000"], 60),
        ] {
            assert_eq!(preferred(values).await.unwrap(), seconds(expected));
        }
        for unfit in ["wait", "wait=", "wait=-1", "wait=1.5", "wait=x"] {
            let refused = preferred(&[unfit]).await.unwrap_err();
            assert_eq!(refused.code(), Code::BadRequest, "{unfit}");
        }
    }
}
