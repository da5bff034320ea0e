//! The result of a paused call, from outside: through the session's task, or at the desk where nobody here serves it.

use super::inbox::Input;
use super::{Desk, Engine, Error, FunctionResponse, Ticket};
use crate::session::{Actor, Command, Json, Seq, SessionId};

/// How many facts are read at a time.
const FACTS: usize = 256;

impl Engine {
    /// Gives the result of a paused call. Returns the record of the response.
    ///
    /// Where the agent of the session is not registered here, the response goes on record all the same, and the model is
    /// told by the next process that has the agent.
    ///
    /// # Errors
    /// [`Error::Refused`] where the call does not wait for a response, or is another tool's; [`Error::HookMissing`].
    pub async fn respond(
        &self,
        ticket: &Ticket,
        response: FunctionResponse,
        by: Actor,
    ) -> Result<Seq, Error> {
        let result = Json::of(&response.response);
        self.supply(ticket, response.name, result, by).await
    }

    /// Gives the result of a paused call, number for number as it was written.
    pub(super) async fn supply(
        &self,
        ticket: &Ticket,
        name: String,
        response: Json,
        by: Actor,
    ) -> Result<Seq, Error> {
        if let Err(Error::UnknownAgent { .. }) = self.agent_of(ticket.session).await {
            let _turn = self.inner.desk.lock().await;
            let before = self.head(ticket.session).await?;
            let supplied = self.desk().supply(ticket, name, response, by).await;
            self.publish_after(ticket.session, before).await;
            return supplied;
        }
        let command = Command::SupplyResponse {
            call: ticket.call,
            name,
            response,
            by,
        };
        self.ask(ticket.session, |reply| Input::Command(command, reply))
            .await
    }

    /// The last record of a session.
    pub(super) async fn head(&self, session: SessionId) -> Result<Seq, Error> {
        let head = self.inner.ledger.journal().head(session.0).await?;
        Ok(head.map_or(Seq(0), |head| Seq(head.seq)))
    }

    /// Tells whoever listens what the desk has put on record behind `before`: also what a dead process left, what was overdue,
    /// and what was refused.
    pub(super) async fn publish_after(&self, session: SessionId, before: Seq) {
        let mut from = before.next();
        loop {
            // What cannot be read now is on record all the same.
            let facts = self.inner.ledger.facts(session, from, FACTS).await;
            let facts = facts.unwrap_or_default();
            let Some(last) = facts.last() else {
                return;
            };
            from = last.seq.next();
            for fact in facts {
                self.inner.publisher.publish(session, fact);
            }
        }
    }

    /// Where what nobody here can run is answered.
    pub(super) fn desk(&self) -> Desk {
        Desk::new(self.inner.ledger.clone(), self.inner.clock.clone())
    }
}
