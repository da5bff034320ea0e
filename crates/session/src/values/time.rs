//! Times as the session sees them: numbers that observations bring.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::milliseconds;

/// Microseconds since 1970-01-01T00:00:00Z.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time `ms` milliseconds earlier. It saturates instead of overflowing.
    pub const fn before_ms(self, ms: u64) -> Timestamp {
        Timestamp(self.0.saturating_sub(Timestamp(0).after_ms(ms).0))
    }

    /// The time `duration` later, in whole milliseconds. It saturates instead of overflowing.
    pub fn after(self, duration: Duration) -> Timestamp {
        self.after_ms(milliseconds::of(duration))
    }

    /// The time `ms` milliseconds later. It saturates instead of overflowing.
    pub const fn after_ms(self, ms: u64) -> Timestamp {
        let us = if ms > i64::MAX as u64 / 1000 {
            i64::MAX
        } else {
            ms as i64 * 1000
        };
        Timestamp(self.0.saturating_add(us))
    }
}
