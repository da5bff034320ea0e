//! Random histories for property tests.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::history::{History, history};
use super::toolbox::Toolbox;
use super::world_words::answer_to;
use crate::deciding::step::owed;
use crate::json::Json;
use crate::record::hook::Hook;
use crate::record::observation::{DeadlinePassed, HookAnswered, ResponsesSent, ToolReturned};
use crate::state::effect::Effect;

/// The maximum number of moves in a history.
const MOVES_MAX: usize = 60;

/// Returns random histories of a session with these tools.
///
/// Tools are called, asked about, approved or denied; they return, fail, are cancelled and time
/// out, while the connection comes and goes. Each history is built through the real step, so it is
/// possible. A failing history shrinks to fewer moves.
///
/// ```
/// use proptest::prelude::*;
/// use recount_session::testing::{histories, toolbox};
///
/// // No gated tool starts before an approval.
/// proptest!(|(history in histories(toolbox().gated("refund")))| {
///     let kinds = history.kinds();
///     let agreed = kinds.iter().position(|it| *it == "confirmation_answered");
///     let started = kinds.iter().position(|it| *it == "call_started");
///     prop_assert!(started.is_none() || agreed.is_some_and(|agreed| Some(agreed) < started));
/// });
/// ```
pub fn histories(tools: Toolbox) -> impl Strategy<Value = History> {
    let moves = vec(any::<[u8; 3]>(), 0..MOVES_MAX);
    moves.prop_map(move |moves| {
        let begun = history().opened("support").attached(&tools).connected();
        let numbered = moves.into_iter().zip(1_usize..);
        numbered.fold(begun, |told, (dice, number)| {
            moved(told, &tools, dice, number)
        })
    })
}

/// Makes the move that three random bytes choose. Returns the history unchanged if the move is
/// impossible.
fn moved(told: History, tools: &Toolbox, [what, which, how]: [u8; 3], number: usize) -> History {
    let connected = told.session().connection.is_some();
    match what % 10 {
        0..=2 if connected => {
            let names: Vec<&String> = tools.catalog().tools.keys().collect();
            let name = names.get(usize::from(which) % names.len().max(1));
            // Rarely, the model calls a tool that does not exist.
            let name = name
                .filter(|_| how != u8::MAX)
                .map_or("absent", |it| it.as_str());
            told.call(&format!("c{number}"), name, json!({"n": how % 3}))
        }
        3..=6 => paid(told, which, how),
        7 if connected && how.is_multiple_of(2) => taken_back(told, which),
        7 if connected => told.user_text("And now?").turn_ended(),
        8 if connected => told.disconnected(),
        8 => told.connected(),
        9 => told.later(u64::from(how) * 1_000),
        _ => told,
    }
}

/// Cancels one of the open calls in the model's name.
fn taken_back(told: History, which: u8) -> History {
    let open: Vec<String> = told
        .session()
        .calls
        .values()
        .filter_map(|call| call.wire_id.clone())
        .collect();
    match open.get(usize::from(which) % open.len().max(1)) {
        Some(id) => told.taken_back(id),
        None => told,
    }
}

/// Performs one of the owed effects.
fn paid(told: History, which: u8, how: u8) -> History {
    let mut debts = owed(told.session());
    if debts.is_empty() {
        return told;
    }
    let debt = debts.swap_remove(usize::from(which) % debts.len());
    let well = !how.is_multiple_of(4);
    match debt {
        Effect::RunTool { call, attempt, .. } => told.observed(ToolReturned {
            call,
            attempt,
            failed: !well,
            response: Json::of(&json!({"n": how})),
            error_kind: (!well).then(|| "execution_failed".to_owned()),
            scheduling: None,
            ends_session: (well && how % 32 == 1).then(|| "goodbye".to_owned()),
        }),
        Effect::AskConfirmation { request, .. } => {
            told.commanded(answer_to(request, well, None, "ada"))
        }
        Effect::SendResponse {
            response, epoch, ..
        } => {
            let responses = vec![response];
            told.observed(ResponsesSent { epoch, responses })
        }
        Effect::AskHook { hook, call, of, .. } => told.observed(HookAnswered {
            hook,
            call,
            of,
            response: None,
            failure: None,
            gated: (hook == Hook::ConfirmWhen).then_some(well),
            by: None,
        }),
        Effect::SendInstruction { .. } => told.instructed(),
        Effect::Connect => told.connected(),
        Effect::CloseSession { .. } => told.closed_by_its_tool(),
        Effect::ArmTimer { deadline, due_us } => {
            let wait_us = due_us.0.saturating_sub(told.now().0).max(0);
            let wait_ms = u64::try_from(wait_us).unwrap_or_default().div_ceil(1_000);
            told.later(wait_ms)
                .observed(DeadlinePassed { deadline, due_us })
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::BTreeSet;

    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    use super::*;
    use crate::testing::toolbox;
    use crate::{Decision, Event, Observation};

    #[test]
    fn histories_reach_every_end_that_is_promised() {
        let tools = toolbox()
            .plain("look")
            .gated("refund")
            .expires_ms("refund", 1_000)
            .timeout_ms("look", 1_000);
        let (mut runner, strategy) = (TestRunner::deterministic(), histories(tools));
        let mut met = BTreeSet::new();
        for _ in 0..200 {
            let told = strategy.new_tree(&mut runner).unwrap().current();
            for fact in told.facts() {
                match &fact.event {
                    Event::Decided(Decision::ResponseIssued(it)) => {
                        met.insert(format!("{:?}", it.outcome));
                    }
                    Event::Observed(Observation::ConfirmationAnswered(it)) if it.confirmed => {
                        met.insert("Granted".to_owned());
                    }
                    event => {
                        met.insert(event.kind().to_owned());
                    }
                }
            }
        }
        let promised = [
            "Granted",
            "Denied",
            "Returned",
            "Failed",
            "TimedOut",
            "Expired",
            "call_cancellation_received",
            "call_cancelled",
            "confirmation_withdrawn",
            "disconnected",
        ];
        let missing: Vec<_> = promised.iter().filter(|it| !met.contains(**it)).collect();
        assert!(missing.is_empty(), "{missing:?} of {met:?}");
    }
}
