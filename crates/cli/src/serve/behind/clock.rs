//! The watch of the clocks of a service: an observation at the start, and one every hour.

use recount_journal::causes;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use recount::engine::{Clock, SystemClock};
use recount::ledger::{ClockReading, ClockSync, Ledger};

/// The time between two observations, on the clock that is never set.
const INTERVAL: Duration = Duration::from_secs(3600);

/// The id of the machine's start, as Linux names it.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The folder of systemd-timesyncd. The file in it exists once the clock was synchronised.
const TIMESYNC: &str = "/run/systemd/timesync";

/// Records a reading now and one every hour, until the handle is dropped.
///
/// A reading that cannot be recorded is logged, because a service must not end with it.
pub(in crate::serve) async fn watch(
    ledger: Ledger,
    read: impl Fn() -> ClockReading + Send + 'static,
) -> AbortOnDropHandle<()> {
    // Before the service serves, so that its first record is between two observations.
    observe(&ledger, &read()).await;
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            tokio::time::sleep(INTERVAL).await;
            observe(&ledger, &read()).await;
        }
    }))
}

async fn observe(ledger: &Ledger, reading: &ClockReading) {
    if let Err(error) = ledger.observe_clock(reading).await {
        tracing::warn!(error = %causes(&error), "the clock could not be recorded");
    }
}

/// The clocks of this machine, for this process.
pub(in crate::serve) fn of_system() -> impl Fn() -> ClockReading + Send + 'static {
    let process = Uuid::now_v7();
    let boot = std::fs::read_to_string(BOOT_ID).ok();
    let boot = boot.map(|it| it.trim().to_owned());
    let origin = boot.filter(|_| since_boot().is_some());
    let origin = origin.unwrap_or_else(|| process.to_string());
    move || ClockReading {
        wall: SystemClock.now(),
        monotonic_us: since_boot().unwrap_or_else(since_start),
        origin: origin.clone(),
        process,
        synchronization: synchronization(Path::new(TIMESYNC)),
    }
}

/// The time since the machine's start, also while it was suspended, in microseconds.
#[cfg(target_os = "linux")]
fn since_boot() -> Option<i64> {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec
        .checked_mul(1_000_000)?
        .checked_add(now.tv_nsec / 1_000)
}

#[cfg(not(target_os = "linux"))]
fn since_boot() -> Option<i64> {
    None
}

/// The time since the first call, in microseconds, for systems without a named start.
fn since_start() -> i64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let since = START.get_or_init(Instant::now).elapsed().as_micros();
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// The word of systemd-timesyncd. Other services of time leave no file that every user can read.
fn synchronization(timesync: &Path) -> ClockSync {
    match (timesync.join("synchronized").exists(), timesync.exists()) {
        (true, _) => ClockSync::Synchronized,
        (false, true) => ClockSync::Unsynchronized,
        (false, false) => ClockSync::Unknown,
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use std::sync::Arc;

    use recount::journal::MemoryJournal;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn clock_is_observed_at_the_start_and_every_hour() {
        let ledger = Ledger::new(Arc::new(MemoryJournal::new()));
        let number = async || ledger.clock_observations().await.unwrap().len();
        let watched = watch(ledger.clone(), of_system()).await;
        assert_eq!(number().await, 1);
        tokio::time::sleep(INTERVAL - Duration::from_secs(1)).await;
        assert_eq!(number().await, 1);
        tokio::time::sleep(2 * INTERVAL).await;
        assert_eq!(number().await, 3);
        drop(watched);
        tokio::time::sleep(2 * INTERVAL).await;
        assert_eq!(number().await, 3);
        let readings = ledger.clock_observations().await.unwrap();
        let [first, .., last] = readings.as_slice() else {
            unreachable!("there are three");
        };
        assert_eq!(first.reading.origin, last.reading.origin);
        assert!(last.reading.monotonic_us >= first.reading.monotonic_us);
    }

    #[test]
    fn synchronisation_is_known_by_the_files_of_timesyncd() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("timesync");
        assert_eq!(synchronization(&folder), ClockSync::Unknown);
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(synchronization(&folder), ClockSync::Unsynchronized);
        std::fs::write(folder.join("synchronized"), "").unwrap();
        assert_eq!(synchronization(&folder), ClockSync::Synchronized);
    }
}
