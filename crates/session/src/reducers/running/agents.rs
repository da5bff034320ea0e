//! Agents that are called as tools: turns of their model, and the calls that come of them.
//!
//! ```text
//! call_started ─▶ Running ─ llm_asked ─ llm_replied ─┬─ without calls ─▶ tool_returned, in the same batch
//!                    ▲                               └─ with calls ────▶ AwaitingCalls, and nothing is owed for it
//!                    └── call_started ◀─ all of them have ended, a runner and a place are there ─┘
//! cut off while its model was asked ─▶ AwaitingCalls, with none open
//! ```
//!
//! Each stretch in which the model is asked is a start, so a place among what runs, a time limit
//! and a runner are had as by any tool, and none of them by a run that waits. A start by the same
//! leave repeats nothing: what was replied and what its calls came to is on record. So a run that
//! was cut off is not in doubt; its calls are, by their own rules. They end with it.

use super::attempts;
use crate::calls::agent_run::{AgentCall, AgentTurn};
use crate::calls::call::{Call, Phase};
use crate::declared::catalog::{AgentDeclaration, ToolKind};
use crate::policies::policy::Retry;
use crate::record::decision::CancelReason;
use crate::record::observation::{LlmAsked, LlmReplied};
use crate::reducers::earlier::cache;
use crate::state::session::Session;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// How often a model that cannot be reached is asked where the agent's policy says nothing.
const ASKED_AGAIN: Retry = Retry {
    attempts_max: 4,
    backoff_ms: 500,
};

/// The `error_kind` of a run whose model could not be reached: it may be by and by.
const UNREACHED: &str = "llm_unavailable";

/// Whether the tool is there for whoever calls it: an agent has those that it names, and the model
/// of the conversation those that are not for agents only.
pub(crate) fn has_tool(session: &Session, call: &Call) -> bool {
    match call.parent {
        Some(parent) => {
            let agent = session.calls.get(&parent);
            let declared = agent.and_then(|agent| declared(session, agent));
            declared.is_some_and(|it| it.tools.contains(&call.name))
        }
        None if call.made_by_program => true,
        None => {
            let tool = session.terms.catalog.tools.get(&call.name);
            tool.is_none_or(|it| !it.inner)
        }
    }
}

fn declared<'a>(session: &'a Session, agent: &Call) -> Option<&'a AgentDeclaration> {
    let tool = session.terms.catalog.tools.get(&agent.name)?;
    tool.agent.as_ref()
}

/// A call says that it was made in the run of an agent: it counts where that run waits for one
/// more.
pub(crate) fn call_received(session: &mut Session, seq: Seq, parent: Option<Seq>) {
    let Some(parent) = parent else {
        return;
    };
    let waits = session.calls.get_mut(&parent).is_some_and(|agent| {
        let waits = matches!(agent.phase, Phase::AwaitingCalls { .. });
        let turn = agent.run_of_agent().and_then(|run| run.turns.last_mut());
        let turn = turn.filter(|it| waits && (it.calls.len() as u64) < u64::from(it.made));
        let call = AgentCall {
            call: seq,
            gave: Vec::new(),
            ended: None,
        };
        turn.map(|it| it.calls.push(call)).is_some()
    });
    if !waits && let Some(call) = session.calls.get_mut(&seq) {
        call.cancel = Some(CancelReason::ParentEnded);
    }
}

pub(crate) fn llm_asked(session: &mut Session, seq: Seq, it: &LlmAsked) {
    if let Some(call) = attempts::running(session, it.call, it.attempt)
        && let Some(run) = call.run_of_agent()
    {
        run.asked = Some(seq);
        run.unanswered = Some(seq);
    }
}

/// A reply counts where its question is on record for this start.
pub(crate) fn llm_replied(session: &mut Session, seq: Seq, it: &LlmReplied) {
    let now = session.at;
    let Some(call) = attempts::running(session, it.call, it.attempt) else {
        return;
    };
    let Some(run) = call.run_of_agent() else {
        return;
    };
    let Some(asked) = run.asked.take() else {
        return;
    };
    let made = u32::try_from(it.calls()).unwrap_or(u32::MAX);
    run.unanswered = None;
    run.failures = 0;
    run.turns.push(AgentTurn {
        asked,
        replied: seq,
        made,
        calls: Vec::new(),
    });
    if made > 0 {
        note_time_left(call, now);
        rest(call, made);
        // Nobody knows how long it waits, so equal calls need not wait with it.
        let key = call.cache_key;
        cache::stopped(session, it.call, key);
    }
}

/// The run waits from here on: for so many calls, or for a runner to go on with it.
///
/// Of a stretch that was cut off nothing counts against its time limit: how long the process was
/// away nobody had of it.
pub(crate) fn rest(call: &mut Call, open: u32) {
    if let Phase::Running { leave, .. } = call.phase {
        call.phase = Phase::AwaitingCalls { leave, open };
    }
}

/// Its time limit rests: what is left of it is left when it goes on.
pub(crate) fn note_time_left(call: &mut Call, now: Timestamp) {
    if let Phase::Running { deadline, .. } = call.phase
        && let Some(run) = call.run_of_agent()
    {
        run.time_left_us = deadline.map(|due| due.0.saturating_sub(now.0).max(0));
    }
}

/// When the time of a run that goes on is up, where there is a limit.
pub(crate) fn deadline(session: &Session, call: &Call) -> Option<Timestamp> {
    let left = call.agent.as_deref()?.time_left_us?;
    Some(Timestamp(session.at.0.saturating_add(left)))
}

/// A call ended: the run that made it may go on, and the calls that it made itself end.
pub(crate) fn call_ended(session: &mut Session, seq: Seq, call: &Call, at: Seq) {
    if let Some(parent) = call.parent
        && let Some(agent) = session.calls.get_mut(&parent)
        && let Phase::AwaitingCalls { leave, open } = agent.phase
        && let Some(turn) = agent.run_of_agent().and_then(|run| run.turns.last_mut())
        && let Some(made) = turn.calls.iter_mut().find(|it| it.call == seq)
    {
        made.ended = Some(at);
        let open = open.saturating_sub(1);
        agent.phase = Phase::AwaitingCalls { leave, open };
        if open == 0 {
            session.restless.insert(parent);
        }
    }
    let last = call.agent.as_deref().and_then(|run| run.turns.last());
    for made in last.into_iter().flat_map(|turn| &turn.calls) {
        if let Some(open) = session.calls.get_mut(&made.call) {
            open.cancel.get_or_insert(CancelReason::ParentEnded);
            session.restless.insert(made.call);
        }
    }
}

/// A call that an agent made gave one result of several.
pub(crate) fn call_gave(session: &mut Session, call: Seq, gave: Seq) {
    if let Some(made) = made_by_agent(session, call) {
        made.gave.push(gave);
    }
}

/// What the agent of its parent knows of a call.
fn made_by_agent(session: &mut Session, call: Seq) -> Option<&mut AgentCall> {
    let parent = session.calls.get(&call)?.parent?;
    let run = session.calls.get_mut(&parent)?.run_of_agent()?;
    let mut made = run.turns.last_mut()?.calls.iter_mut();
    made.find(|it| it.call == call)
}

/// A start of the call: of an agent, or of what is none any more.
pub(crate) fn started(session: &mut Session, seq: Seq) {
    // What a run gave that is run again is given again.
    if let Some(made) = made_by_agent(session, seq) {
        made.gave.clear();
    }
    let Some(call) = session.calls.get(&seq) else {
        return;
    };
    let tool = session.terms.catalog.tools.get(&call.name);
    let is_agent = tool.is_some_and(|it| it.kind == ToolKind::Agent);
    if !is_agent && call.agent.is_none() {
        return;
    }
    let contract = session.terms.contract(&call.name);
    if let Some(call) = session.calls.get_mut(&seq) {
        if is_agent {
            let run = call.agent.get_or_insert_default();
            run.contract = contract;
            run.asked = None;
        } else {
            call.agent = None;
        }
    }
}

/// How often an agent's model is asked again, and how often it could not be reached so far.
pub(crate) fn retry(session: &Session, call: &Call) -> Option<(Retry, u32)> {
    let run = call.agent.as_deref()?;
    let own = session.terms.policies.of(&call.name).retry;
    Some((own.unwrap_or(ASKED_AGAIN), run.failures))
}

/// Whether a failure may pass; that of an agent only where its model could not be reached.
pub(crate) fn may_pass(call: &mut Call, error_kind: Option<&str>) -> Option<bool> {
    let run = call.run_of_agent()?;
    let passing = error_kind == Some(UNREACHED);
    if passing {
        run.failures = run.failures.saturating_add(1);
    }
    Some(passing)
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
