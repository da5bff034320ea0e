//! The resumption handles that the service has issued.

use std::collections::VecDeque;

/// The handles that are valid for resumption.
#[derive(Debug, Default)]
pub(super) struct Handles {
    valid: VecDeque<String>,
    issued: u64,
}

impl Handles {
    pub(super) fn issue(&mut self, handle: &str) {
        self.expire(handle);
        self.valid.push_back(handle.to_owned());
        if self.valid.len() > HANDLES_MAX {
            self.valid.pop_front();
        }
    }

    /// Issues a new, unique handle.
    pub(super) fn issue_new(&mut self) -> String {
        self.issued += 1;
        let handle = format!("handle-{}", self.issued);
        self.issue(&handle);
        handle
    }

    pub(super) fn expire(&mut self, handle: &str) {
        self.valid.retain(|known| known != handle);
    }

    pub(super) fn is_valid(&self, handle: &str) -> bool {
        self.valid.iter().any(|known| known == handle)
    }
}

/// The maximum number of valid handles. Older ones expire, so that memory use does not grow.
const HANDLES_MAX: usize = 4_096;
