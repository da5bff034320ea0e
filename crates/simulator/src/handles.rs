//! The handles the service has issued.

use std::collections::VecDeque;

/// Which handles resume.
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

    /// A handle that was never there before.
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

/// Older ones expire, so that a service that runs for long does not grow.
const HANDLES_MAX: usize = 4_096;
