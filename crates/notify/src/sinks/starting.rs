//! The start of a sink's task: from its file, and from the requests that wait already.

use std::collections::BTreeSet;
use std::sync::Arc;

use recount::engine::Clock;
use recount::ledger::{Error, Ledger, PendingConfirmation};
use recount::session::{Seq, SessionId, Timestamp};
use recount_journal::FollowPlace;
use tokio::sync::{mpsc, watch};

use super::digests::Daily;
use super::letters::Command;
use super::outbox::Outbox;
use super::reading::readable;
use super::state::{State, StateFile, UnusableFile};
use super::status::Board;
use super::task::SinkTask;
use super::timers::Timers;
use crate::message::Links;
use crate::routing::{Dues, Names, Plan};
use crate::sending::{Sender, Sink};
use crate::values::Occasion;

/// The parts of a task that its notifier has.
pub(crate) struct Given {
    pub(crate) ledger: Ledger,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) links: Links,
    pub(crate) board: Arc<Board>,
    pub(crate) letters: watch::Sender<u64>,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) stop: watch::Receiver<bool>,
}

/// The reason why a task does not start, and the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotStarted {
    #[error(transparent)]
    File(#[from] UnusableFile),
    #[error("the place of the sink cannot be read: {0}")]
    Ledger(#[from] Error),
}

impl From<recount_journal::Error> for NotStarted {
    fn from(error: recount_journal::Error) -> NotStarted {
        NotStarted::Ledger(error.into())
    }
}

/// The requests that wait in sessions that can be read.
///
/// # Errors
/// The error of the journal itself.
pub(super) async fn pending(ledger: &Ledger) -> Result<Vec<PendingConfirmation>, Error> {
    let none = SessionId(uuid::Uuid::nil());
    Ok(readable(none, ledger.pending().await)?.unwrap_or_default())
}

/// The names of a request in a listing. Those of a sealed one are not known.
pub(super) fn names_of_pending(pending: PendingConfirmation) -> Names {
    Names {
        tool: Some(pending.tool).filter(|_| !pending.sealed),
        agent: Some(pending.agent).filter(|_| !pending.sealed),
        labels: pending.labels,
    }
}

impl SinkTask {
    /// Prepares the task. A new sink starts at the end of the journal.
    ///
    /// # Errors
    /// The error of the file, or that of the journal.
    pub(crate) async fn new(
        sink: Sink,
        plan: Plan,
        sender: Arc<Sender>,
        file: StateFile,
        given: Given,
    ) -> Result<SinkTask, NotStarted> {
        let journal = given.ledger.journal().as_ref();
        let mut state = match file.read()? {
            Some(state) if state.place.is_in(journal).await? => state,
            Some(state) => {
                let path = file.path().display();
                tracing::warn!(%path, "the journal has another history: its end is the start");
                let place = FollowPlace::at_end(journal).await?;
                let watched = Some(Vec::new());
                State {
                    place,
                    watched,
                    ..state
                }
            }
            None => State::at(FollowPlace::at_end(journal).await?),
        };
        let now = given.clock.now();
        let daily = sink.digest.map(|time| Daily {
            time,
            zone: sink.zone.clone(),
        });
        let last = state.last_digest.as_ref().and_then(|it| it.parse().ok());
        let daily = daily.map(|it| {
            let last = it.last(last, now);
            (it, last)
        });
        state.last_digest = daily.as_ref().map(|(_, last)| last.to_string());
        let mut task = SinkTask {
            outbox: Outbox::new(sink.patience, std::mem::take(&mut state.queue)),
            timers: Timers::new(given.clock.clone()),
            sink,
            plan,
            sender,
            file,
            state,
            daily,
            ledger: given.ledger,
            clock: given.clock,
            links: given.links,
            board: given.board,
            letters: given.letters,
            commands: given.commands,
            stop: given.stop,
            save_at: None,
        };
        task.find_waiting().await?;
        let (name, stop) = (&task.sink.name, task.stop.clone());
        task.ledger = task
            .ledger
            .through_outages(format!("the sink {name}"), stop);
        // The place should be durable before a message that would have to be sent again.
        task.save().await;
        task.publish();
        Ok(task)
    }

    /// Adds the requests that wait already, so that they are sent again when they are due.
    async fn find_waiting(&mut self) -> Result<(), Error> {
        let mut waiting = BTreeSet::new();
        if self.plan.has_timers() {
            for it in pending(&self.ledger).await? {
                waiting.insert((it.session, it.request));
                let (request, call) = ((it.session, it.request), it.call);
                let (asked, expires) = (it.requested_at, it.expires_at);
                let names = names_of_pending(it);
                let dues = self.plan.dues(&names, asked, expires);
                self.pass_over_old(request, &names, dues);
                self.add_timers(request, call, &names, asked, expires);
            }
        }
        let known = |it: &(SessionId, Seq, Occasion)| waiting.contains(&(it.0, it.1));
        self.state.repeated.retain(known);
        self.state.watched = Some(self.plan.watched());
        Ok(())
    }

    /// Notes the reminders and escalations of a request that were due before the sink watched it.
    /// They are not sent: a new sink, or a new route, must not send one for each old request.
    fn pass_over_old(&mut self, request: (SessionId, Seq), names: &Names, dues: Dues) {
        let Some(watched) = &self.state.watched else {
            return;
        };
        let now = self.clock.now();
        let both = [
            (Occasion::Reminder, dues.reminder),
            (Occasion::Escalated, dues.escalation),
        ];
        for (occasion, due) in both {
            let is_due = due.is_some_and(|it| it <= now);
            if is_due && !watched.iter().any(|it| it.covers(occasion, names)) {
                self.state.repeated.insert((request.0, request.1, occasion));
            }
        }
    }

    pub(super) fn add_timers(
        &mut self,
        (session, request): (SessionId, Seq),
        call: Seq,
        names: &Names,
        asked: Timestamp,
        expires: Option<Timestamp>,
    ) {
        let mut dues = self.plan.dues(names, asked, expires);
        let is_done = |occasion| self.state.repeated.contains(&(session, request, occasion));
        dues.reminder = dues.reminder.filter(|_| !is_done(Occasion::Reminder));
        dues.escalation = dues.escalation.filter(|_| !is_done(Occasion::Escalated));
        self.timers.add((session, request), call, asked, dues);
    }
}

#[cfg(test)]
mod tests {
    use recount::journal::seal::MemoryKeyStore;
    use recount::prelude::{Actor, Agent, Engine, T, json};

    use super::*;

    /// The names of a request in a sealed session, over this ledger of its journal.
    async fn names(over: impl FnOnce(&Ledger) -> Ledger) -> Names {
        let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
        let agent = Agent::new().model("none").strict().sealed();
        let agent = agent.tools(T::confirm(pay, "Pay?"));
        let engine = Engine::in_memory().keys(Arc::new(MemoryKeyStore::default()));
        let engine = engine.agent("shop", agent).open().await.unwrap();
        let handle = engine.session("shop").open().await.unwrap();
        let mut updates = handle.subscribe();
        tokio::spawn(async move {
            let by = Actor::embedder("pipeline");
            // It waits for the approval.
            let _ = handle.call_function("pay", json!({}), by).await;
        });
        let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
        assert!(asked.await.is_some(), "nothing was asked");
        let mut pending = pending(&over(engine.ledger())).await.unwrap();
        names_of_pending(pending.pop().unwrap())
    }

    /// An empty name would match the pattern `*`, and a route of all tools would be about the call.
    #[tokio::test]
    async fn sealed_request_has_no_names() {
        let known = names(Ledger::clone).await;
        let names_known = (known.tool.as_deref(), known.agent.as_deref());
        assert_eq!(names_known, (Some("pay"), Some("shop")));
        let sealed = names(|it| Ledger::new(it.journal().clone())).await;
        assert_eq!((sealed.tool, sealed.agent), (None, None));
    }
}
