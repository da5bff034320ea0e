//! The number of uses of each tool.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::values::time::Timestamp;

/// How often a tool was called; refused calls and reused results do not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Uses {
    pub(crate) total: u32,
    /// The latest calls, as many as may happen in a minute.
    pub(crate) recent: VecDeque<Timestamp>,
}
