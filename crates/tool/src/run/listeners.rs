//! Closures that hear the events of tools, by type.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use recount_session::{Event, Fact, Observation, Seq, SessionId};

use crate::run::tool_event::ToolEvent;

/// An event of a tool as a closure hears it: on record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Emitted<E> {
    /// The session in which it was emitted.
    pub session: SessionId,
    /// The call whose tool emitted it.
    pub call: Seq,
    /// Its record.
    pub seq: Seq,
    /// What was emitted.
    pub event: E,
}

/// A closure that hears events; it hears none any more once this is dropped.
#[must_use = "dropping it unsubscribes"]
pub struct Subscription {
    alive: Arc<()>,
    /// Takes the closure off its list.
    leave: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // Before the closure leaves the list, so that what waits for it already is not told it,
        // either.
        self.alive = Arc::default();
        if let Some(leave) = self.leave.take() {
            leave();
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

/// Those who hear the events of a name, in the order in which they came.
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
    /// Adds one, as long as what it returns is there; `alive` goes with that.
    #[doc(hidden)]
    pub fn add(self: &Arc<Self>, name: &'static str, hears: H, alive: Arc<()>) -> Subscription {
        let mut listeners = self.lock();
        let number = listeners.next;
        listeners.next += 1;
        listeners.all.insert(number, (name, hears));
        let list = Arc::downgrade(self);
        let leave = move || {
            // What is dropped may be a closure of the program, which must not run under the lock.
            let left = list.upgrade().and_then(|it| it.lock().all.remove(&number));
            drop(left);
        };
        Subscription {
            alive,
            leave: Some(Box::new(leave)),
        }
    }

    /// Those who hear events of this name.
    #[doc(hidden)]
    pub fn of(&self, name: &str) -> Vec<H> {
        let listeners = self.lock();
        let named = listeners.all.values().filter(|(it, _)| *it == name);
        named.map(|(_, hears)| hears.clone()).collect()
    }

    /// All of them.
    #[doc(hidden)]
    pub fn all(&self) -> Vec<H> {
        let listeners = self.lock();
        listeners.all.values().map(|(_, it)| it.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, ByNumber<H>> {
        // The map is whole between any two statements, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has a closure hear what is on record there; whatever becomes of that is logged, and stays here.
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
    // The type's own reading is the program's code, too.
    let heard = AssertUnwindSafe(|| match E::read(&fact.event) {
        None => None,
        Some(Err(error)) => Some(format!("it is not of the form that is expected: {error}")),
        Some(Ok(event)) => {
            let emitted = Emitted {
                session,
                call,
                seq,
                event,
            };
            let heard = listener(&emitted);
            heard.err().map(|problem| problem.to_string())
        }
    });
    match catch_unwind(heard) {
        Ok(None) => {}
        Ok(Some(problem)) => {
            tracing::warn!(target: "recount::tool::listeners", %session, %seq, name, %problem, "a listener failed over an event");
        }
        Err(_) => {
            tracing::error!(target: "recount::tool::listeners", %session, %seq, name, "a listener panicked over an event");
        }
    }
}
