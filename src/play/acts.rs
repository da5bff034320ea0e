//! The recorded actions of people and programs, performed again.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::driver::{Driver, Undone};
use crate::engine::reasons::{DISCONNECTED, DROPPED, SHUT_DOWN};
use crate::engine::{self, FunctionResponse, LiveHandle, Ticket};
use crate::ledger::PauseTarget;
use crate::session::{
    Author, ConfirmationAnswered, Event, LeaveRevoked, Observation, OperatorCancelled,
    OutcomeFound, PauseScope, Paused, ResponseSupplied, RunnerDetached, Seq, SessionClosed,
    StateChanged, Unpaused,
};
use crate::tool::ToolConfirmation;

impl Driver<'_> {
    pub(super) fn answer(&mut self, it: &ConfirmationAnswered) {
        let Some(request) = self.question_at(it.request) else {
            return self.undone(format!("question {} was not asked", it.request));
        };
        let (request, by) = (self.session().request_id(request), it.by.clone());
        let confirmation = ToolConfirmation::recorded(it.clone(), None).taken_before();
        let serving = self.serving.clone();
        self.attempt("an answer", async move {
            serving.answer(request, confirmation, by).await.map(drop)
        });
    }

    pub(super) fn revoke(&mut self, it: &LeaveRevoked) {
        let Some(leave) = self.answer_at(it.leave) else {
            return self.undone(format!("question {} gave no leave", it.leave));
        };
        let (session, reason, by) = (self.session(), it.reason.clone(), it.by.clone());
        let serving = self.serving.clone();
        self.attempt("the end of a standing leave", async move {
            serving.revoke((session, leave), reason, by).await.map(drop)
        });
    }

    pub(super) fn supply(&mut self, it: &ResponseSupplied) {
        let Some(ticket) = self.ticket(it.call) else {
            return self.undone(format!("call {} was not made", it.call));
        };
        let response = FunctionResponse::new(&ticket.tool, it.response.to_value());
        let (by, goes_on, serving) = (it.by.clone(), it.will_continue, self.serving.clone());
        self.attempt("a response", async move {
            let given = serving.supply(&ticket, (response, goes_on), by).await;
            given.map(drop)
        });
    }

    pub(super) fn find(&mut self, it: &OutcomeFound) {
        let Some(ticket) = self.ticket(it.call) else {
            return self.undone(format!("call {} was not made", it.call));
        };
        let (found, by, serving) = (it.found.clone(), it.by.clone(), self.serving.clone());
        self.attempt("what was found of a call", async move {
            serving.reconcile(&ticket, found, by).await.map(drop)
        });
    }

    pub(super) fn cancel(&mut self, it: &OperatorCancelled) {
        let Some(call) = self.numbers.call_at(it.call) else {
            return self.undone(format!("call {} was not made", it.call));
        };
        let (session, reason, by) = (self.session(), it.reason.clone(), it.by.clone());
        let (live, serving) = (self.live.clone(), self.serving.clone());
        self.attempt("a cancellation", async move {
            match live {
                Some(live) => live.cancel(call, reason, by).await.map(drop),
                None => serving.cancel((session, call), reason, by).await.map(drop),
            }
        });
    }

    pub(super) fn pause(&mut self, it: &Paused) {
        let (target, reason, by) = (self.target(&it.scope), it.reason.clone(), it.by.clone());
        let serving = self.serving.clone();
        self.attempt("a pause", async move {
            serving.pause(target, reason, by).await.map(drop)
        });
    }

    pub(super) fn unpause(&mut self, it: &Unpaused) {
        let (target, reason, by) = (self.target(&it.scope), it.reason.clone(), it.by.clone());
        let serving = self.serving.clone();
        self.attempt("the end of a pause", async move {
            serving.unpause(target, reason, by).await.map(drop)
        });
    }

    fn target(&self, scope: &PauseScope) -> PauseTarget {
        let session = self.session();
        match scope {
            PauseScope::Session => PauseTarget::Session(session),
            PauseScope::Tool(tool) => PauseTarget::Tool {
                session,
                tool: tool.clone(),
            },
            PauseScope::Agent(agent) => PauseTarget::Agent(agent.clone()),
            PauseScope::Everything => PauseTarget::Everything,
        }
    }

    pub(super) fn close(&mut self, it: &SessionClosed) {
        let (session, reason, by) = (self.session(), it.reason.clone(), it.by.clone());
        let serving = self.serving.clone();
        self.attempt("the end of the session", async move {
            serving.close(session, reason, by).await.map(drop)
        });
    }

    /// Shuts the engine down. Running tools get `grace` to finish.
    pub(super) fn shut_down(&mut self, grace: Duration) {
        let Some(engine) = self.serving.engine().cloned() else {
            return self.undone("the shutdown: no process serves the session".to_owned());
        };
        self.attempt("the shutdown", async move { engine.shutdown(grace).await });
    }

    pub(super) fn change_state(&mut self, it: &StateChanged) {
        let Author::Program(by) = it.author.clone() else {
            return;
        };
        let changes = it.changes.clone();
        self.with_handle("a change of the state", move |live| async move {
            let written = live.change_state(by, |state| {
                for change in &changes {
                    match change.value.as_str() {
                        "null" => state.remove(&change.key),
                        _ => state.set(&change.key, &change.value),
                    }
                }
            });
            written.await.map(drop)
        });
    }

    /// Detaches the runner if a request from outside caused the recorded detachment. The runner
    /// detaches by itself in all other cases.
    pub(super) fn detach(&mut self, it: &RunnerDetached) {
        if it.reason == DISCONNECTED {
            self.with_handle("the disconnection", |live| async move {
                live.disconnect().await
            });
        } else if it.reason == DROPPED {
            self.live = None;
        } else if it.reason == SHUT_DOWN && (!self.drains || self.is_attached()) {
            // The recorded shutdown waited no longer for running tools.
            self.shut_down(Duration::ZERO);
        }
        self.asked_to_connect = false;
        self.was_connected = false;
    }

    /// Requests a connection, unless the engine makes one by itself.
    pub(super) fn ask_to_connect(&mut self) {
        if std::mem::replace(&mut self.asked_to_connect, true) {
            return;
        }
        let session = self.session();
        match (&self.live, self.serving.engine().cloned()) {
            (Some(_), _) => self.with_handle("a connection", |live| async move {
                match live.connect().await {
                    // The record shows the failure.
                    Err(engine::Error::Connect(_)) => Ok(()),
                    other => other,
                }
            }),
            (None, Some(engine)) => {
                self.handle_task = Some(tokio::spawn(async move { engine.resume(session).await }));
            }
            (None, None) => {
                self.undone("a connection: no process serves the session".to_owned());
            }
        }
    }

    /// True if the session has a runner.
    fn is_attached(&self) -> bool {
        let mut kinds = self.facts.iter().rev().map(|it| it.event.kind());
        let last = kinds.find(|it| ["runner_attached", "runner_detached"].contains(it));
        last == Some("runner_attached")
    }

    pub(super) fn ticket(&self, number: Seq) -> Option<Ticket> {
        let (session, call) = (self.session(), self.numbers.call_at(number)?);
        let fact = self.facts.iter().find(|it| it.seq == call)?;
        let Event::Observed(Observation::FunctionCallReceived(received)) = &fact.event else {
            return None;
        };
        let tool = received.name.clone()?;
        Some(Ticket {
            session,
            call,
            tool,
        })
    }

    pub(super) fn with_handle<Fut>(
        &self,
        what: &'static str,
        act: impl FnOnce(Arc<LiveHandle>) -> Fut,
    ) where
        Fut: Future<Output = Result<(), engine::Error>> + Send + 'static,
    {
        match self.live.clone() {
            Some(live) => self.attempt(what, act(live)),
            None => self.undone(format!("{what}: the session has no handle")),
        }
    }

    /// Performs an action in a task of its own, while the play continues.
    pub(super) fn attempt(
        &self,
        what: &'static str,
        act: impl Future<Output = Result<(), engine::Error>> + Send + 'static,
    ) {
        let (undone, at) = (self.undone.clone(), self.next);
        tokio::spawn(async move {
            if let Err(error) = act.await {
                let mut undone = undone.lock().unwrap_or_else(PoisonError::into_inner);
                let what = format!("{what}: {error}");
                undone.push(Undone { at, what });
            }
        });
    }
}
