//! A call with everything that its card shows.

use recount::audit::{AuditedCall, calls_of};
use recount::ledger::{ListedPause, PendingConfirmation};
use recount::session::{
    Actor, Barred, Edits, Event, Json, LeaveEnd, Observation, Phase, Seq, Session, SessionId,
    Timestamp, ToolDeclaration,
};

use crate::access::Role;
use crate::pages::inbox::{is_mine, is_open};
use crate::problems::{Code, Problem};
use crate::requests::{call, session};
use crate::routes::Caller;

/// A call, its open request and its session.
pub(super) struct Loaded {
    pub(super) session: SessionId,
    /// The role of the person in the session.
    pub(super) role: Role,
    pub(super) call: AuditedCall,
    /// The open request about it.
    pub(super) asked: Option<PendingConfirmation>,
    /// The session as it is now.
    pub(super) folded: Session,
    /// The recorded result, or the error of the tool.
    pub(super) result: Option<Json>,
    /// The open requests of the session.
    pub(super) open_in_session: Vec<Seq>,
    pub(super) now: Timestamp,
    /// True if the person may say yes to the open request.
    pub(super) is_mine: bool,
    /// The reason why the person may not say yes, if the terms of the request are one.
    pub(super) barred: Option<Barred>,
    /// The place of the person's own yes among the approvals of the open request.
    pub(super) own_yes: Option<usize>,
    /// The pauses in force that hold the call.
    pub(super) pauses: Vec<ListedPause>,
}

/// The path of the card of a call, below the mount.
pub(super) fn card(session: SessionId, call: Seq) -> String {
    format!("sessions/{session}/calls/{call}")
}

impl Loaded {
    /// Reads the call that a path names, for a person who may read its session.
    pub(super) async fn of(caller: &Caller, id: &str, name: &str) -> Result<Loaded, Problem> {
        let id = session(id)?;
        let known = caller.session(id, Role::Viewer).await?;
        let role = caller.role_in(&known).unwrap_or(Role::Viewer);
        let seq = caller.call(id, call(name)?).await?;
        let mut calls = calls_of(caller.ledger(), id).await?.into_iter();
        let unknown = || Problem::new(Code::UnknownCall, format!("the session has no call {seq}"));
        let call = calls.find(|it| it.seq == seq).ok_or_else(unknown)?;
        let now = caller.service.access.now();
        let pending = caller.ledger().pending_in(id).await?;
        let open = pending.iter().filter(|it| is_open(it, now));
        let open = open.map(|it| it.request).collect();
        let asked = pending.into_iter().find(|it| it.call == seq);
        let is_mine = asked
            .as_ref()
            .is_some_and(|it| is_open(it, now) && is_mine(caller, it));
        let pauses = caller.ledger().pauses().await?;
        let holds = |it: &ListedPause| it.holds(id, &call.agent, Some(&call.tool));
        let pauses = pauses.into_iter().filter(holds).collect();
        Ok(Loaded {
            session: id,
            role,
            barred: asked.as_ref().and_then(|it| barred(caller, it)),
            own_yes: asked.as_ref().and_then(|it| own_yes(caller, it)),
            pauses,
            result: result(caller, id, &call).await?,
            call,
            asked,
            folded: caller.service.engine.folded(id).await?,
            open_in_session: open,
            now,
            is_mine,
        })
    }

    /// The open request, if an answer to it still counts.
    pub(super) fn open(&self) -> Option<&PendingConfirmation> {
        self.asked.as_ref().filter(|it| is_open(it, self.now))
    }

    /// The arguments with which the tool runs, or would run.
    pub(super) fn args(&self) -> Json {
        let asked = self.asked.as_ref().map(|it| &it.args);
        let edited = self.call.edited_args.as_ref();
        let called = self.call.args.as_ref();
        let args = asked.or(edited).or(called);
        args.cloned().unwrap_or_else(Json::empty_object)
    }

    /// The pointers of the sealed arguments.
    pub(super) fn sealed(&self) -> &[String] {
        &self.call.sealed_args
    }

    /// The tool as the session declares it now.
    pub(super) fn declared(&self) -> Option<&ToolDeclaration> {
        self.folded.terms.catalog.tools.get(&self.call.tool)
    }

    /// The rule of the tool about changed arguments. `None`: an approver cannot change them.
    pub(super) fn edits(&self) -> Option<Edits> {
        let policy = self.folded.terms.policies.of(&self.call.tool);
        policy.gate_terms.edits
    }

    /// True if the reason of a denial is not sent to the model.
    pub(super) fn keeps_reason(&self) -> bool {
        let policy = self.folded.terms.policies.of(&self.call.tool);
        policy.gate_terms.keeps_reason
    }

    /// True if the call waits for its result from outside.
    pub(super) fn is_paused(&self) -> bool {
        let open = self.folded.calls.get(&self.call.seq);
        open.is_some_and(|it| matches!(it.phase, Phase::Paused { .. }))
    }

    /// True if the tool runs now.
    pub(super) fn is_running(&self) -> bool {
        let open = self.folded.calls.get(&self.call.seq);
        open.is_some_and(|it| matches!(it.phase, Phase::Running { .. }))
    }

    /// The standing leave that the answer to a request of the call gave, if it is in force: the
    /// answer that gave it and the number of calls it has allowed.
    pub(super) fn leave(&self) -> Option<(Seq, u32)> {
        let given = self.call.questions.iter().filter_map(|it| it.ended_seq);
        let mut in_force = given.filter_map(|seq| {
            let leave = self.folded.leaves.get(&seq)?;
            leave.ended.is_none().then_some((seq, leave.used))
        });
        in_force.next()
    }

    /// The person who revoked the leave of the call.
    pub(super) fn revoked_by(&self) -> Option<&Actor> {
        let given = self.call.questions.iter().filter_map(|it| it.ended_seq);
        let mut leaves = given.filter_map(|seq| self.folded.leaves.get(&seq));
        leaves.find_map(|it| match &it.ended {
            Some(LeaveEnd::Revoked { by, .. }) => Some(by),
            Some(LeaveEnd::Changed { .. }) | None => None,
        })
    }
}

/// The reason why the terms of the request admit no yes of the caller.
fn barred(caller: &Caller, asked: &PendingConfirmation) -> Option<Barred> {
    let needs = asked.needs.as_deref()?;
    needs.admit(&caller.actor(), false).err()
}

/// The place of the caller's yes among the approvals of the request.
fn own_yes(caller: &Caller, asked: &PendingConfirmation) -> Option<usize> {
    let person = Some(caller.actor().person()?);
    let mut given = asked.approvals.iter();
    given.position(|it| it.by.person() == person)
}

/// The result of the call on record.
async fn result(
    caller: &Caller,
    session: SessionId,
    call: &AuditedCall,
) -> Result<Option<Json>, Problem> {
    let Some(seq) = call.ended.as_ref().and_then(|it| it.of) else {
        return Ok(None);
    };
    let facts = caller.ledger().facts(session, seq, 1).await?;
    Ok(facts.into_iter().next().and_then(|it| match it.event {
        Event::Observed(Observation::ToolReturned(it)) => Some(it.response.clone()),
        Event::Observed(Observation::ResponseSupplied(it)) => Some(it.response.clone()),
        Event::Observed(_) | Event::Decided(_) => None,
    }))
}
