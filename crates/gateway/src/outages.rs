//! The log of a vendor that cannot be reached: one line a minute, however many clients try.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::upstream::{Unreached, Vendor};

/// The shortest time between two lines about a vendor that cannot be reached.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// The outages of the vendors, by their addresses. A gateway has two of them at most.
#[derive(Default)]
pub(crate) struct Outages(Mutex<BTreeMap<String, Outage>>);

/// The failed attempts to reach a vendor.
#[derive(Default)]
struct Outage {
    /// The time of the last line about a failure.
    told: Option<Instant>,
    /// The time of the first failure behind the last success. `None` while the vendor is reached.
    since: Option<Instant>,
    /// The failed attempts since the last line.
    untold: u64,
    /// The failed attempts of this outage.
    failed: u64,
    /// True if a line has told of this outage.
    is_told: bool,
}

/// The owner of the key with which the vendor is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyOf {
    Client,
    Gateway,
}

/// A line about a vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// It could not be reached, so often since the last line.
    Down { attempts: u64 },
    /// It is reached again, after so many failed attempts in this time.
    Up { attempts: u64, lasted: Duration },
}

impl Outages {
    /// Notes an attempt to reach the vendor at this address, and logs it if a line is due.
    pub(crate) fn note(&self, endpoint: &str, key: KeyOf, attempt: &Result<Vendor, Unreached>) {
        let failure = attempt.as_ref().err().and_then(|it| failure(it, key));
        let line = self.line(endpoint, failure.is_some(), Instant::now());
        match (line, failure) {
            (Some(Line::Down { attempts }), Some(error)) => {
                tracing::warn!(endpoint, attempts, error, "the vendor cannot be reached");
            }
            (Some(Line::Up { attempts, lasted }), _) => {
                let seconds = lasted.as_secs();
                tracing::warn!(
                    endpoint,
                    attempts,
                    seconds,
                    "the vendor can be reached again"
                );
            }
            (Some(Line::Down { .. }) | None, _) => {}
        }
    }

    /// The line that is due after an attempt at this time.
    fn line(&self, endpoint: &str, has_failed: bool, now: Instant) -> Option<Line> {
        let mut all = self.all();
        match (all.get_mut(endpoint), has_failed) {
            (Some(outage), true) => outage.failed(now),
            (Some(outage), false) => outage.ended(now),
            (None, true) => all.entry(endpoint.to_owned()).or_default().failed(now),
            (None, false) => None,
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Outage>> {
        // Each change is one step, so a panic elsewhere leaves a whole table.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reason why the vendor cannot be reached. `None` if it refuses the client alone.
fn failure(unreached: &Unreached, key: KeyOf) -> Option<String> {
    match (unreached, key) {
        (Unreached::Refused(it), _) if it.status.is_server_error() => {
            Some(format!("it answered {}", it.status))
        }
        // It refuses every client in the same way.
        (Unreached::Refused(it), KeyOf::Gateway) => Some(format!(
            "it answered {} to the gateway's own key",
            it.status
        )),
        (Unreached::Refused(_), KeyOf::Client) => None,
        (Unreached::TimedOut, _) => Some("it did not complete the handshake".to_owned()),
        (Unreached::Failed(error), _) => Some(error.clone()),
    }
}

impl Outage {
    fn failed(&mut self, now: Instant) -> Option<Line> {
        self.since.get_or_insert(now);
        self.failed += 1;
        self.untold += 1;
        // Also across outages: a vendor that fails every other time is worth a line a minute.
        let is_due = |told| now.duration_since(told) >= TELL_EVERY;
        if !self.told.is_none_or(is_due) {
            return None;
        }
        (self.told, self.is_told) = (Some(now), true);
        let attempts = std::mem::take(&mut self.untold);
        Some(Line::Down { attempts })
    }

    fn ended(&mut self, now: Instant) -> Option<Line> {
        let since = self.since.take()?;
        let attempts = std::mem::take(&mut self.failed);
        if !std::mem::take(&mut self.is_told) {
            return None;
        }
        self.untold = 0;
        let lasted = now.duration_since(since);
        Some(Line::Up { attempts, lasted })
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::upstream::Refusal;

    const SECOND: Duration = Duration::from_secs(1);

    /// The lines after attempts at these seconds; true for one that fails.
    fn lines(attempts: impl IntoIterator<Item = (u32, bool)>) -> Vec<(u32, Line)> {
        let (outages, begun) = (Outages::default(), Instant::now());
        let attempts = attempts.into_iter();
        let lines = attempts.filter_map(|(at, has_failed)| {
            let line = outages.line("ws://vendor", has_failed, begun + SECOND * at);
            Some((at, line?))
        });
        lines.collect()
    }

    #[test]
    fn refusal_is_a_failure_for_the_gateways_own_key_alone() {
        let refused = Refusal::of_status(StatusCode::UNAUTHORIZED);
        let refused = Unreached::Refused(Box::new(refused));
        assert_eq!(failure(&refused, KeyOf::Client), None);
        let told = failure(&refused, KeyOf::Gateway).unwrap_or_default();
        assert!(told.contains("401"), "{told}");
    }

    #[test]
    fn outage_has_a_line_a_minute_and_one_at_its_end() {
        let failing = (0..150).map(|at| (at, true));
        let works = [(150, false), (151, false)];
        let up = Line::Up {
            attempts: 150,
            lasted: SECOND * 150,
        };
        assert_eq!(
            lines(failing.chain(works)),
            [
                (0, Line::Down { attempts: 1 }),
                (60, Line::Down { attempts: 60 }),
                (120, Line::Down { attempts: 60 }),
                (150, up),
            ]
        );
    }

    #[test]
    fn vendor_that_fails_every_other_time_has_two_lines_a_minute() {
        let attempts = (0..120).map(|at| (at, at % 2 == 0));
        let up = Line::Up {
            attempts: 1,
            lasted: SECOND,
        };
        let down = |attempts| Line::Down { attempts };
        // The attempts of the minute count, although there were successes between them.
        assert_eq!(
            lines(attempts),
            [(0, down(1)), (1, up), (60, down(30)), (61, up)]
        );
    }

    #[test]
    fn vendors_have_outages_of_their_own() {
        let (outages, now) = (Outages::default(), Instant::now());
        let down = Some(Line::Down { attempts: 1 });
        assert_eq!(outages.line("ws://one", false, now), None);
        assert_eq!(outages.line("ws://one", true, now), down);
        assert_eq!(outages.line("ws://two", true, now), down);
        assert_eq!(outages.line("ws://one", true, now), None);
    }
}
