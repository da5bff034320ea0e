//! Limits of requests over time, by principal, and of failed credentials, by peer.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use recount::session::Timestamp;

use super::peer::Peer;
use super::principal::{Principal, Who};
use crate::problems::{Code, Problem};

/// The number of keys from which those with a full bucket are removed.
const SWEEP_FROM: usize = 4096;

const SECOND_US: i64 = 1_000_000;

/// The limits of requests over time.
///
/// The requests of a person count together, whatever tokens prove it. So do the failed credentials
/// of an address. Valid credentials are never refused because of failed ones, so no client can lock
/// out another one behind the same proxy.
///
/// ```
/// use recount_server::{Access, Rates};
/// let rates = Rates { requests_per_second: 50, ..Rates::default() };
/// let access = Access::none().with_rates(rates);
/// # let _ = access;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// The requests of a principal in a second. Two seconds of them may come at once. 0 counts as
    /// 1. Defaults to 1,000.
    pub requests_per_second: u32,
    /// The requests of an address with failed credentials in a minute, which may come at once. 0
    /// counts as 1. Defaults to 60.
    pub failures_per_minute: u32,
}

impl Default for Rates {
    fn default() -> Rates {
        Rates {
            requests_per_second: 1_000,
            failures_per_minute: 60,
        }
    }
}

/// The requests and the failures so far.
#[derive(Debug)]
pub(super) struct Counted {
    requests: Buckets<Who>,
    /// `None` is the client of requests without a known peer.
    failures: Buckets<Option<Peer>>,
}

impl Counted {
    pub(super) fn new(rates: Rates) -> Counted {
        let requests = i64::from(rates.requests_per_second.max(1));
        let failures = i64::from(rates.failures_per_minute.max(1));
        Counted {
            requests: Buckets::new(SECOND_US / requests, 2 * requests),
            failures: Buckets::new(60 * SECOND_US / failures, failures),
        }
    }

    /// Counts a request. Too many of them are a problem.
    pub(super) fn request(&self, by: &Principal, now: Timestamp) -> Result<(), Problem> {
        let taken = self.requests.take(by.who(), now);
        taken.map_err(|wait_us| {
            let detail = "more requests than the service takes from one principal";
            Problem::new(Code::TooManyRequests, detail).retry_after(wait_us)
        })
    }

    /// Counts a request with failed credentials. Too many of them are another problem.
    pub(super) fn failure(&self, peer: Option<Peer>, now: Timestamp) -> Result<(), Problem> {
        let taken = self.failures.take(peer.map(Peer::site), now);
        taken.map_err(|wait_us| {
            let detail = "more failed credentials than the service takes from one address";
            Problem::new(Code::TooManyRequests, detail).retry_after(wait_us)
        })
    }
}

/// Token buckets by key, each stored as the time at which it is full again.
#[derive(Debug)]
struct Buckets<K> {
    /// The time in which one token is added, in microseconds.
    interval_us: i64,
    /// The time in which an empty bucket is filled, in microseconds.
    fill_us: i64,
    state: Mutex<State<K>>,
}

#[derive(Debug)]
struct State<K> {
    /// The time at which the bucket of a key is full, in microseconds since 1970.
    full_at: BTreeMap<K, i64>,
    /// The number of keys from which full buckets are removed.
    sweep_from: usize,
}

impl<K: Ord> Buckets<K> {
    fn new(interval_us: i64, size: i64) -> Buckets<K> {
        Buckets {
            interval_us,
            fill_us: interval_us.saturating_mul(size),
            state: Mutex::new(State {
                full_at: BTreeMap::new(),
                sweep_from: SWEEP_FROM,
            }),
        }
    }

    /// Takes a token. `Err`: the time until there is one, in microseconds.
    fn take(&self, key: K, now: Timestamp) -> Result<(), i64> {
        let mut state = self.state();
        if state.full_at.len() >= state.sweep_from {
            state.full_at.retain(|_, at| *at > now.0);
            // Twice the rest, so that the sweeps of many busy keys cost little for each request.
            state.sweep_from = SWEEP_FROM.max(2 * state.full_at.len());
        }
        let at = state.full_at.entry(key).or_insert(now.0);
        // A clock that was set back makes no client wait for more than one filling. A refusal must
        // store the smaller debt, too: against the old time, each later request would be refused.
        let debt = at.saturating_sub(now.0).clamp(0, self.fill_us);
        let next = debt + self.interval_us;
        if next > self.fill_us {
            *at = now.0.saturating_add(debt);
            return Err(next - self.fill_us);
        }
        *at = now.0.saturating_add(next);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        // Each change is one step, so a panic elsewhere leaves a whole table.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_empties_and_fills_with_time() {
        let buckets = Buckets::new(100, 3);
        let take = |key, at| buckets.take(key, Timestamp(at));
        for _ in 0..3 {
            assert_eq!(take("a", 1000), Ok(()));
        }
        assert_eq!(take("a", 1000), Err(100));
        assert_eq!(take("a", 1060), Err(40));
        assert_eq!(take("b", 1060), Ok(()), "another key has its own bucket");
        assert_eq!(take("a", 1100), Ok(()));
        assert_eq!(take("a", 1100), Err(100));
        for _ in 0..3 {
            assert_eq!(take("a", 9000), Ok(()));
        }
        assert_eq!(take("a", 9000), Err(100), "a full bucket takes no more");
        assert_eq!(take("a", 0), Err(100), "the clock was set back");
        assert_eq!(take("a", 99), Err(1));
        assert_eq!(take("a", 100), Ok(()), "the bucket fills from the new time");
        for _ in 0..3 {
            assert_eq!(take("a", 400), Ok(()));
        }
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let buckets = Buckets::new(100, 1);
        for key in 0..SWEEP_FROM {
            buckets.take(key, Timestamp(0)).unwrap();
        }
        buckets.take(0, Timestamp(100)).unwrap();
        assert_eq!(buckets.state().full_at.len(), 1);
    }

    #[test]
    fn sweep_keeps_empty_buckets() {
        let buckets = Buckets::new(100, 1);
        for key in 0..SWEEP_FROM {
            buckets.take(key, Timestamp(0)).unwrap();
        }
        assert_eq!(buckets.take(0, Timestamp(99)), Err(1));
    }

    #[test]
    fn rate_of_zero_counts_as_one() {
        let none = Rates {
            requests_per_second: 0,
            failures_per_minute: 0,
        };
        let (counted, now) = (Counted::new(none), Timestamp(0));
        let ada = Principal::new(recount::session::Actor::token("ada"), Vec::new());
        for _ in 0..2 {
            assert!(counted.request(&ada, now).is_ok());
        }
        assert!(counted.request(&ada, now).is_err());
        assert!(counted.failure(None, now).is_ok());
        assert!(counted.failure(None, now).is_err());
    }
}
