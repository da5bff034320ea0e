//! The calls that clients may claim, listed once for all workers of a process.
//!
//! A record can wake hundreds of waiting workers. One listing serves all of them, and the parts of
//! a call that never change are read once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use recount_journal::OpenItem;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::engine::error::Error;
use crate::ledger::{self, Ledger, claimable_from};
use crate::session::{OpenKind, Seq, SessionId, Timestamp};

/// The time for which a call is left alone after the owner of its session has not answered.
/// Otherwise each worker would wait for that owner instead of claiming another call.
const LEFT_FOR: Duration = Duration::from_secs(10);

/// A call, by its session and its record.
pub(in crate::engine) type CallOf = (SessionId, Seq);

/// The calls that clients may claim.
#[derive(Default)]
pub(in crate::engine) struct Offers {
    /// The number of listings that have begun.
    begun: AtomicU64,
    newest: tokio::sync::Mutex<Listing>,
    elsewhere: Mutex<Elsewhere>,
}

/// The offers, oldest first.
pub(in crate::engine) type Listed = Arc<[Arc<Offer>]>;

#[derive(Default)]
struct Listing {
    number: u64,
    offers: Listed,
}

/// The calls that need the owner of their session, another process.
#[derive(Default)]
struct Elsewhere {
    /// The calls that a worker of this process claims there.
    under_way: BTreeSet<CallOf>,
    /// The calls whose owner has not answered, and the time to try again.
    left: BTreeMap<CallOf, Instant>,
}

/// An open item that a client may claim.
pub(in crate::engine) struct Offer {
    pub(in crate::engine) item: OpenItem,
    /// The time from which it may be claimed.
    pub(in crate::engine) from: Timestamp,
    known: OnceCell<Option<Known>>,
}

/// The parts of a call that never change.
pub(in crate::engine) struct Known {
    pub(in crate::engine) agent: String,
    pub(in crate::engine) labels: BTreeMap<String, String>,
    pub(in crate::engine) tool: Option<String>,
}

impl Offers {
    /// Lists the offers. The listing began after this request for it.
    pub(in crate::engine) async fn list(&self, ledger: &Ledger) -> Result<Listed, Error> {
        let begun = self.begun.load(Ordering::SeqCst);
        let mut newest = self.newest.lock().await;
        // Another worker listed them while this one waited for the lock.
        if begun < newest.number {
            return Ok(newest.offers.clone());
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst).saturating_add(1);
        let mut before: BTreeMap<CallOf, Arc<Offer>> = BTreeMap::new();
        for offer in newest.offers.iter() {
            before.insert(offer.call(), offer.clone());
        }
        let items = ledger.items_for_clients().await?;
        let offers = items.into_iter().filter_map(|item| {
            let from = claimable_from(&item)?;
            let known = before.remove(&call_of(&item));
            let same = known.filter(|it| it.item == item);
            Some(same.unwrap_or_else(|| Arc::new(Offer::new(item, from))))
        });
        *newest = Listing {
            number,
            offers: offers.collect(),
        };
        Ok(newest.offers.clone())
    }

    /// Notes that a worker claims a call at the owner of its session. `None` if another worker of
    /// this process does, or if the owner has not answered a moment ago.
    pub(in crate::engine) fn begin_elsewhere(self: &Arc<Self>, call: CallOf) -> Option<UnderWay> {
        let mut elsewhere = self.elsewhere();
        let now = Instant::now();
        elsewhere.left.retain(|_, until| now < *until);
        let is_free = !elsewhere.left.contains_key(&call) && elsewhere.under_way.insert(call);
        is_free.then(|| UnderWay {
            offers: self.clone(),
            call,
        })
    }

    fn elsewhere(&self) -> MutexGuard<'_, Elsewhere> {
        // Each change is one step, so a panic elsewhere leaves a whole table.
        let elsewhere = self.elsewhere.lock();
        elsewhere.unwrap_or_else(PoisonError::into_inner)
    }
}

/// A claim that is under way at the owner of its session.
pub(in crate::engine) struct UnderWay {
    offers: Arc<Offers>,
    call: CallOf,
}

impl UnderWay {
    /// Notes that the owner has not answered.
    pub(in crate::engine) fn leave(self) {
        let until = Instant::now() + LEFT_FOR;
        self.offers.elsewhere().left.insert(self.call, until);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.offers.elsewhere().under_way.remove(&self.call);
    }
}

fn call_of(item: &OpenItem) -> CallOf {
    (SessionId(item.session), Seq(item.item))
}

impl Offer {
    fn new(item: OpenItem, from: Timestamp) -> Offer {
        Offer {
            item,
            from,
            known: OnceCell::new(),
        }
    }

    pub(in crate::engine) fn call(&self) -> CallOf {
        call_of(&self.item)
    }

    /// True if a tool that clients do not run may have the call.
    pub(in crate::engine) fn may_be_of_any_tool(&self) -> bool {
        self.item.kind == OpenKind::Ready.as_str()
    }

    /// Returns the parts of the call that never change. `None` for a sealed session without its
    /// key.
    pub(in crate::engine) async fn known(&self, ledger: &Ledger) -> Result<Option<&Known>, Error> {
        let known = self
            .known
            .get_or_try_init(|| Known::of(ledger, self.call()));
        match known.await {
            // The key may come, so nothing is noted of it.
            Err(ledger::Error::Sealed { .. }) => Ok(None),
            known => Ok(known?.as_ref()),
        }
    }
}

impl Known {
    async fn of(ledger: &Ledger, (session, call): CallOf) -> Result<Option<Known>, ledger::Error> {
        let Some((_, opened)) = ledger.opened(session).await? else {
            return Ok(None);
        };
        let received = ledger.call_received(session, call).await?;
        Ok(Some(Known {
            agent: opened.agent,
            labels: opened.labels,
            tool: received.and_then(|it| it.name),
        }))
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use futures_util::future::join_all;
    use futures_util::poll;

    use recount_journal::MemoryJournal;

    use super::*;

    #[tokio::test]
    async fn workers_that_wake_together_share_one_listing() {
        let ledger = &Ledger::new(Arc::new(MemoryJournal::default()));
        let offers = Offers::default();
        let busy = offers.newest.lock().await;
        let mut all = join_all((0..10).map(|_| offers.list(ledger)));
        assert!(poll!(&mut all).is_pending());
        drop(busy);
        for listed in all.await {
            assert!(listed.unwrap().is_empty());
        }
        assert_eq!(offers.begun.load(Ordering::SeqCst), 1);
        offers.list(ledger).await.unwrap();
        assert_eq!(offers.begun.load(Ordering::SeqCst), 2);
    }
}
