//! The handle by which a conversation can be resumed: a secret, of which the session keeps a
//! fingerprint.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// What resumes a conversation on another connection. Whoever has it has the conversation, so it
/// shows in no `Debug`.
///
/// ```
/// use recount_session::ResumptionHandle;
/// let handle = ResumptionHandle::new("very-secret");
/// assert_eq!(handle.fingerprint(), "b644133604bf9963");
/// assert!(!format!("{handle:?}").contains("secret"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ResumptionHandle(String);

/// For how long at least a handle is good: the service counts two hours from the end of the
/// connection that brought it.
pub const HANDLE_LIFE_MS: u64 = 2 * 60 * 60 * 1000;

/// By what a conversation can be resumed on another connection, as the record has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumption {
    /// The handle's fingerprint.
    pub fingerprint: String,
    /// Until when the handle is good at least.
    pub expires_at: Option<Timestamp>,
    /// The last record that a resumed conversation knows of; what came after it, it has to be told.
    pub covers: Seq,
}

impl ResumptionHandle {
    /// The handle that the service gave.
    pub fn new(handle: impl Into<String>) -> ResumptionHandle {
        ResumptionHandle(handle.into())
    }

    /// The handle itself, for the service and for nobody else.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Enough of a hash to tell handles apart, and nothing of the handle: the first 16 hex digits
    /// of its SHA-256.
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
