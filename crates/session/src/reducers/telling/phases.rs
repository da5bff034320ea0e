//! The phases of a conversation: the current one, and the transitions that the state causes.
//!
//! ```text
//! phases declared ─▶ phase_entered (the first phase)
//! state_changed, turn_completed ─▶ phase_entered (the first transition whose guard holds)
//! phase_entered ─▶ instruction owed to the model ─▶ instruction_sent
//! ```
//!
//! One change may cause several transitions, but at most as many as there are phases. Guards that
//! form a circle stop there, and the next change continues.

use std::collections::BTreeMap;

use crate::calls::call::Call;
use crate::json::Json;
use crate::policies::condition::{ARGUMENT, Condition};
use crate::policies::phase::PhaseDeclaration;
use crate::record::decision::{Decision, PhaseEntered, Rule};
use crate::record::observation::InstructionSent;
use crate::state::effect::Effect;
use crate::state::session::{Session, Stay};
use crate::values::id::Seq;

/// Allows transitions, because a change of the state may satisfy a guard.
pub(crate) fn allow_transitions(session: &mut Session) {
    session.phase_moves = session.terms.policies.phases.len();
}

/// Stops transitions after a new declaration, because it changes no state.
///
/// The next change or the end of the turn evaluates the new guards.
pub(crate) fn stop_transitions(session: &mut Session) {
    session.phase_moves = 0;
}

/// The next phase to enter, if there is one.
pub(crate) fn next(session: &Session) -> Option<Decision> {
    let first = session.terms.policies.phases.first()?;
    if session.closed {
        return None;
    }
    let Some((stay, declared)) = current(session) else {
        let from = session.phase.as_ref().map(|stay| stay.phase.clone());
        let (phase, when) = (first.name.clone(), None);
        return Some(PhaseEntered { phase, from, when }.into());
    };
    if session.phase_moves == 0 {
        return None;
    }
    let transition = declared
        .transitions
        .iter()
        .find(|transition| holds(session, &transition.when))?;
    let entered = PhaseEntered {
        phase: transition.to.clone(),
        from: Some(stay.phase.clone()),
        when: Some(transition.when.clone()),
    };
    Some(entered.into())
}

/// The stay and its phase as declared now. `None` if the phase is no longer declared.
fn current(session: &Session) -> Option<(&Stay, &PhaseDeclaration)> {
    let stay = session.phase.as_ref()?;
    Some((stay, session.terms.policies.phase(&stay.phase)?))
}

/// The name of the current phase, if phases are declared.
pub(crate) fn name(session: &Session) -> Option<&str> {
    current(session).map(|(stay, _)| stay.phase.as_str())
}

pub(crate) fn holds(session: &Session, condition: &Condition) -> bool {
    condition.holds(&|key| session.value(key))
}

pub(crate) fn entered(session: &mut Session, seq: Seq, it: &PhaseEntered) {
    session.phase_moves = session.phase_moves.saturating_sub(1);
    session.phase = Some(Stay {
        phase: it.phase.clone(),
        entered: seq,
        told: None,
    });
}

/// Folds a connection whose setup carried the instruction of that stay.
pub(crate) fn connected(session: &mut Session, epoch: Seq, carried: Option<Seq>) {
    if let Some(stay) = &mut session.phase
        && carried == Some(stay.entered)
    {
        stay.told = Some(epoch);
    }
}

/// Folds a sent instruction. One for a lost connection changes nothing.
pub(crate) fn instruction_sent(session: &mut Session, it: &InstructionSent) {
    if session.connection == Some(it.epoch) {
        connected(session, it.epoch, Some(it.phase));
    }
}

pub(crate) fn owed(session: &Session, effects: &mut Vec<Effect>) {
    if let Some((stay, declared)) = current(session)
        && let Some(epoch) = session.connection
        && stay.told != Some(epoch)
        && declared.instruction.is_some()
        && !session.closed
    {
        let phase = stay.entered;
        effects.push(Effect::SendInstruction { phase, epoch });
    }
}

/// The reason why the tool is unavailable now: the rule, and the message.
pub(crate) fn unavailable(session: &Session, call: &Call) -> Option<(Rule, String)> {
    let policy = session.terms.policies.of(&call.name);
    let here = current(session);
    if here.is_none() && policy.phases.is_some() {
        let reason = format!(
            "{:?} is available in phases of the conversation only, and it has none",
            call.name
        );
        return Some((Rule::Phase, reason));
    }
    if let Some((stay, declared)) = here {
        // An agent names its own tools, so the phase's list does not apply to its calls.
        let of_conversation = declared.tools.as_ref().filter(|_| call.parent.is_none());
        let in_phase = of_conversation.is_none_or(|tools| tools.contains(&call.name));
        let in_policy = policy
            .phases
            .as_ref()
            .is_none_or(|phases| phases.contains(&stay.phase));
        if !in_phase || !in_policy {
            let (tool, phase) = (&call.name, &stay.phase);
            let reason =
                format!("{tool:?} is not available in the phase {phase:?} of the conversation");
            return Some((Rule::Phase, reason));
        }
    }
    let condition = policy.when.as_ref()?;
    let reason = || format!("{:?} is not available as things stand", call.name);
    (!holds(session, condition)).then(|| (Rule::Condition, reason()))
}

/// The values that a condition reads. Missing keys are left out.
pub(crate) fn values_read<'a>(
    session: &'a Session,
    condition: &'a Condition,
) -> BTreeMap<&'a str, &'a Json> {
    // Arguments are on record with their call.
    let keys = condition.keys().into_iter();
    let keys = keys.filter(|key| !key.starts_with(ARGUMENT));
    keys.filter_map(|key| Some((key, session.value(key)?)))
        .collect()
}

#[cfg(test)]
#[path = "phases_tests.rs"]
mod tests;
