//! Places: a bound on what many requests do at the same time, as a whole and for each principal.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::access::{Principal, Who};
use crate::problems::{Code, Problem};

/// The number of principals from which those without a place are forgotten.
const SWEEP_FROM: usize = 256;

/// A bounded number of places.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    all: Arc<Semaphore>,
    max: usize,
    /// The maximum number of places of one principal.
    each: usize,
    of: Arc<Mutex<BTreeMap<Who, Weak<Semaphore>>>>,
    /// The principal that takes the places. `None`: only the bound of all counts.
    who: Option<Who>,
}

/// A place, which is free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _of_all: OwnedSemaphorePermit,
    _of_one: Option<OwnedSemaphorePermit>,
}

impl Places {
    pub(crate) fn new(max: usize, each: usize) -> Places {
        let max = max.min(Semaphore::MAX_PERMITS);
        Places {
            all: Arc::new(Semaphore::new(max)),
            max,
            each: each.min(max),
            of: Arc::default(),
            who: None,
        }
    }

    /// The same places, with another bound for all.
    pub(crate) fn max(self, max: usize) -> Places {
        Places::new(max, self.each)
    }

    /// The same places, with another bound for each principal.
    pub(crate) fn each(self, each: usize) -> Places {
        Places::new(self.max, each)
    }

    /// The same places, as this principal takes them.
    pub(crate) fn of(&self, principal: &Principal) -> Places {
        Places {
            who: Some(principal.who()),
            ..self.clone()
        }
    }

    /// Takes a place until it is dropped. All places taken are a problem.
    pub(crate) fn take(&self, what: &str) -> Result<Place, Problem> {
        let of_one = match &self.who {
            None => None,
            Some(who) => {
                let own = self.own(who).try_acquire_owned();
                Some(own.map_err(|_| self.all_taken_of_one(what))?)
            }
        };
        let of_all = self.all.clone().try_acquire_owned();
        Ok(Place {
            _of_all: of_all.map_err(|_| self.all_taken(what))?,
            _of_one: of_one,
        })
    }

    /// Takes a place until it is dropped, and waits for it so long. All places taken until then are
    /// a problem.
    pub(crate) async fn wait(&self, what: &str, time: Duration) -> Result<Place, Problem> {
        // The own places come first: a principal with many requests waits behind itself.
        let both = async {
            let of_one = match &self.who {
                None => None,
                Some(who) => Some(self.own(who).acquire_owned().await.ok()?),
            };
            let of_all = self.all.clone().acquire_owned().await.ok()?;
            Some(Place {
                _of_all: of_all,
                _of_one: of_one,
            })
        };
        let taken = timeout(time, both).await.ok().flatten();
        taken.ok_or_else(|| self.all_taken(what))
    }

    fn all_taken(&self, what: &str) -> Problem {
        taken("", self.max, what)
    }

    fn all_taken_of_one(&self, what: &str) -> Problem {
        taken(" of the principal", self.each, what)
    }

    /// The number of places that are taken.
    pub(crate) fn taken(&self) -> usize {
        self.max.saturating_sub(self.all.available_permits())
    }

    /// The places of a principal. They are kept as long as one is taken.
    fn own(&self, who: &Who) -> Arc<Semaphore> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = of.get(who).and_then(Weak::upgrade) {
            return own;
        }
        if of.len() >= SWEEP_FROM {
            of.retain(|_, own| own.strong_count() > 0);
        }
        let own = Arc::new(Semaphore::new(self.each));
        of.insert(who.clone(), Arc::downgrade(&own));
        own
    }
}

fn taken(by: &str, max: usize, what: &str) -> Problem {
    let detail = format!("all {max} places{by} for {what} are taken; try later");
    Problem::new(Code::TooManyRequests, detail)
}

#[cfg(test)]
mod tests {
    use recount::session::Actor;

    use super::*;

    #[test]
    fn place_is_free_again_after_its_permit() {
        let places = Places::new(1, 1);
        let first = places.take("tests").unwrap();
        assert_eq!(places.taken(), 1);
        let refused = places.take("tests").unwrap_err();
        assert_eq!(refused.code(), Code::TooManyRequests);
        drop(first);
        assert!(places.take("tests").is_ok());
    }

    #[test]
    fn one_principal_does_not_take_all_places() {
        let places = Places::new(3, 2);
        let of = |name: &str| places.of(&Principal::new(Actor::token(name), Vec::new()));
        let first = of("ada").take("tests").unwrap();
        let _second = of("ada").take("tests").unwrap();
        assert!(of("ada").take("tests").is_err());
        let other = of("bob").take("tests").unwrap();
        for _ in 0..3 {
            // A place that is refused is not kept.
            assert!(of("bob").take("tests").is_err(), "all are taken");
        }
        drop(first);
        let _third = of("ada").take("tests").unwrap();
        assert!(of("ada").take("tests").is_err(), "the bound is kept");
        drop(other);
        assert!(of("bob").take("tests").is_ok());
        assert_eq!(places.taken(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn place_is_waited_for() {
        let places = Places::new(2, 1);
        let ada = places.of(&Principal::new(Actor::token("ada"), Vec::new()));
        let time = Duration::from_secs(1);
        let first = ada.wait("tests", time).await.unwrap();
        let refused = ada.wait("tests", time).await.unwrap_err();
        assert_eq!(refused.code(), Code::TooManyRequests);
        let (second, ()) = tokio::join!(ada.wait("tests", time), async { drop(first) });
        assert!(second.is_ok());
        assert_eq!(places.taken(), 1);
    }

    #[test]
    fn principals_without_a_place_are_forgotten() {
        let places = Places::new(SWEEP_FROM + 2, 1);
        let of = |name: &str| places.of(&Principal::new(Actor::token(name), Vec::new()));
        let _held = of("held").take("tests").unwrap();
        for number in 0..=SWEEP_FROM {
            drop(of(&number.to_string()).take("tests").unwrap());
        }
        assert!(
            of("held").take("tests").is_err(),
            "its place is still taken"
        );
        assert!(places.of.lock().unwrap().len() < SWEEP_FROM);
    }
}
