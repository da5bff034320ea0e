//! Operations that other processes sent to the owner of a session.

use std::sync::Arc;

use recount_journal::{Asked, Journal};

use super::super::operation::Executor;
use super::wire::{Outcome, Sent};
use crate::engine::error::{Error, causes};
use crate::engine::serving::engine::Engine;

impl Engine {
    /// Carries out what other processes ask of the sessions that this one owns. Each operation has
    /// a task of its own, since it may wait for a session.
    pub(in crate::engine) async fn take_requests(&self) -> Result<(), Error> {
        let journal = self.ledger().journal().clone();
        let Some(sharing) = journal.sharing() else {
            return Ok(());
        };
        for asked in sharing.asked().await? {
            let (engine, journal) = (self.clone(), journal.clone());
            tokio::spawn(async move { engine.answer_request(journal, asked).await });
        }
        Ok(())
    }

    async fn answer_request(self, journal: Arc<dyn Journal>, asked: Asked) {
        let reply = match self.carry_out(&asked).await {
            // The session was released meanwhile. Its next owner takes the request.
            Err(error) if error.is_owned() => None,
            Ok(outcome) => Some(outcome),
            Err(error) => Some(Outcome::Failed(causes(&error))),
        };
        let reply = reply.map(|it| {
            // Every part of it was read from JSON, or is text.
            serde_json::to_string(&it).unwrap_or_default()
        });
        let Some(sharing) = journal.sharing() else {
            return;
        };
        // After the lease, another process may take the request.
        let mut seen = 0;
        while sharing.lease().is_ok() {
            let told = sharing.reply(asked.session, asked.id, reply.clone()).await;
            let Err(error) = told else {
                return;
            };
            tracing::warn!(session = %asked.session, %error, "a request has no reply yet");
            seen = sharing.changed(seen).await;
        }
    }

    async fn carry_out(&self, asked: &Asked) -> Result<Outcome, Error> {
        let sent: Sent = match serde_json::from_str(&asked.request) {
            Ok(sent) => sent,
            Err(error) => return Ok(Outcome::Failed(error.to_string())),
        };
        // It may be on record. To carry out some operations twice is not the same as once.
        if asked.again {
            let gone = "the process that was carrying it out is gone; the session's record has it, \
                        if it was carried out";
            return Ok(Outcome::Failed(gone.to_owned()));
        }
        let Sent { operation, by } = sent;
        let operated = Executor::Engine(self).operate(operation, by).await?;
        Ok(Outcome::of(operated))
    }
}
