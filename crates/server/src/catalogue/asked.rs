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
pub(super) struct Asked(Arc<Mutex<BTreeMap<Name, PendingConfirmation>>>);

impl Asked {
    fn table(&self) -> MutexGuard<'_, BTreeMap<Name, PendingConfirmation>> {
        // Each change is one step, so a panic elsewhere leaves a whole table.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Divides the items into known requests and unknown items.
    fn known(&self, items: &[OpenItem]) -> (Vec<PendingConfirmation>, Vec<OpenItem>) {
        let (mut known, mut unknown) = (Vec::with_capacity(items.len()), Vec::new());
        let table = self.table();
        for item in items {
            match name(item).and_then(|name| table.get(&name)) {
                Some(found) => known.push(found.clone()),
                None => unknown.push(item.clone()),
            }
        }
        (known, unknown)
    }

    fn keep(&self, name: Name, request: PendingConfirmation) {
        let mut table = self.table();
        if table.len() >= ASKED_MAX {
            table.clear();
        }
        table.insert(name, request);
    }
}

impl Catalogue {
    /// Returns the confirmation requests of these open items, in any order.
    ///
    /// A request that needs several approvals is read each time, because they change. So is one of
    /// a sealed session: its key may be erased at any time, and its content with it.
    pub(crate) async fn pending_of(
        &self,
        items: &[OpenItem],
    ) -> Result<Vec<PendingConfirmation>, Error> {
        let (mut pending, unknown) = self.asked.known(items);
        if unknown.is_empty() {
            return Ok(pending);
        }
        let names: BTreeMap<_, _> = unknown
            .iter()
            .filter_map(name)
            .map(|name| ((name.0, name.1), name))
            .collect();
        for request in self.ledger.pending_of(&unknown).await? {
            let approvals = request.needs.as_ref().map_or(1, |it| it.approvals());
            let name = names.get(&(request.session, request.call));
            if approvals <= 1
                && self.is_clear(request.session)
                && let Some(name) = name
            {
                self.asked.keep(*name, request.clone());
            }
            pending.push(request);
        }
        Ok(pending)
    }

    /// True if the session is known here and not sealed.
    fn is_clear(&self, session: SessionId) -> bool {
        self.kept(session).is_some()
    }
}

fn name(item: &OpenItem) -> Option<Name> {
    let request = RequestId(item.request?);
    Some((SessionId(item.session), Seq(item.item), request, item.flags))
}

#[cfg(test)]
mod tests {
    use recount::journal::seal::MemoryKeyStore;
    use recount::prelude::{Actor, Agent, Engine, T, json};
    use recount::session::Json;

    use super::*;

    /// The number of requests in memory after a listing, with one request open.
    async fn kept(agent: Agent) -> usize {
        let pay = T::simple("pay", "Pays", |_| async { Ok(json!({})) });
        let agent = agent.tools(T::confirm(pay, "Pay?"));
        let keys = Arc::new(MemoryKeyStore::default());
        let engine = Engine::in_memory().keys(keys).agent("desk", agent);
        let engine = engine.open().await.unwrap();
        let session = engine.session("desk").open().await.unwrap();
        let mut updates = session.subscribe();
        let by = Actor::embedder("pipeline");
        let begun = session.begin_call("pay", Json::empty_object(), "once", by);
        begun.await.unwrap();
        let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
        assert!(asked.await.is_some());
        let catalogue = Catalogue::new(engine.ledger().clone());
        catalogue.session(session.session_id()).await.unwrap();
        let items = engine.ledger().open_items().await.unwrap();
        let first = catalogue.pending_of(&items).await.unwrap();
        assert_eq!(first.len(), 1);
        assert_eq!(first, session.pending().await.unwrap());
        assert_eq!(catalogue.pending_of(&items).await.unwrap(), first);
        catalogue.asked.table().len()
    }

    #[tokio::test]
    async fn request_is_kept_unless_its_session_is_sealed() {
        let agent = || Agent::new().model("none").strict();
        assert_eq!(kept(agent()).await, 1);
        assert_eq!(kept(agent().sealed()).await, 0);
    }
}
