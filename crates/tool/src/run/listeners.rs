//! Callbacks for events of tools, by event type.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use recount_session::{Event, Fact, Observation, Seq, SessionId};

use crate::run::tool_event::ToolEvent;

/// A recorded event of a tool, as a callback receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Emitted<E> {
    /// The session of the event.
    pub session: SessionId,
    /// The call whose tool emitted the event.
    pub call: Seq,
    /// The sequence number of the event's record.
    pub seq: Seq,
    /// The event itself.
    pub event: E,
}

/// The registration of a callback, which ends when this is dropped.
#[must_use = "dropping it unsubscribes"]
pub struct Subscription {
    alive: Arc<()>,
    /// Removes the callback from its list.
    unsubscribe: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // Before the callback leaves the list, so that events which already wait for it are dropped
        // too.
        self.alive = Arc::default();
        if let Some(unsubscribe) = self.unsubscribe.take() {
            unsubscribe();
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

/// The callbacks for events by name, in the order of registration.
#[doc(hidden)]
pub struct Listeners<H>(Mutex<ByNumber<H>>);

struct ByNumber<H> {
    next: u64,
    all: BTreeMap<u64, (&'static str, H)>,
}

impl<H> Default for Listeners<H> {
    fn default() -> Self {
        let all = BTreeMap::new();
        Listeners(Mutex::new(ByNumber { next: 0, all }))
    }
}

impl<H: Clone + Send + 'static> Listeners<H> {
    /// Adds a callback until the returned subscription is dropped, and `alive` with it.
    #[doc(hidden)]
    pub fn add(self: &Arc<Self>, name: &'static str, hears: H, alive: Arc<()>) -> Subscription {
        let mut listeners = self.lock();
        let number = listeners.next;
        listeners.next += 1;
        listeners.all.insert(number, (name, hears));
        let list = Arc::downgrade(self);
        let unsubscribe = move || {
            // Removing drops a closure of the program, whose drop code must not run under the lock.
            let left = list.upgrade().and_then(|it| it.lock().all.remove(&number));
            drop(left);
        };
        Subscription {
            alive,
            unsubscribe: Some(Box::new(unsubscribe)),
        }
    }

    /// Returns the callbacks for events of this name.
    #[doc(hidden)]
    pub fn of(&self, name: &str) -> Vec<H> {
        let listeners = self.lock();
        let named = listeners.all.values().filter(|(it, _)| *it == name);
        named.map(|(_, callback)| callback.clone()).collect()
    }

    /// Returns all callbacks.
    #[doc(hidden)]
    pub fn all(&self) -> Vec<H> {
        let listeners = self.lock();
        listeners.all.values().map(|(_, it)| it.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, ByNumber<H>> {
        // The map is consistent after every statement, so a panic under the lock does not corrupt
        // it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls a callback with a recorded event. Errors and panics of the callback are logged and not
/// returned.
#[doc(hidden)]
pub fn hear<E: ToolEvent, P: fmt::Display>(
    session: SessionId,
    fact: &Fact,
    listener: &impl Fn(&Emitted<E>) -> Result<(), P>,
) {
    let Event::Observed(Observation::ToolEventEmitted(recorded)) = &fact.event else {
        return;
    };
    let (name, seq, call) = (E::NAME, fact.seq, recorded.call);
    // The type's deserializer is code of the program, too, so it runs inside.
    let outcome = AssertUnwindSafe(|| match E::read(&fact.event) {
        None => None,
        Some(Err(error)) => Some(format!("it is not of the form that is expected: {error}")),
        Some(Ok(event)) => {
            let emitted = Emitted {
                session,
                call,
                seq,
                event,
            };
            let outcome = listener(&emitted);
            outcome.err().map(|problem| problem.to_string())
        }
    });
    match catch_unwind(outcome) {
        Ok(None) => {}
        Ok(Some(problem)) => {
            tracing::warn!(target: "recount::tool::listeners", %session, %seq, name, %problem, "a listener failed over an event");
        }
        Err(_) => {
            tracing::error!(target: "recount::tool::listeners", %session, %seq, name, "a listener panicked over an event");
        }
    }
}
