//! Hooks: calls and responses that the embedding program sees first.
//!
//! ```text
//! function_call_received ─▶ AwaitingHook ─ hook_answered ─┬─ a response ─▶ Supplied
//!                                                         ├─ nothing ────▶ Received
//!                                                         └─ a failure ──▶ Refused
//! response_issued ─▶ Wording::AwaitingHook ─ hook_answered ─▶ Wording::Hooked ─▶ sent
//! policy_decided{ask_program} ─▶ AwaitingVerdict ─ hook_answered ─┬─ gated, or failed ─▶ Gated
//!                                                                 └─ not gated ─▶ Permitted
//! ```
//!
//! A hook is code that may have done the tool's work, so a hook that was cut off is in doubt, like
//! a run. The question whether a gate holds does no work, so it is asked again.

use super::gate;
use crate::calls::call::{Call, Flaw, Leave, Phase};
use crate::calls::deliveries::{Delivery, Wording};
use crate::policies::policy::{InDoubt, PolicySet};
use crate::record::hook::{Hook, HookAnswered};
use crate::reducers::earlier::limits;
use crate::reducers::running::agents;
use crate::reducers::telling::{phases, redelivery};
use crate::state::effect::Effect;
use crate::state::session::Session;
use crate::values::id::Seq;

/// The first phase of a call that was received.
///
/// The hook does not see malformed calls, nor calls whose tool is unavailable in this phase.
pub(crate) fn first_phase(session: &Session, call: &Call) -> Phase {
    let sound = match &call.flaw {
        None => true,
        // No arguments fit an undeclared tool, but the program may know that tool all the same.
        Some(Flaw::InvalidArgs(_)) => !session.terms.catalog.tools.contains_key(&call.name),
        Some(Flaw::MissingName | Flaw::MalformedArgs(_) | Flaw::BeyondMax(_)) => false,
    };
    // The limit counts the older open calls. This call is not among them yet.
    let sound = sound && limits::open_reached(session, session.calls.len()).is_none();
    let asked = session.terms.policies.hooks.on_tool_call
        && sound
        && !call.made_by_program
        && agents::has_tool(session, call)
        && phases::unavailable(session, call).is_none();
    if asked {
        Phase::AwaitingHook
    } else {
        Phase::Received
    }
}

pub(crate) fn answered(session: &mut Session, seq: Seq, it: &HookAnswered) {
    match it.hook {
        Hook::OnToolCall => {
            let Some(call) = session.calls.get_mut(&it.call) else {
                return;
            };
            if call.phase != Phase::AwaitingHook {
                return;
            }
            call.phase = match (&it.response, &it.failure) {
                (Some(_), _) => Phase::Supplied { of: seq },
                (None, Some(failure)) => Phase::Refused {
                    reason: failure.clone(),
                    kind: "hook_failed",
                },
                (None, None) => Phase::Received,
            };
        }
        Hook::ConfirmWhen => {
            let declared = &session.terms.catalog.clone().tools;
            let waits = session.calls.get_mut(&it.call);
            // A tool that is no longer declared cannot be asked about. The program is asked again
            // when a runner declares the tool.
            if let Some(call) = waits.filter(|it| it.phase == Phase::AwaitingVerdict)
                && declared.contains_key(&call.name)
            {
                // Without a verdict the gate counts as holding.
                let gated = it.gated.unwrap_or(true);
                call.gate_verdict = Some(gated);
                call.phase = gate_decided(gated);
            }
        }
        Hook::BeforeToolResponse => {
            let Some(issued) = it.of else {
                return;
            };
            let wording = match it.response {
                Some(_) => Wording::Hooked(seq),
                None => Wording::AsIssued,
            };
            let delivery = session.deliveries.get(&issued);
            let waits = delivery.filter(|it| it.wording == Wording::AwaitingHook);
            if let Some(call) = waits.map(|it| it.call) {
                session.deliveries.set_wording(issued, wording);
                redelivery::set_wording(session, call, issued, wording);
            }
        }
    }
}

/// The phase of a call whose hook was cut off.
pub(crate) fn cut_off(policies: &PolicySet, call: &Call) -> Phase {
    match policies.of(&call.name).in_doubt {
        InDoubt::Retry if policies.hooks.on_tool_call => Phase::AwaitingHook,
        InDoubt::Retry => Phase::Received,
        InDoubt::Ask | InDoubt::SettleUnknown => Phase::InDoubt {
            leave: Leave::NotGated,
        },
    }
}

fn gate_decided(gated: bool) -> Phase {
    if gated {
        Phase::Gated
    } else {
        Phase::Permitted {
            leave: Leave::NotGated,
        }
    }
}

/// Decides the waiting gates that the new terms no longer leave to the program.
pub(crate) fn decide_reassigned_gates(session: &mut Session) {
    let waiting = session.calls.iter();
    let waiting = waiting.filter(|(_, call)| call.phase == Phase::AwaitingVerdict);
    let declared = waiting.filter(|(_, call)| {
        let known = session.terms.catalog.tools.contains_key(&call.name);
        known && !asks_program(session, call)
    });
    let decided = declared.map(|(seq, call)| (*seq, gate::gated(session, call)));
    for (seq, gated) in decided.collect::<Vec<_>>() {
        session.calls.set_phase(seq, gate_decided(gated));
    }
}

fn asks_program(session: &Session, call: &Call) -> bool {
    let policy = session.terms.policies.of(&call.name);
    policy.confirm && policy.gate_terms.asks_program
}

pub(crate) fn owed(session: &Session, effects: &mut Vec<Effect>) {
    owed_about(
        session,
        session.calls.iter(),
        session.deliveries.iter(),
        effects,
    );
}

/// Adds the effects that are owed for these calls and responses.
pub(crate) fn owed_about<'s>(
    session: &Session,
    calls: impl Iterator<Item = (&'s Seq, &'s Call)> + Clone,
    responses: impl Iterator<Item = (&'s Seq, &'s Delivery)>,
    effects: &mut Vec<Effect>,
) {
    let Some(runner) = session.runner else {
        return;
    };
    let verdicts = calls.clone().filter(|(_, call)| {
        call.phase == Phase::AwaitingVerdict && session.terms.catalog.tools.contains_key(&call.name)
    });
    effects.extend(verdicts.map(|(call, _)| Effect::AskHook {
        hook: Hook::ConfirmWhen,
        call: *call,
        of: None,
        runner: runner.seq,
    }));
    let ask = |hook, call, of| Effect::AskHook {
        hook,
        call,
        of,
        runner: runner.seq,
    };
    if session.terms.policies.hooks.on_tool_call {
        let waiting = calls.filter(|(_, call)| call.phase == Phase::AwaitingHook);
        effects.extend(waiting.map(|(call, _)| ask(Hook::OnToolCall, *call, None)));
    }
    if session.terms.policies.hooks.before_tool_response {
        let waiting = responses.filter(|(_, it)| it.wording == Wording::AwaitingHook);
        let shown = |(response, it): (&Seq, &Delivery)| {
            ask(Hook::BeforeToolResponse, it.call, Some(*response))
        };
        effects.extend(waiting.map(shown));
    }
}

#[cfg(test)]
#[path = "hooks_tests.rs"]
mod tests;
