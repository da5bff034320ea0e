//! Predicates of gates: asked outside the session's loop, and their answers recorded.

use crate::engine::effects::performer::InFlight;
use crate::engine::inputs::inbox::Input;
use crate::engine::task::session_task::SessionTask;
use crate::session::{Hook, HookAnswered, Seq};
use crate::tool::{State, exact_value, verdict};

impl SessionTask {
    /// Asks the tool's predicate about a call, with the arguments that the tool would get.
    pub(super) fn ask_verdict(&self, seq: Seq) -> InFlight {
        let Some(call) = self.stream.session.calls.get(&seq) else {
            return InFlight::Left;
        };
        let tool = self.agent.dispatcher.shared(&call.name);
        let (args, own, guard, state) = (
            self.stream.opened_arguments(call),
            self.own.clone(),
            self.start_guard(),
            self.state(),
        );
        InFlight::begin(tokio_util::sync::CancellationToken::new(), async move {
            if !guard.may_begin() {
                return;
            }
            let said = match (tool, args) {
                (Some(tool), Ok(args)) => match exact_value(&args, &[]) {
                    Ok(args) => verdict(&tool, args, state).await,
                    Err(_) => Err("its arguments have a number that a parsed value does not hold"),
                },
                (Some(_), Err(_)) => Err("its arguments cannot be opened"),
                (None, _) => Err("the tool is not here"),
            };
            let problem = said.err();
            let answer = HookAnswered {
                hook: Hook::ConfirmWhen,
                call: seq,
                of: None,
                response: None,
                failure: problem.map(|it| format!("the predicate of the gate failed: {it}")),
                gated: said.ok(),
                by: None,
            };
            let _ = own.send(Input::HookAnswered {
                answers: vec![answer],
                state: State::default(),
                response_hook_state: State::default(),
            });
        })
    }
}
