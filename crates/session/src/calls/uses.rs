//! The number of calls of each tool.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::values::time::Timestamp;

/// The calls of a tool that count towards its limits. Refused calls and cache hits do not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Uses {
    pub(crate) total: u32,
    /// The times of the latest calls, at most as many as the limit per minute.
    pub(crate) recent: VecDeque<Timestamp>,
}
