//! Handles of sessions that programs drive over HTTP.
//!
//! Without a handle, a session's task would end between two requests, and attach and detach with
//! each of them, which is two records and a load a call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use recount::engine::{BegunCall, Engine, Error, LiveHandle};
use recount::session::{Actor, Json, SessionId};
use tokio::task::JoinHandle;

/// The maximum number of handles. The session that was used longest ago gives way.
const HELD_MAX: usize = 256;

/// The handles of the sessions that were used last.
///
/// A handle that gives way ends nothing: the running calls of its session continue.
#[derive(Default)]
pub(crate) struct HeldSessions {
    /// The sessions, that of the last use at the end.
    held: Arc<Table>,
}

type Table = Mutex<VecDeque<Held>>;

/// A handle, until its session is closed, perhaps by a request at another node.
struct Held {
    handle: LiveHandle,
    watch: JoinHandle<()>,
}

impl Held {
    fn session_id(&self) -> SessionId {
        self.handle.session_id()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// A call to make.
pub(crate) struct NewCall {
    pub(crate) tool: String,
    pub(crate) args: Json,
    pub(crate) key: String,
    pub(crate) by: Actor,
}

impl HeldSessions {
    /// Holds a session that was just opened.
    pub(crate) fn hold(&self, handle: LiveHandle) {
        let handle = handle.releasing();
        let watch = tokio::spawn(forget_once_closed(
            Arc::downgrade(&self.held),
            handle.session_id(),
            handle.ended(),
        ));
        let mut held = self.table();
        held.retain(|it| it.session_id() != handle.session_id());
        held.push_back(Held { handle, watch });
        if held.len() > HELD_MAX {
            held.pop_front();
        }
    }

    /// Holds a session no longer.
    pub(crate) fn forget(&self, session: SessionId) {
        self.table().retain(|it| it.session_id() != session);
    }

    /// Records a call, and opens the session if no handle is held.
    pub(crate) async fn begin(
        &self,
        engine: &Engine,
        session: SessionId,
        call: &NewCall,
    ) -> Result<BegunCall, Error> {
        let held = self.get(session);
        let was_held = held.is_some();
        let handle = match held {
            Some(handle) => handle,
            None => self.open(engine, session).await?,
        };
        match call.begin(&handle).await {
            // The task of a held session may have failed long before this call. Another task reads
            // the session again, and a call that was recorded is found by its key.
            Err(Error::Stopped { .. } | Error::ShutDown) if was_held => {
                self.forget(session);
                let handle = self.open(engine, session).await?;
                call.begin(&handle).await
            }
            begun => begun,
        }
    }

    async fn open(&self, engine: &Engine, session: SessionId) -> Result<LiveHandle, Error> {
        let handle = engine.reopen(session).await?.releasing();
        let state = handle.session().await?;
        // With a model or after its end, the session is not the caller's alone.
        if state.connection.is_none() && !state.closed {
            self.hold(handle.clone());
        }
        Ok(handle)
    }

    fn get(&self, session: SessionId) -> Option<LiveHandle> {
        let mut held = self.table();
        let at = held.iter().position(|it| it.session_id() == session)?;
        let used = held.remove(at)?;
        let handle = used.handle.clone();
        held.push_back(used);
        Some(handle)
    }

    fn table(&self) -> MutexGuard<'_, VecDeque<Held>> {
        locked(&self.held)
    }
}

fn locked(table: &Table) -> MutexGuard<'_, VecDeque<Held>> {
    // Each change is one step, so a panic elsewhere leaves a whole table.
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Drops the handle of a session that is closed: its task ends then, and the process owns it no
/// longer.
async fn forget_once_closed(
    held: Weak<Table>,
    session: SessionId,
    ended: impl Future<Output = ()>,
) {
    ended.await;
    if let Some(held) = held.upgrade() {
        locked(&held).retain(|it| it.session_id() != session);
    }
}

impl NewCall {
    async fn begin(&self, handle: &LiveHandle) -> Result<BegunCall, Error> {
        let (args, by) = (self.args.clone(), self.by.clone());
        handle.begin_call(&self.tool, args, &self.key, by).await
    }
}

#[cfg(test)]
mod tests {
    use recount::engine::Operation;
    use recount::prelude::Agent;

    use super::*;

    #[tokio::test]
    async fn session_of_the_oldest_use_gives_way() {
        let engine = Engine::in_memory().agent("a", Agent::new());
        let engine = engine.open().await.unwrap();
        let (held, mut ids) = (HeldSessions::default(), Vec::new());
        for _ in 0..HELD_MAX {
            let handle = engine.session("a").open().await.unwrap();
            ids.push(handle.session_id());
            held.hold(handle);
        }
        // The oldest one is used again, and another one is held a second time.
        assert!(held.get(ids[0]).is_some());
        let twice = held.get(ids[1]).unwrap();
        held.hold(twice);
        assert_eq!(held.table().len(), HELD_MAX);
        held.hold(engine.session("a").open().await.unwrap());
        assert_eq!(held.table().len(), HELD_MAX);
        assert!(held.get(ids[0]).is_some() && held.get(ids[1]).is_some());
        assert!(held.get(ids[2]).is_none());
        held.forget(ids[0]);
        assert!(held.get(ids[0]).is_none());
    }

    #[tokio::test]
    async fn session_that_another_request_closes_is_held_no_longer() {
        let engine = Engine::in_memory().agent("a", Agent::new());
        let engine = engine.open().await.unwrap();
        let held = HeldSessions::default();
        let handle = engine.session("a").open().await.unwrap();
        let session = handle.session_id();
        held.hold(handle);
        let close = Operation::Close {
            session,
            reason: "done".to_owned(),
        };
        let by = Actor::embedder("test");
        engine.operate(close, by).await.unwrap();
        while held.get(session).is_some() {
            tokio::task::yield_now().await;
        }
    }
}
