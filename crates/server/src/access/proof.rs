//! The proof of a request's sender, which a long response checks again.

use std::fmt;
use std::sync::Arc;

use axum::http::request::Parts;
use tokio::sync::watch;

use super::entrance::Access;
use super::principal::Principal;
use crate::problems::{Code, Problem};
use crate::reading::Reading;

/// The credentials of a request. `Debug` does not show them.
#[derive(Clone)]
pub(crate) struct Credentials(Arc<Parts>);

impl Credentials {
    /// The credentials in the head of a request, before anything is added to its extensions.
    pub(crate) fn of(request: &Parts) -> Credentials {
        Credentials(Arc::new(request.clone()))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(..)")
    }
}

/// The credentials of a request, and the principal that they proved.
///
/// A response that lasts, such as a stream, checks them before each part: a token may be revoked or
/// expire, and a browser may log out.
#[derive(Clone)]
pub(crate) struct Proof {
    pub(crate) access: Arc<Access>,
    pub(crate) credentials: Credentials,
    pub(crate) principal: Principal,
    /// The read of the request, if reads are recorded.
    pub(crate) reading: Option<Reading>,
}

impl Proof {
    /// The logouts from now on. After each, the credentials want to be checked again.
    pub(crate) fn logouts(&self) -> watch::Receiver<u64> {
        self.access.logouts()
    }

    /// Checks that the credentials still prove the same principal, with the same grants.
    pub(crate) async fn check_again(&self) -> Result<(), Problem> {
        let now = self.access.now();
        let admitted = self.access.recognise(&self.credentials.0, now).await?;
        if admitted.principal == self.principal {
            return Ok(());
        }
        let detail = "the credentials have other grants now; repeat the request";
        Err(Problem::new(Code::Unauthenticated, detail))
    }

    /// Checks before a part of a long response that it may go out: the credentials still prove the
    /// principal, and its read is on record.
    pub(crate) async fn check_part(&self) -> Result<(), Problem> {
        self.check_again().await?;
        match &self.reading {
            Some(reading) => reading.record_more().await,
            None => Ok(()),
        }
    }
}
