//! Agents that are called as tools: the turns of their model, and the calls that it makes.
//!
//! ```text
//! call_started ─▶ Running ─ llm_asked ─ llm_replied ─┬─ without calls ─▶ tool_returned in the
//!                    ▲                               │                   same batch
//!                    │                               └─ with calls ─▶ AwaitingCalls (nothing owed)
//!                    └─ call_started ◀─ all calls have ended, a runner and a slot are free ──┘
//! cut off during a turn ─▶ AwaitingCalls, with no open calls
//! ```
//!
//! Each turn is a start of the call. So a turn has a slot, a time limit and a runner, like the run
//! of any tool. An agent between two turns has none of them. A start under the same permission
//! repeats nothing, because the replies and the ends of the calls are on record. So a run that was
//! cut off is not in doubt. Its calls may be, by the rules of their own tools. They end when the
//! agent's call ends.

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

/// The retry rule for a model that cannot be reached, if the agent's policy has none.
const ASKED_AGAIN: Retry = Retry {
    attempts_max: 4,
    backoff_ms: 500,
};

/// The `error_kind` of a run whose model could not be reached. A later attempt may succeed.
const UNREACHED: &str = "llm_unavailable";

/// True if the caller may use the tool.
///
/// An agent may use the tools that it names. The model of the conversation may use the tools that
/// are not for agents only.
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

/// Adds a call to the current turn of the agent that made it.
///
/// If the agent waits for no further call, the new call is cancelled.
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

/// Folds a reply of the model. It counts only if its `llm_asked` record belongs to this start.
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
        await_calls(call, made);
        // The calls may take any time, so equal calls do not wait for the agent.
        let key = call.cache_key;
        cache::stopped(session, it.call, key);
    }
}

/// Ends a turn: the run waits for `open` calls, or for a runner if there are none.
///
/// A turn that was cut off does not count against the time limit, because the agent could not use
/// the time without a process.
pub(crate) fn await_calls(call: &mut Call, open: u32) {
    if let Phase::Running { leave, .. } = call.phase {
        call.phase = Phase::AwaitingCalls { leave, open };
    }
}

/// Stores the rest of the time limit for the next turn.
pub(crate) fn note_time_left(call: &mut Call, now: Timestamp) {
    if let Phase::Running { deadline, .. } = call.phase
        && let Some(run) = call.run_of_agent()
    {
        run.time_left_us = deadline.map(|due| due.0.saturating_sub(now.0).max(0));
    }
}

/// The deadline of a run that continues, if it has a time limit.
pub(crate) fn deadline(session: &Session, call: &Call) -> Option<Timestamp> {
    let left = call.agent.as_deref()?.time_left_us?;
    Some(Timestamp(session.at.0.saturating_add(left)))
}

/// Folds the end of a call into the run that made it, and cancels the calls that it made itself.
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

/// Adds one of several results to a call that an agent made.
pub(crate) fn result_yielded(session: &mut Session, call: Seq, result: Seq) {
    if let Some(made) = made_by_agent(session, call) {
        made.gave.push(result);
    }
}

/// The entry of a call in its agent's run.
fn made_by_agent(session: &mut Session, call: Seq) -> Option<&mut AgentCall> {
    let parent = session.calls.get(&call)?.parent?;
    let run = session.calls.get_mut(&parent)?.run_of_agent()?;
    let mut made = run.turns.last_mut()?.calls.iter_mut();
    made.find(|it| it.call == call)
}

/// Folds a start into the agent's run. Drops the run if the tool is no longer an agent.
pub(crate) fn started(session: &mut Session, seq: Seq) {
    // A repeated run yields its results again.
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

/// The retry rule for an agent's model, and the number of failed attempts so far.
pub(crate) fn retry(session: &Session, call: &Call) -> Option<(Retry, u32)> {
    let run = call.agent.as_deref()?;
    let own = session.terms.policies.of(&call.name).retry;
    Some((own.unwrap_or(ASKED_AGAIN), run.failures))
}

/// True if the failure of an agent may pass, because its model could not be reached.
///
/// The failure is counted then. Returns `None` for other tools.
pub(crate) fn failure_may_pass(call: &mut Call, error_kind: Option<&str>) -> Option<bool> {
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
