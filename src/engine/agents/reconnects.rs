//! The policy for reconnecting: the number of attempts and the waits between them.

use std::time::Duration;

/// The policy for reconnecting a session after a loss.
///
/// The wait doubles from the first to the longest. Half of each wait is random, so that sessions
/// which lost their connection together do not reconnect together. Attempts and waits are recorded.
///
/// ```
/// use std::time::Duration;
/// use recount::engine::Reconnects;
/// use recount::prelude::*;
///
/// let patient = Reconnects::default()
///     .attempts_max(20)
///     .waits(Duration::from_secs(1), Duration::from_secs(60));
/// let agent = Agent::new().model("gemini-live-2.5-flash").reconnects(patient);
/// # let _ = agent;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnects {
    attempts_max: u32,
    first_wait: Duration,
    longest_wait: Duration,
}

impl Default for Reconnects {
    /// Allows eight attempts, the first within 250 ms and the last within 30 s of the one before.
    fn default() -> Reconnects {
        Reconnects {
            attempts_max: 8,
            first_wait: Duration::from_millis(250),
            longest_wait: Duration::from_secs(30),
        }
    }
}

impl Reconnects {
    /// Never reconnects: the embedding program connects again itself. A loss then cancels nothing.
    #[must_use]
    pub fn never() -> Reconnects {
        Reconnects::default().attempts_max(0)
    }

    /// Sets the maximum number of consecutive failed attempts.
    #[must_use]
    pub fn attempts_max(self, attempts_max: u32) -> Reconnects {
        Reconnects {
            attempts_max,
            ..self
        }
    }

    /// Sets the wait before the first attempt and the longest wait.
    #[must_use]
    pub fn waits(self, first: Duration, longest: Duration) -> Reconnects {
        Reconnects {
            first_wait: first,
            longest_wait: longest,
            ..self
        }
    }

    pub(in crate::engine) fn is_never(self) -> bool {
        self.attempts_max == 0
    }

    pub(in crate::engine) fn allows(self, attempt: u32) -> bool {
        attempt <= self.attempts_max
    }

    /// Returns the number of attempts made, up to the limit.
    pub(in crate::engine) fn made(self, attempt: u32) -> u32 {
        attempt.min(self.attempts_max)
    }

    /// Returns the lifetime from which a connection counts as good.
    pub(in crate::engine) fn longest_wait(self) -> Duration {
        self.longest_wait
    }

    /// Returns the wait before an attempt, in milliseconds. The first attempt is 1.
    pub(in crate::engine) fn wait_ms(self, attempt: u32, entropy: u64) -> u64 {
        let doublings = attempt.saturating_sub(1).min(63);
        let first = u64::try_from(self.first_wait.as_millis()).unwrap_or(u64::MAX);
        let longest = u64::try_from(self.longest_wait.as_millis()).unwrap_or(u64::MAX);
        let most = first.saturating_mul(1 << doublings).min(longest);
        let least = most / 2;
        least + entropy % (most - least + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_half_of_each_is_random() {
        let reconnects = Reconnects::default();
        let shortest: Vec<u64> = (1..=9).map(|it| reconnects.wait_ms(it, 0)).collect();
        assert_eq!(
            shortest,
            [125, 250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]
        );
        assert_eq!(reconnects.wait_ms(1, 125), 250);
        assert_eq!(reconnects.wait_ms(1, 126), 125);
        for entropy in [0, 1, 77, u64::MAX] {
            assert!((15_000..=30_000).contains(&reconnects.wait_ms(u32::MAX, entropy)));
        }
    }

    #[test]
    fn never_allows_no_attempt() {
        assert!(!Reconnects::never().allows(1));
        let twice = Reconnects::default().attempts_max(2);
        assert!(twice.allows(2) && !twice.allows(3));
    }
}
