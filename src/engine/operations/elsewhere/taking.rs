//! Operations that other processes sent to the owner of a session.

use std::sync::Arc;

use recount_journal::{Asked, Journal, causes};

use super::super::operation::Executor;
use super::wire::{Outcome, Sent};
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::session::{Seq, SessionId};

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
            // The session was released or taken over meanwhile. Its next owner takes the request,
            // and the journal tells it whether this process has carried it out.
            Err(error) if error.is_owned() || error.is_of_the_past() => None,
            Ok(outcome) => Some(outcome),
            Err(error) if error.is_unwritable() => Some(Outcome::Unwritable(causes(&error))),
            Err(error) => Some(Outcome::Failed(causes(&error))),
        };
        let reply = match reply {
            Some(outcome) => Some(self.sealed(&asked, &outcome).await),
            None => None,
        };
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
            tracing::warn!(
                session = %asked.session, error = %causes(&error),
                "a request has no reply yet"
            );
            seen = sharing.changed(seen).await;
        }
    }

    /// Returns an outcome as the text of a reply. Without the key it says less, and nothing of the
    /// session.
    async fn sealed(&self, asked: &Asked, outcome: &Outcome) -> String {
        let session = SessionId(asked.session);
        // Every part of it was read from JSON, or is text.
        let text = serde_json::to_string(outcome).unwrap_or_default();
        let sealed = self.ledger().seal_for_process(session, text).await;
        sealed.unwrap_or_else(|error| {
            let failed = Outcome::Failed(error.to_string());
            serde_json::to_string(&failed).unwrap_or_default()
        })
    }

    async fn carry_out(&self, asked: &Asked) -> Result<Outcome, Error> {
        let session = SessionId(asked.session);
        let request = self
            .ledger()
            .open_from_process(session, &asked.request)
            .await?;
        let Sent { operation, by } = match serde_json::from_str(&request) {
            Ok(sent) => sent,
            Err(error) => return Ok(Outcome::Failed(error.to_string())),
        };
        let operated = match asked.carried_out {
            // A process that is gone has recorded it, and could not reply.
            Some(at) => {
                Executor::Engine(self)
                    .operated(&operation, by, Seq(at))
                    .await?
            }
            None => {
                let engine = self.for_request(asked.id);
                Executor::Engine(&engine).operate(operation, by).await?
            }
        };
        Ok(Outcome::of(operated))
    }
}
