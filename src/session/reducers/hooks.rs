//! Calls and responses that the embedding program looks at first.
//!
//! ```text
//! function_call_received ─▶ AwaitingHook ─ hook_answered ─┬─ a response ─▶ Supplied
//!                                                         ├─ nothing ────▶ Received, and on as ever
//!                                                         └─ a failure ──▶ Refused
//! response_issued ─▶ Wording::AwaitingHook ─ hook_answered ─▶ Wording::Hooked ─▶ sent
//! ```
//!
//! A hook is code that may have done the tool's work. So one that was cut off is in doubt, like a run.

use crate::session::call::{Call, Flaw, Leave, Phase};
use crate::session::effect::Effect;
use crate::session::hook::{Hook, HookAnswered};
use crate::session::id::Seq;
use crate::session::policy::{InDoubt, PolicySet};
use crate::session::state::{Session, Wording};

use super::{phases, redelivery};

/// Where a call that was just received begins.
///
/// What the model got wrong, and what is not there in this phase, no hook needs to see.
pub(in crate::session) fn first_phase(session: &Session, call: &Call) -> Phase {
    let sound = match &call.flaw {
        None => true,
        // Of a tool that nobody declares, no arguments are right; the program may know it all the same.
        Some(Flaw::InvalidArgs(_)) => !session.terms.catalog.tools.contains_key(&call.name),
        Some(Flaw::MissingName | Flaw::MalformedArgs(_)) => false,
    };
    let asked = session.terms.policies.hooks.on_tool_call
        && sound
        && !call.made_by_program
        && phases::unavailable(session, call).is_none();
    if asked {
        Phase::AwaitingHook
    } else {
        Phase::Received
    }
}

pub(in crate::session) fn answered(session: &mut Session, seq: Seq, it: &HookAnswered) {
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
        Hook::BeforeToolResponse => {
            let Some(issued) = it.of else {
                return;
            };
            let wording = match it.response {
                Some(_) => Wording::Hooked(seq),
                None => Wording::AsIssued,
            };
            let delivery = session.deliveries.get_mut(&issued);
            if let Some(delivery) = delivery.filter(|it| it.wording == Wording::AwaitingHook) {
                delivery.wording = wording;
                redelivery::worded(session, issued, wording);
            }
        }
    }
}

/// What becomes of a call whose hook was cut off.
pub(in crate::session) fn cut_off(policies: &PolicySet, call: &Call) -> Phase {
    match policies.of(&call.name).in_doubt {
        InDoubt::Retry if policies.hooks.on_tool_call => Phase::AwaitingHook,
        InDoubt::Retry => Phase::Received,
        InDoubt::Ask | InDoubt::SettleUnknown => Phase::InDoubt {
            leave: Leave::NotGated,
        },
    }
}

pub(in crate::session) fn owed(session: &Session, effects: &mut Vec<Effect>) {
    let Some(runner) = session.runner else {
        return;
    };
    let ask = |call, of| Effect::AskHook {
        call,
        of,
        runner: runner.seq,
    };
    if session.terms.policies.hooks.on_tool_call {
        let waiting = session.calls.iter();
        let waiting = waiting.filter(|(_, call)| call.phase == Phase::AwaitingHook);
        effects.extend(waiting.map(|(call, _)| ask(*call, None)));
    }
    if session.terms.policies.hooks.before_tool_response {
        let waiting = session.deliveries.iter();
        let waiting = waiting.filter(|(_, it)| it.wording == Wording::AwaitingHook);
        effects.extend(waiting.map(|(response, it)| ask(it.call, Some(*response))));
    }
}

#[cfg(test)]
#[path = "hooks_tests.rs"]
mod tests;
