//! Places: a bound on what many requests do at the same time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problems::{Code, Problem};

/// A bounded number of places.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    max: usize,
}

impl Places {
    pub(crate) fn new(max: usize) -> Places {
        let max = max.min(Semaphore::MAX_PERMITS);
        Places {
            free: Arc::new(Semaphore::new(max)),
            max,
        }
    }

    /// Takes a place until the permit is dropped. All places taken are a problem.
    pub(crate) fn take(&self, what: &str) -> Result<OwnedSemaphorePermit, Problem> {
        self.free.clone().try_acquire_owned().map_err(|_| {
            let detail = format!("all {} places for {what} are taken; try later", self.max);
            Problem::new(Code::TooManyRequests, detail)
        })
    }

    /// The number of places that are taken.
    pub(crate) fn taken(&self) -> usize {
        self.max.saturating_sub(self.free.available_permits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_free_again_after_its_permit() {
        let places = Places::new(1);
        let first = places.take("tests").unwrap();
        assert_eq!(places.taken(), 1);
        let refused = places.take("tests").unwrap_err();
        assert_eq!(refused.code(), Code::TooManyRequests);
        drop(first);
        assert!(places.take("tests").is_ok());
    }
}
