//! A clock that goes on while the process is stopped or the machine sleeps.

use std::time::Duration;

/// Returns the time since a fixed moment before this process began.
#[cfg(target_os = "linux")]
pub(crate) fn elapsed() -> Duration {
    // The clock of `Instant` stands still while the machine sleeps.
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// Returns the time since the first call.
#[cfg(not(target_os = "linux"))]
pub(crate) fn elapsed() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;

    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
