//! The open confirmation requests, kept in memory: the records of a request never change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use recount::ledger::{Error, PendingConfirmation};
use recount::session::{RequestId, Seq, SessionId};
use recount_journal::OpenItem;

use super::known::Catalogue;

/// The maximum number of requests in memory, about 20 MB. Then all are dropped, and the open ones
/// are read again.
const ASKED_MAX: usize = 10_000;

/// A request as it waits: its session, its call, its id, and the flags of the open item.
type Name = (SessionId, Seq, RequestId, u32);

/// The requests that were read.
#[derive(Clone, Default)]
pub(super) struct Asked(Arc<Mutex<BTreeMap<Name, Kept>>>);

/// A request in memory.
#[derive(Clone)]
struct Kept {
    request: PendingConfirmation,
    /// True if its session is sealed. The request then ends with the key.
    of_sealed: bool,
}

impl Asked {
    fn table(&self) -> MutexGuard<'_, BTreeMap<Name, Kept>> {
        // Each change is one step, so a panic elsewhere leaves a whole table.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, item: &OpenItem) -> Option<Kept> {
        self.table().get(&name(item)?).cloned()
    }

    fn keep(&self, name: Name, request: Kept) {
        let mut table = self.table();
        if table.len() >= ASKED_MAX {
            table.clear();
        }
        table.insert(name, request);
    }

    /// Drops the requests of a session.
    pub(super) fn drop_all_of(&self, session: SessionId) {
        self.table().retain(|(of, ..), _| *of != session);
    }
}

impl Catalogue {
    /// Returns the confirmation requests of these open items, in any order.
    ///
    /// A request that needs several approvals is read each time, because they change.
    pub(crate) async fn pending_of(
        &self,
        items: &[OpenItem],
    ) -> Result<Vec<PendingConfirmation>, Error> {
        let (mut pending, mut unknown) = (Vec::with_capacity(items.len()), Vec::new());
        for item in items {
            match self.asked.find(item) {
                Some(kept) if self.opens(&kept).await? => pending.push(kept.request),
                Some(kept) => {
                    self.drop_kept(kept.request.session);
                    unknown.push(item.clone());
                }
                None => unknown.push(item.clone()),
            }
        }
        if !unknown.is_empty() {
            pending.extend(self.read_requests(&unknown).await?);
        }
        Ok(pending)
    }

    /// True if the request could still be read from the journal.
    async fn opens(&self, kept: &Kept) -> Result<bool, Error> {
        Ok(!kept.of_sealed || self.ledger.has_key(kept.request.session).await?)
    }

    /// Reads requests, and keeps those that do not change.
    async fn read_requests(&self, items: &[OpenItem]) -> Result<Vec<PendingConfirmation>, Error> {
        self.drop_erased().await?;
        let names: BTreeMap<_, _> = items
            .iter()
            .filter_map(name)
            .map(|name| ((name.0, name.1), name))
            .collect();
        let pending = self.ledger.pending_of(items).await?;
        for request in &pending {
            let approvals = request.needs.as_ref().map_or(1, |it| it.approvals());
            let name = names.get(&(request.session, request.call));
            let session = self.kept(request.session);
            // Without its key, nothing of a sealed session is known.
            if approvals <= 1
                && !request.sealed
                && let (Some(name), Some(session)) = (name, session)
            {
                let kept = Kept {
                    request: request.clone(),
                    of_sealed: session.is_sealed,
                };
                self.asked.keep(*name, kept.clone());
                // An erasure between the read and here found nothing to drop.
                if !self.opens(&kept).await? {
                    self.drop_kept(request.session);
                }
            }
        }
        Ok(pending)
    }
}

fn name(item: &OpenItem) -> Option<Name> {
    let request = RequestId(item.request?);
    Some((SessionId(item.session), Seq(item.item), request, item.flags))
}

#[cfg(test)]
mod tests {
    use recount::journal::seal::{KeyStore, MemoryKeyStore};
    use recount::prelude::{Actor, Agent, Engine, LiveHandle, T, json};
    use recount::session::{Json, Timestamp};

    use super::*;
    use crate::catalogue::Filter;

    /// A catalogue of a journal with one open request, and the store of its keys.
    struct Bench {
        catalogue: Catalogue,
        keys: Arc<MemoryKeyStore>,
        session: LiveHandle,
    }

    impl Bench {
        async fn new(agent: Agent) -> Bench {
            let pay = T::simple("pay", "Pays", |_| async { Ok(json!({})) });
            let agent = agent.model("none").strict();
            let agent = agent.tools(T::confirm(pay, "Pay?"));
            let keys = Arc::new(MemoryKeyStore::default());
            let engine = Engine::in_memory().keys(keys.clone()).agent("desk", agent);
            let engine = engine.open().await.unwrap();
            let session = engine.session("desk").open().await.unwrap();
            let mut updates = session.subscribe();
            let by = Actor::embedder("pipeline");
            let begun = session.begin_call("pay", Json::empty_object(), "once", by);
            begun.await.unwrap();
            let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
            assert!(asked.await.is_some());
            Bench {
                catalogue: Catalogue::new(engine.ledger().clone()),
                keys,
                session,
            }
        }

        /// The only request, as a listing has it.
        async fn listed(&self) -> PendingConfirmation {
            let catalogue = &self.catalogue;
            let id = self.session.session_id();
            catalogue.session(id).await.unwrap().unwrap();
            let items = catalogue.ledger.open_items().await.unwrap();
            let mut listed = catalogue.pending_of(&items).await.unwrap();
            assert_eq!(listed.len(), 1);
            listed.remove(0)
        }

        /// The number of requests in memory, and of sessions whose content is.
        fn kept(&self) -> (usize, usize) {
            let known = self.catalogue.kept(self.session.session_id());
            let opened = known.filter(|it| it.opened.is_some());
            let asked = self.catalogue.asked.table().len();
            (asked, usize::from(opened.is_some()))
        }
    }

    #[tokio::test]
    async fn request_is_kept_also_of_a_sealed_session() {
        for agent in [Agent::new(), Agent::new().sealed()] {
            let bench = Bench::new(agent).await;
            let first = bench.listed().await;
            assert_eq!(vec![first.clone()], bench.session.pending().await.unwrap());
            assert_eq!(bench.kept(), (1, 1));
            assert_eq!(bench.listed().await, first);
        }
    }

    #[tokio::test]
    async fn nothing_is_listed_once_the_key_is_gone() {
        let bench = Bench::new(Agent::new().sealed()).await;
        assert_eq!(bench.listed().await.tool, "pay");
        // By hand, or by another process: nothing is recorded.
        bench
            .keys
            .erase(bench.session.session_id().0)
            .await
            .unwrap();
        // Without a look at the session, which would drop its requests as well.
        let items = bench.catalogue.ledger.open_items().await.unwrap();
        let read = bench.catalogue.pending_of(&items).await.unwrap();
        assert!(read.iter().all(|it| it.sealed && it.tool.is_empty()));
        let listed = bench.listed().await;
        assert!(listed.sealed && listed.tool.is_empty() && listed.agent.is_empty());
        assert_eq!(bench.kept(), (0, 0));
    }

    #[tokio::test]
    async fn recorded_erasure_empties_the_memory() {
        let bench = Bench::new(Agent::new().sealed()).await;
        bench.listed().await;
        let by = Actor::embedder("ada");
        bench.session.close("done", by.clone()).await.unwrap();
        assert_eq!(bench.kept(), (1, 1));
        let (ledger, id) = (&bench.catalogue.ledger, bench.session.session_id());
        ledger
            .erase(id, by, "a request", Timestamp(1))
            .await
            .unwrap();
        let filter = Filter::default();
        let nothing = bench.catalogue.page(&filter, |_| false, None, 1);
        assert!(nothing.await.unwrap().sessions.is_empty());
        assert_eq!(bench.kept(), (0, 0));
    }
}
