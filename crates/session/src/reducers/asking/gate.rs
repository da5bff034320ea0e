//! The gate of a tool: the calls that need an approval, and calls whose gate is waived.

use std::collections::BTreeMap;

use crate::calls::call::{Call, Leave, Phase};
use crate::json::{Json, escaped};
use crate::policies::condition::{ARGUMENT, Condition};
use crate::record::decision::GateWaived;
use crate::state::session::Session;

/// The state of a confirmation gate for one call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    Closed,
    /// The program has not decided yet.
    Unknown,
}

/// True if the gate holds for this call, with its current arguments and the current state.
///
/// A gate that the program has not decided yet counts as holding.
pub(crate) fn gated(session: &Session, call: &Call) -> bool {
    gate(session, call) != Gate::Open
}

pub(crate) fn gate(session: &Session, call: &Call) -> Gate {
    let policy = session.terms.policies.of(&call.name);
    let holds = match &policy.gate_terms.when {
        Some(condition) => meets(session, call, condition),
        None => !policy.gate_terms.asks_program,
    };
    match (policy.confirm, holds, policy.gate_terms.asks_program) {
        (false, _, _) | (true, false, false) => Gate::Open,
        (true, true, _) => Gate::Closed,
        (true, false, true) => match call.gate_verdict {
            Some(true) => Gate::Closed,
            Some(false) => Gate::Open,
            None => Gate::Unknown,
        },
    }
}

fn meets(session: &Session, call: &Call, condition: &Condition) -> bool {
    let named = condition.keys().into_iter();
    let args: BTreeMap<&str, Json> = named
        .filter_map(|key| Some((key, argument(call, key)?)))
        .collect();
    condition.holds_or_unknown(&|key| match key.strip_prefix(ARGUMENT) {
        Some(_) => args.get(key),
        None => session.value(key),
    })
}

/// The argument that a key of a gate's condition names.
fn argument(call: &Call, key: &str) -> Option<Json> {
    let path = key.strip_prefix(ARGUMENT)?;
    let text = if path.is_empty() || path.starts_with('/') {
        call.args.text_at(path)
    } else {
        call.args.text_at(&format!("/{}", escaped(path)))
    };
    Json::parse(text?).ok()
}

/// Folds the waiver of a call's gate.
pub(crate) fn waived(session: &mut Session, it: &GateWaived) {
    let leave = it.unanswered.map_or(Leave::Waived, Leave::Unanswered);
    session.calls.set_phase(it.call, Phase::Permitted { leave });
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
