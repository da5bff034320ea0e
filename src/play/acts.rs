//! What people and programs did, done again.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::driver::Driver;
use crate::engine::reasons::{DISCONNECTED, DROPPED, SHUT_DOWN};
use crate::engine::{self, FunctionResponse, LiveHandle, Ticket};
use crate::session::{
    Author, ConfirmationAnswered, Event, Observation, ResponseSupplied, RunnerDetached, Seq,
    StateChanged,
};
use crate::tool::ToolConfirmation;

impl Driver<'_> {
    pub(super) fn answer(&mut self, it: &ConfirmationAnswered) {
        let Some(request) = self.numbers.question_at(it.request) else {
            return self.undone(format!("question {} was not asked", it.request));
        };
        let (request, by) = (self.session().request_id(request), it.by.clone());
        let confirmation = ToolConfirmation::recorded(it.clone(), None).taken_before();
        let engine = self.engine.clone();
        self.attempt("an answer", async move {
            engine.answer(request, confirmation, by).await.map(drop)
        });
    }

    pub(super) fn supply(&mut self, it: &ResponseSupplied) {
        let Some(ticket) = self.ticket(it.call) else {
            return self.undone(format!("call {} was not made", it.call));
        };
        let response = FunctionResponse::new(&ticket.tool, it.response.to_value());
        let (by, goes_on, engine) = (it.by.clone(), it.will_continue, self.engine.clone());
        self.attempt("a response", async move {
            match goes_on {
                true => engine.update(&ticket, response, by).await.map(drop),
                false => engine.respond(&ticket, response, by).await.map(drop),
            }
        });
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

    /// The runner lets go, where somebody has it do so; else it does by itself.
    pub(super) fn detach(&mut self, it: &RunnerDetached) {
        let engine = self.engine.clone();
        if it.reason == DISCONNECTED {
            self.with_handle("the disconnection", |live| async move {
                live.disconnect().await
            });
        } else if it.reason == DROPPED {
            self.live = None;
        } else if it.reason == SHUT_DOWN && !self.drains {
            self.attempt("the shutdown", async move {
                engine.shutdown(Duration::ZERO).await
            });
        }
        self.asked_to_connect = false;
        self.was_connected = false;
    }

    /// Asks for a connection, unless the engine makes one by itself.
    pub(super) fn ask_to_connect(&mut self) {
        if std::mem::replace(&mut self.asked_to_connect, true) {
            return;
        }
        let (engine, session) = (self.engine.clone(), self.session());
        match &self.live {
            Some(_) => self.with_handle("a connection", |live| async move {
                match live.connect().await {
                    // What there is to say of it is on record.
                    Err(engine::Error::Connect(_)) => Ok(()),
                    other => other,
                }
            }),
            None => {
                self.taking = Some(tokio::spawn(async move { engine.resume(session).await }));
            }
        }
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
            None => self.undone(format!("{what}: nobody has the session")),
        }
    }

    /// Does something beside the play, which goes on meanwhile.
    pub(super) fn attempt(
        &self,
        what: &'static str,
        act: impl Future<Output = Result<(), engine::Error>> + Send + 'static,
    ) {
        let undone = self.undone.clone();
        tokio::spawn(async move {
            if let Err(error) = act.await {
                let mut undone = undone.lock().unwrap_or_else(PoisonError::into_inner);
                undone.push(format!("{what}: {error}"));
            }
        });
    }
}
