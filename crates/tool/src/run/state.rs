//! The state of a session, as tools and hooks access it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use recount_session::{Condition, Json, Scope, StateChange, recorded_key};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::state_watch::{Watch, Watched, Watchers};

/// The shared state of a session's tools, hooks and phases.
///
/// A tool sees the state at its start and its own writes. Its writes are recorded with its result,
/// as one change; a failed run keeps none. If two concurrent tools write one key, the tool that
/// returns last wins, also in a replay. Writes after the tool has returned are ignored. The prefix
/// of a key determines the lifetime of its value: [`Scope`].
///
/// ```
/// use recount_tool::State;
///
/// let state = State::default();
/// state.set("identity_verified", true);
/// state.set("user:name", "Ada");
/// assert_eq!(state.get::<bool>("identity_verified"), Some(true));
/// assert_eq!(state.get::<String>("user:name").as_deref(), Some("Ada"));
/// assert_eq!(state.get::<u32>("absent"), None);
/// ```
#[derive(Clone, Default)]
pub struct State(Arc<Shared>);

/// The data shared by all copies of a state.
#[derive(Default)]
struct Shared {
    seen: Arc<BTreeMap<String, Json>>,
    written: Mutex<Written>,
    temporary: Temporary,
    /// Weak, so that a kept state does not keep the watches of an unserved session open.
    watchers: Weak<Watchers>,
}

/// The `temp:` values of a session, which live while this process serves the session.
#[doc(hidden)]
pub type Temporary = Arc<Mutex<BTreeMap<String, Json>>>;

#[derive(Default)]
struct Written {
    changes: Vec<StateChange>,
    problem: Option<String>,
}

impl State {
    /// Creates the current state of a session, without writes.
    #[doc(hidden)]
    pub fn of(
        seen: Arc<BTreeMap<String, Json>>,
        temporary: Temporary,
        watchers: Arc<Watchers>,
    ) -> State {
        State(Arc::new(Shared {
            seen,
            written: Mutex::default(),
            temporary,
            watchers: Arc::downgrade(&watchers),
        }))
    }

    /// Returns the value of a key, if it exists and has this type.
    #[must_use]
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.get_json(key)?.as_str()).ok()
    }

    /// Returns the value of a key as its exact text.
    #[must_use]
    pub fn get_json(&self, key: &str) -> Option<Json> {
        let (scope, key) = Scope::of(key);
        match scope {
            Scope::Temp => {
                let temporary = self
                    .0
                    .temporary
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                temporary.get(key).cloned()
            }
            Scope::Session | Scope::Turn | Scope::User => {
                let written = self
                    .0
                    .written
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                let own = written.changes.iter().rev().find(|it| it.key == key);
                let value = own.map(|it| &it.value).or_else(|| self.0.seen.get(key));
                value.filter(|it| it.as_str() != "null").cloned()
            }
        }
    }

    /// True if a key has a value.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.get_json(key).is_some()
    }

    /// True if a condition holds.
    ///
    /// ```
    /// use recount_session::S;
    /// use recount_tool::State;
    ///
    /// let state = State::default();
    /// state.set("plan", "monthly");
    /// assert!(state.satisfies(&S::equals("plan", "monthly")));
    /// ```
    #[must_use]
    pub fn satisfies(&self, condition: &Condition) -> bool {
        let keys = condition.keys().into_iter();
        let read: BTreeMap<&str, Json> = keys
            .filter_map(|key| Some((key, self.get_json(key)?)))
            .collect();
        condition.holds(&|key| read.get(key))
    }

    /// Writes a value; `null` removes the key.
    ///
    /// A key or value that cannot be recorded makes the run fail with the reason, and the run keeps
    /// none of its writes.
    pub fn set(&self, key: &str, value: impl Serialize) {
        match serde_json::to_string(&value) {
            Ok(text) => self.set_text(key, &text),
            Err(error) => self.refuse(format!("the value of {key:?} is not JSON: {error}")),
        }
    }

    /// Removes a key.
    pub fn remove(&self, key: &str) {
        self.set(key, ());
    }

    /// Watches later changes of a key, or a [condition](Condition) that begins to hold, in the
    /// order of their records. A `temp:` key is not recorded, so its changes are not reported.
    ///
    /// ```
    /// # async fn example(state: recount_tool::State) {
    /// use recount_session::S;
    ///
    /// let mut verified = state.watch(S::is_true("identity_verified"));
    /// let change = verified.next().await;
    /// # }
    /// ```
    #[must_use]
    pub fn watch(&self, watched: impl Into<Watched>) -> Watch {
        let watchers = self.0.watchers.upgrade().unwrap_or_default();
        watchers.watch(watched.into())
    }

    /// Copies the state for a later reader: the copy sees the writes so far, and keeps its own
    /// writes.
    #[doc(hidden)]
    pub fn over(&self) -> State {
        let mut seen = BTreeMap::clone(&self.0.seen);
        let written = self
            .0
            .written
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let changes = written.changes.iter();
        seen.extend(changes.map(|it| (it.key.clone(), it.value.clone())));
        drop(written);
        State(Arc::new(Shared {
            seen: Arc::new(seen),
            written: Mutex::default(),
            temporary: self.0.temporary.clone(),
            watchers: self.0.watchers.clone(),
        }))
    }

    /// Copies the state, with the values of `base` for missing keys.
    #[doc(hidden)]
    pub fn above(&self, base: &State) -> State {
        let mut seen = BTreeMap::clone(&base.over().0.seen);
        let own = self.over();
        let values = own.0.seen.iter();
        seen.extend(values.map(|(key, value)| (key.clone(), value.clone())));
        State(Arc::new(Shared {
            seen: Arc::new(seen),
            written: Mutex::default(),
            temporary: self.0.temporary.clone(),
            watchers: self.0.watchers.clone(),
        }))
    }

    /// Returns the writes to record as one change, or the reason why they cannot be recorded.
    #[doc(hidden)]
    pub fn take_changes(&self) -> Result<Vec<StateChange>, String> {
        let mut written = self
            .0
            .written
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Written { changes, problem } = std::mem::take(&mut *written);
        match problem {
            Some(problem) => Err(problem),
            None => Ok(changes),
        }
    }

    fn set_text(&self, key: &str, text: &str) {
        let value = match Json::parse(text) {
            Ok(value) => value,
            Err(problem) => return self.refuse(format!("the value of {key:?} is {problem}")),
        };
        if let (Scope::Temp, key) = Scope::of(key) {
            let mut temporary = self
                .0
                .temporary
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            temporary.insert(key.to_owned(), value);
            return;
        }
        match recorded_key(key) {
            Ok(key) => {
                let mut written = self
                    .0
                    .written
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                let key = key.to_owned();
                written.changes.retain(|change| change.key != key);
                written.changes.push(StateChange { key, value });
            }
            Err(problem) => self.refuse(problem.to_string()),
        }
    }

    fn refuse(&self, problem: String) {
        let mut written = self
            .0
            .written
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        written.problem.get_or_insert(problem);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("keys", &self.0.seen.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_hide_old_values_and_are_one_change() {
        let seen = BTreeMap::from([("a".to_owned(), Json::of(&1.into()))]);
        let state = State::of(Arc::new(seen), Temporary::default(), Arc::default());
        assert_eq!(state.get::<u8>("a"), Some(1));
        state.set("session:a", 2);
        state.set("a", 3);
        state.set("temp:b", 4);
        assert_eq!(state.get::<u8>("session:a"), Some(3));
        assert_eq!(state.get::<u8>("temp:b"), Some(4));
        state.remove("c");
        let change = |key: &str, value: &str| StateChange {
            key: key.to_owned(),
            value: Json::of(&serde_json::from_str(value).unwrap_or_default()),
        };
        assert_eq!(
            state.take_changes(),
            Ok(vec![change("a", "3"), change("c", "null")])
        );
        assert_eq!(state.take_changes(), Ok(Vec::new()));
    }

    #[test]
    fn a_key_that_was_removed_has_no_value() {
        let seen = BTreeMap::from([("a".to_owned(), Json::of(&1.into()))]);
        let state = State::of(Arc::new(seen), Temporary::default(), Arc::default());
        state.remove("a");
        assert!(!state.contains("a"));
    }

    #[test]
    fn unrecordable_write_discards_all_writes() {
        let state = State::default();
        state.set("a", 1);
        state.set("", 2);
        assert_eq!(
            state.take_changes(),
            Err("a key of the state must not be empty".to_owned())
        );
        assert_eq!(state.take_changes(), Ok(Vec::new()));
    }

    #[test]
    fn digits_are_kept() {
        let state = State::default();
        state.set("n", u128::MAX);
        assert_eq!(state.get::<u128>("n"), Some(u128::MAX));
    }
}
