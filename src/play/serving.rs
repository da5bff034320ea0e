//! The current server of the played session: an engine, or a desk.

use crate::engine::{self, Desk, Engine, FunctionResponse, Ticket, ToolConfirmation};
use crate::ledger::PauseTarget;
use crate::session::{Actor, Finding, RequestId, Seq, SessionId};

/// The part of a process that receives answers and other requests.
#[derive(Clone)]
pub(super) enum Serving {
    /// The process runs the session's tools.
    Engine(Engine),
    /// The process only records answers, or there is no process.
    Desk(Desk),
}

impl Serving {
    /// The engine, if the process has one.
    pub(super) fn engine(&self) -> Option<&Engine> {
        match self {
            Serving::Engine(engine) => Some(engine),
            Serving::Desk(_) => None,
        }
    }

    pub(super) async fn answer(
        &self,
        request: RequestId,
        confirmation: ToolConfirmation,
        by: Actor,
    ) -> Result<Seq, engine::Error> {
        match self {
            Serving::Engine(engine) => engine.answer(request, confirmation, by).await,
            Serving::Desk(desk) => desk.answer(request, confirmation, by).await,
        }
    }

    /// Supplies the result of a paused call, or an update.
    pub(super) async fn supply(
        &self,
        ticket: &Ticket,
        (response, will_continue): (FunctionResponse, bool),
        by: Actor,
    ) -> Result<Seq, engine::Error> {
        match (self, will_continue) {
            (Serving::Engine(engine), true) => engine.update(ticket, response, by).await,
            (Serving::Engine(engine), false) => engine.respond(ticket, response, by).await,
            (Serving::Desk(desk), true) => desk.update(ticket, response, by).await,
            (Serving::Desk(desk), false) => desk.respond(ticket, response, by).await,
        }
    }

    pub(super) async fn reconcile(
        &self,
        ticket: &Ticket,
        found: Finding,
        by: Actor,
    ) -> Result<Seq, engine::Error> {
        match self {
            Serving::Engine(engine) => engine.reconcile(ticket, found, by).await,
            Serving::Desk(desk) => desk.reconcile(ticket, found, by).await,
        }
    }

    pub(super) async fn cancel(
        &self,
        (session, call): (SessionId, Seq),
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, engine::Error> {
        match self {
            Serving::Engine(engine) => engine.cancel(session, call, reason, by).await,
            Serving::Desk(desk) => desk.cancel(session, call, reason, by).await,
        }
    }

    pub(super) async fn revoke(
        &self,
        (session, leave): (SessionId, Seq),
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, engine::Error> {
        match self {
            Serving::Engine(engine) => engine.revoke_leave(session, leave, reason, by).await,
            Serving::Desk(desk) => desk.revoke_leave(session, leave, reason, by).await,
        }
    }

    pub(super) async fn pause(
        &self,
        target: PauseTarget,
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, engine::Error> {
        match self {
            // The cancellations are on record themselves.
            Serving::Engine(engine) => engine.pause(target, reason, false, by).await,
            Serving::Desk(desk) => desk.pause(target, reason, false, by).await,
        }
    }

    pub(super) async fn unpause(
        &self,
        target: PauseTarget,
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, engine::Error> {
        match self {
            Serving::Engine(engine) => engine.unpause(target, reason, by).await,
            Serving::Desk(desk) => desk.unpause(target, reason, by).await,
        }
    }

    pub(super) async fn close(
        &self,
        session: SessionId,
        reason: String,
        by: Actor,
    ) -> Result<Seq, engine::Error> {
        match self {
            Serving::Engine(engine) => engine.close_session(session, &reason, by).await,
            Serving::Desk(desk) => desk.close_session(session, &reason, by).await,
        }
    }

    /// Makes a desk record a process that is gone, and overdue deadlines.
    pub(super) async fn look(&self, session: SessionId) -> Result<(), engine::Error> {
        match self {
            // An engine does this by itself.
            Serving::Engine(_) => Ok(()),
            Serving::Desk(desk) => desk.look(session).await,
        }
    }
}
