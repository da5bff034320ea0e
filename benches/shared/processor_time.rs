//! The CPU time of this process, with all its threads.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The CPU time so far.
pub(crate) fn processor_time() -> Duration {
    let worked = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(worked).expect("a time since the start")
}
