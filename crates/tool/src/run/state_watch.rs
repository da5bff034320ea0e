//! Watches for changes of the state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use recount_session::{Condition, Json, Scope, Seq};
use tokio::sync::mpsc;

/// The subject of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum Watched {
    /// The value of a key.
    Key(String),
    /// A condition; a change that makes it hold is reported.
    Condition(Condition),
}

impl From<&str> for Watched {
    fn from(key: &str) -> Watched {
        Watched::Key(Scope::of(key).1.to_owned())
    }
}

impl From<String> for Watched {
    fn from(key: String) -> Watched {
        Watched::from(key.as_str())
    }
}

impl From<Condition> for Watched {
    fn from(condition: Condition) -> Watched {
        Watched::Condition(condition)
    }
}

/// A change that a watch reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedChange {
    /// The sequence number of the record: `state_changed`, or the `turn_completed` that ended the
    /// life of a `turn:` value.
    pub at: Seq,
    /// The watched key and its new value, without a value after its removal. `None` for a watched
    /// condition.
    pub key: Option<(String, Option<Json>)>,
}

/// A stream of changes, as they are recorded.
#[derive(Debug)]
pub struct Watch {
    changes: mpsc::UnboundedReceiver<WatchedChange>,
}

impl Watch {
    /// Returns the next change; `None` once the session is no longer served.
    pub async fn next(&mut self) -> Option<WatchedChange> {
        self.changes.recv().await
    }
}

/// All watches of a session's state.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Watchers {
    all: Mutex<Vec<Watcher>>,
}

#[derive(Debug)]
struct Watcher {
    watched: Watched,
    changes: mpsc::UnboundedSender<WatchedChange>,
}

type Values = Arc<BTreeMap<String, Json>>;

impl Watchers {
    pub(crate) fn watch(&self, watched: Watched) -> Watch {
        let (changes, receiver) = mpsc::unbounded_channel();
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Watcher { watched, changes });
        Watch { changes: receiver }
    }

    /// Reports the changes by the record `at` to all watches.
    #[doc(hidden)]
    pub fn notify(&self, at: Seq, before: &Values, after: &Values) {
        if Arc::ptr_eq(before, after) {
            return;
        }
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|watcher| {
            let change = watcher.watched.changed(at, before, after);
            match change {
                Some(change) => watcher.changes.send(change).is_ok(),
                None => !watcher.changes.is_closed(),
            }
        });
    }
}

impl Watched {
    fn changed(&self, at: Seq, before: &Values, after: &Values) -> Option<WatchedChange> {
        match self {
            Watched::Key(key) => {
                let now = after.get(key);
                let key = Some((key.clone(), now.cloned()));
                (before.get(key.as_ref()?.0.as_str()) != now).then_some(WatchedChange { at, key })
            }
            Watched::Condition(condition) => {
                let holds = |values: &Values| condition.holds(&|key| values.get(Scope::of(key).1));
                (!holds(before) && holds(after)).then_some(WatchedChange { at, key: None })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recount_session::S;

    fn values(pairs: &[(&str, i64)]) -> Values {
        let pairs = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Json::of(&(*value).into())));
        Arc::new(pairs.collect())
    }

    #[test]
    fn watch_reports_only_its_key_in_order() {
        let watchers = Watchers::default();
        let mut watch = watchers.watch("session:a".into());
        let steps = [
            &[][..],
            &[("a", 1)],
            &[("a", 1), ("b", 2)],
            &[("a", 3)],
            &[],
        ]
        .map(values);
        for (index, pair) in steps.windows(2).enumerate() {
            if let [before, after] = pair {
                watchers.notify(Seq(index as u64), before, after);
            }
        }
        let mut reported = Vec::new();
        while let Ok(change) = watch.changes.try_recv() {
            reported.push((change.at.0, change.key.and_then(|(_, value)| value)));
        }
        let value = |n: i64| Some(Json::of(&n.into()));
        assert_eq!(reported, [(0, value(1)), (2, value(3)), (3, None)]);
    }

    #[tokio::test]
    async fn watch_ends_when_the_session_is_not_served() {
        use crate::run::state::State;
        use crate::run::state::Temporary;

        let watchers: Arc<Watchers> = Arc::default();
        let state = State::of(Arc::default(), Temporary::default(), watchers.clone());
        let mut watch = state.watch("a".to_owned());
        watchers.notify(Seq(1), &values(&[]), &values(&[("a", 1)]));
        drop(watchers);
        assert_eq!(watch.next().await.map(|it| it.at), Some(Seq(1)));
        assert_eq!(watch.next().await, None);
        assert_eq!(state.watch("a").next().await, None);
    }

    #[test]
    fn condition_is_reported_when_it_begins_to_hold() {
        let watchers = Watchers::default();
        let mut watch = watchers.watch(S::equals("a", 1).into());
        let steps = [&[][..], &[("a", 2)], &[("a", 1)], &[("a", 1), ("b", 1)]].map(values);
        for (index, pair) in steps.windows(2).enumerate() {
            if let [before, after] = pair {
                watchers.notify(Seq(index as u64), before, after);
            }
        }
        assert_eq!(watch.changes.try_recv().map(|it| it.at), Ok(Seq(1)));
        assert!(watch.changes.try_recv().is_err());
    }
}
