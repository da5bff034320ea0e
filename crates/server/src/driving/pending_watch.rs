//! The sessions in which what waits for an answer has changed.
//!
//! One task compares for all streams, a few times a second. A stream that compared by itself would
//! cost as much again for each open tab.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use recount::ledger::Ledger;
use recount::session::{OpenKind, RequestId, Seq, SessionId};
use recount_journal::Error;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The shortest time between two comparisons: four a second.
const EVERY: Duration = Duration::from_millis(250);

/// The number of open items in one read of the index.
const READ: usize = 128;

/// The number of changes that a slow stream can be behind. Then every session counts as changed.
const RECENT_MAX: usize = 64;

/// The watch over what waits. Clones share it.
#[derive(Clone)]
pub(crate) struct PendingWatch {
    ledger: Ledger,
    shared: Arc<Shared>,
}

struct Shared {
    changes: watch::Sender<Changes>,
    /// True while the task runs.
    is_running: Mutex<bool>,
}

/// The changes so far.
#[derive(Default)]
struct Changes {
    /// The number of the last change.
    last: u64,
    /// The sessions of the last changes, the newest last.
    recent: VecDeque<BTreeSet<SessionId>>,
}

/// The changes from a moment on, for one stream.
pub(crate) struct PendingChanges {
    watch: PendingWatch,
    receiver: watch::Receiver<Changes>,
    /// The number of the last change that the stream has.
    seen: u64,
}

/// The sessions of some changes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    Sessions(BTreeSet<SessionId>),
    /// More changes than are kept.
    Any,
}

/// An open item, and the number of records of its session, among them approvals of a quorum.
type Open = BTreeMap<(SessionId, Seq, Option<RequestId>, u32), u64>;

impl PendingWatch {
    pub(crate) fn new(ledger: Ledger) -> PendingWatch {
        PendingWatch {
            ledger,
            shared: Arc::new(Shared {
                changes: watch::Sender::default(),
                is_running: Mutex::default(),
            }),
        }
    }

    /// The changes from now on.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub(crate) async fn subscribe(&self) -> Result<PendingChanges, Error> {
        let receiver = self.shared.changes.subscribe();
        let seen = receiver.borrow().last;
        let changes = PendingChanges {
            watch: self.clone(),
            receiver,
            seen,
        };
        changes.keep_running().await?;
        Ok(changes)
    }

    /// Starts the task, unless it runs.
    async fn start(&self) -> Result<(), Error> {
        if *self.shared.running() {
            return Ok(());
        }
        // Both before the task is visible, so that its first comparison misses nothing.
        let position = self.ledger.journal().position().await?;
        let open = open(&self.ledger).await?;
        let mut running = self.shared.running();
        if !*running {
            *running = true;
            let watch = self.clone();
            tokio::spawn(async move {
                if let Err(error) = watch.compare(position, open).await {
                    tracing::debug!(%error, "what waits is not compared any more");
                }
                *watch.shared.running() = false;
                // A stream that subscribed meanwhile starts the task again.
                watch.shared.changes.send_modify(|_| ());
            });
        }
        Ok(())
    }

    /// Compares what waits after each commit, until no stream is left.
    async fn compare(&self, mut position: u64, mut known: Open) -> Result<(), Error> {
        let changes = &self.shared.changes;
        loop {
            tokio::select! {
                biased;
                () = changes.closed() => return Ok(()),
                commit = self.ledger.journal().follow(position) => drop(commit?),
            }
            let due = Instant::now() + EVERY;
            position = self.ledger.journal().position().await?;
            let found = open(&self.ledger).await?;
            let sessions = difference(&known, &found);
            known = found;
            if !sessions.is_empty() {
                changes.send_modify(|it| it.put(sessions));
            }
            sleep_until(due).await;
        }
    }
}

impl Shared {
    fn running(&self) -> std::sync::MutexGuard<'_, bool> {
        self.is_running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingChanges {
    /// Waits for changes that the stream does not have. A dropped wait loses none.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub(crate) async fn next(&mut self) -> Result<Changed, Error> {
        loop {
            {
                let changes = self.receiver.borrow_and_update();
                if changes.last > self.seen {
                    let changed = changes.after(self.seen);
                    self.seen = changes.last;
                    return Ok(changed);
                }
            }
            self.keep_running().await?;
            // The sender lives as long as the watch, which this stream has.
            let _ = self.receiver.changed().await;
        }
    }

    async fn keep_running(&self) -> Result<(), Error> {
        self.watch.start().await
    }
}

impl Changes {
    fn put(&mut self, sessions: BTreeSet<SessionId>) {
        self.last += 1;
        self.recent.push_back(sessions);
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
    }

    fn after(&self, seen: u64) -> Changed {
        let missed = usize::try_from(self.last - seen).unwrap_or(usize::MAX);
        if missed > self.recent.len() {
            return Changed::Any;
        }
        let newest = self.recent.iter().rev().take(missed);
        Changed::Sessions(newest.flatten().copied().collect())
    }
}

/// Reads what waits.
async fn open(ledger: &Ledger) -> Result<Open, Error> {
    let journal = ledger.journal();
    let kinds = [OpenKind::Confirmation, OpenKind::Paused].map(OpenKind::as_str);
    let (mut open, mut place) = (Open::new(), None);
    let mut head = None;
    loop {
        let page = journal.open_work_of_kinds(&kinds, place, READ).await?;
        let Some(last) = page.last() else {
            return Ok(open);
        };
        place = Some((last.session, last.item));
        for item in page {
            let session = SessionId(item.session);
            let seq = match head {
                Some((of, seq)) if of == session => seq,
                _ => journal.head(item.session).await?.map_or(0, |it| it.seq),
            };
            head = Some((session, seq));
            let request = item.request.map(RequestId);
            open.insert((session, Seq(item.item), request, item.flags), seq);
        }
        tokio::task::yield_now().await;
    }
}

/// Returns the sessions whose items are not the same.
fn difference(before: &Open, after: &Open) -> BTreeSet<SessionId> {
    let missing = |of: &Open, other: &Open| -> Vec<SessionId> {
        let differing = of.iter().filter(|(key, head)| other.get(key) != Some(head));
        differing.map(|(key, _)| key.0).collect()
    };
    let gone = missing(before, after);
    gone.into_iter().chain(missing(after, before)).collect()
}

#[cfg(test)]
mod tests {
    use recount::engine::{Clock, SystemClock};
    use recount::prelude::{Actor, Agent, Engine, LiveHandle, T, json};
    use recount::session::Json;

    use super::*;

    async fn engine() -> Engine {
        let pay = T::simple("pay", "Pays", |_| async { Ok(json!({})) });
        let look_up = T::simple("look_up", "Looks up", |_| async { Ok(json!({})) });
        let agent = Agent::new().model("none").strict();
        let agent = agent.tools(T::confirm(pay, "Pay?")).tools(look_up);
        let engine = Engine::in_memory().agent("desk", agent);
        engine.open().await.unwrap()
    }

    async fn ask(session: &LiveHandle, key: &str) {
        let by = Actor::embedder("pipeline");
        let begun = session.begin_call("pay", Json::empty_object(), key, by);
        begun.await.unwrap();
    }

    #[tokio::test]
    async fn sessions_that_ask_are_changed_and_others_are_not() {
        let engine = engine().await;
        let watch = PendingWatch::new(engine.ledger().clone());
        let mut changes = watch.subscribe().await.unwrap();
        let (one, other) = (
            engine.session("desk").open().await.unwrap(),
            engine.session("desk").open().await.unwrap(),
        );
        let by = Actor::embedder("pipeline");
        other.call_function("look_up", json!({}), by).await.unwrap();
        ask(&one, "once").await;
        let expected = Changed::Sessions([one.session_id()].into());
        assert_eq!(changes.next().await.unwrap(), expected);
    }

    #[tokio::test]
    async fn task_ends_with_the_last_stream_and_starts_again() {
        let engine = engine().await;
        let watch = PendingWatch::new(engine.ledger().clone());
        let session = engine.session("desk").open().await.unwrap();
        drop(watch.subscribe().await.unwrap());
        while *watch.shared.running() {
            tokio::task::yield_now().await;
        }
        let mut changes = watch.subscribe().await.unwrap();
        ask(&session, "again").await;
        let expected = Changed::Sessions([session.session_id()].into());
        assert_eq!(changes.next().await.unwrap(), expected);
    }

    #[test]
    fn stream_that_is_far_behind_takes_every_session_as_changed() {
        let mut changes = Changes::default();
        let ids: Vec<SessionId> = (0..70).map(|_| SystemClock.new_session()).collect();
        for id in &ids {
            changes.put([*id].into());
        }
        assert_eq!(changes.after(5), Changed::Any);
        let expected = Changed::Sessions([ids[68], ids[69]].into());
        assert_eq!(changes.after(68), expected);
    }
}
