//! How long the processors worked for this process, all its threads together.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time worked so far.
pub(crate) fn processor_time() -> Duration {
    let worked = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(worked).expect("a time since the start")
}
