//! The length of a lease: the time for which a client may run a call without a sign of life.

use std::fmt;
use std::time::Duration;

use super::milliseconds;
use super::time::Timestamp;

/// The time for which a client holds a claimed call without renewing it: 1 second to 24 hours.
///
/// ```
/// use std::time::Duration;
/// use recount_session::Lease;
/// assert_eq!(Lease::new(Duration::from_secs(60))?.millis(), 60_000);
/// let refused = Lease::new(Duration::from_millis(10)).map_err(|it| it.to_string());
/// assert_eq!(refused, Err("a lease lasts from 1 s to 24 h, found 10 ms".to_owned()));
/// # Ok::<(), recount_session::UnfitLease>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease(u64);

/// A length that no lease may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfitLease {
    /// The length, in milliseconds.
    pub found_ms: u64,
}

impl Lease {
    /// The shortest lease. A shorter one would pass while its acknowledgement is on the network.
    pub const MIN: Duration = Duration::from_secs(1);

    /// The longest lease. A client that works for longer renews it.
    pub const MAX: Duration = Duration::from_secs(24 * 3600);

    /// The lease of a client that names none.
    pub const DEFAULT: Lease = Lease(60_000);

    /// Makes a lease of this length.
    ///
    /// # Errors
    /// [`UnfitLease`] if the length is under [`MIN`](Lease::MIN) or over [`MAX`](Lease::MAX).
    pub fn new(length: Duration) -> Result<Lease, UnfitLease> {
        let found_ms = milliseconds::of(length);
        if length < Lease::MIN || Lease::MAX < length {
            return Err(UnfitLease { found_ms });
        }
        Ok(Lease(found_ms))
    }

    /// Makes a lease of this many milliseconds.
    ///
    /// # Errors
    /// Those of [`new`](Lease::new).
    pub fn from_millis(ms: u64) -> Result<Lease, UnfitLease> {
        Lease::new(Duration::from_millis(ms))
    }

    /// The length in milliseconds.
    #[must_use]
    pub fn millis(self) -> u64 {
        self.0
    }

    /// The end of a lease that begins at `now`.
    #[must_use]
    pub fn until(self, now: Timestamp) -> Timestamp {
        now.after_ms(self.0)
    }
}

impl fmt::Display for UnfitLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a lease lasts from 1 s to 24 h, found {} ms",
            self.found_ms
        )
    }
}

impl std::error::Error for UnfitLease {}
