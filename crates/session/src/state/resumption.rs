//! The handle that resumes a conversation. It is a secret, so the session keeps only a fingerprint.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// The secret that resumes a conversation on another connection.
///
/// It gives access to the conversation, so `Debug` does not print it.
///
/// ```
/// use recount_session::ResumptionHandle;
/// let handle = ResumptionHandle::new("very-secret");
/// assert_eq!(handle.fingerprint(), "b644133604bf9963");
/// assert!(!format!("{handle:?}").contains("secret"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ResumptionHandle(String);

/// The minimum lifetime of a handle, in milliseconds. The service counts two hours from the end of
/// the connection that issued the handle.
pub const HANDLE_LIFE_MS: u64 = 2 * 60 * 60 * 1000;

/// The recorded part of a resumption handle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumption {
    /// The handle's fingerprint.
    pub fingerprint: String,
    /// The time until which the handle is valid at least.
    pub expires_at: Option<Timestamp>,
    /// The last record that a resumed conversation knows. The model must be told everything after
    /// it.
    pub covers: Seq,
}

impl ResumptionHandle {
    /// Wraps the handle that the service issued.
    pub fn new(handle: impl Into<String>) -> ResumptionHandle {
        ResumptionHandle(handle.into())
    }

    /// The handle itself, to be sent to the service only.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The first 16 hex digits of the handle's SHA-256. They distinguish handles and reveal nothing
    /// of them.
    pub fn fingerprint(&self) -> String {
        let hash = Sha256::digest(&self.0);
        hash.iter().take(8).map(|it| format!("{it:02x}")).collect()
    }
}

impl fmt::Debug for ResumptionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResumptionHandle({})", self.fingerprint())
    }
}
