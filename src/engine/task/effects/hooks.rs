//! Hooks for calls and responses, and the record of their answers.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

use crate::engine::admission::client_results::{named_tool, response_of};
use crate::engine::agents::hooks::{Calls, answers, changed, contained, withheld};
use crate::engine::effects::performer::InFlight;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::{Input, Reply};
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::session::{
    Author, Command, Effect, Hook, HookAnswered, Observation, Phase, Rejection, Seq, StateChanged,
    admit, fits, fits_state,
};
use crate::tool::{FunctionCall, State, exact_value};

impl SessionTask {
    /// Passes calls to `on_tool_call`. The calls of one frame are passed together, in their order.
    pub(in crate::engine) fn show_calls(&mut self, effects: Vec<Effect>) {
        let Some(hook) = self.agent.hooks.on_tool_call.clone() else {
            return;
        };
        // Effects of another runner belong to another process.
        let attached = self.running.attached;
        let (ours, others): (Vec<Effect>, Vec<Effect>) = effects.into_iter().partition(
            |effect| matches!(effect, Effect::AskHook { runner, .. } if attached == Some(*runner)),
        );
        for effect in others {
            self.running.performer.begun(effect, InFlight::Left);
        }
        let (mut shown, mut unread) = (Vec::new(), Vec::new());
        for effect in &ours {
            let Effect::AskHook { call, .. } = effect else {
                continue;
            };
            let Some(open) = self.stream.session.calls.get(call) else {
                continue;
            };
            let (id, name) = (open.wire_id.clone(), open.name.clone());
            match exact_value(&open.args, &[]) {
                Ok(args) => shown.push((*call, FunctionCall { id, name, args })),
                // A hook must not answer for other numbers than those received.
                Err(problem) => unread.push(unread_by_hook(*call, &problem)),
            }
        }
        if shown.is_empty() && unread.is_empty() {
            return;
        }
        let (own, state, seen) = (self.own.clone(), self.state(), self.state());
        let (before, shape) = (
            self.agent.hooks.before_tool_response.clone(),
            self.agent.policies.response,
        );
        let (written, guard) = (state.clone(), self.start_guard());
        let asking = async move {
            if !guard.may_begin() {
                return;
            }
            let calls: Calls = shown.iter().map(|(_, call)| call.clone()).collect();
            let said = match calls.is_empty() {
                true => Ok(None),
                false => contained(async move { hook(calls, state).await }).await,
            };
            let mut answers = answers(&shown, said);
            if let Some(before) = before {
                changed(&before, &shown, &mut answers, &seen, shape).await;
            }
            answers.extend(unread);
            let _ = own.send(Input::HookAnswered {
                answers,
                state: written,
                response_hook_state: seen,
            });
        };
        let task = Arc::new(AbortOnDropHandle::new(tokio::spawn(asking)));
        for effect in ours {
            self.running
                .performer
                .begun(effect, InFlight::Together(task.clone()));
        }
    }

    /// Passes a response that the engine made itself to `before_tool_response`.
    pub(super) async fn show_issued(&self, call: Seq, issued: Seq) -> Result<InFlight, Error> {
        let (Some(before), Some(delivery), Some(body)) = (
            self.agent.hooks.before_tool_response.clone(),
            self.stream.session.deliveries.get(&issued),
            self.stream.response_body(issued).await?,
        ) else {
            return Ok(InFlight::Left);
        };
        let named = (delivery.name.clone(), delivery.wire_id.clone());
        let (own, state, shape) = (self.own.clone(), self.state(), self.agent.policies.response);
        let guard = self.start_guard();
        let asking = async move {
            if !guard.may_begin() {
                return;
            }
            let changed = before.of_one(named, body, &state, shape).await;
            let answer = HookAnswered {
                hook: Hook::BeforeToolResponse,
                call,
                of: Some(issued),
                response: Some(changed),
                failure: None,
                gated: None,
                by: None,
            };
            let _ = own.send(Input::HookAnswered {
                answers: vec![answer],
                state: State::default(),
                response_hook_state: state,
            });
        };
        let task = AbortOnDropHandle::new(tokio::spawn(asking));
        Ok(InFlight::Together(Arc::new(task)))
    }

    /// Records a hook's answers and the state that it wrote.
    pub(in crate::engine) async fn hook_answered(
        &mut self,
        answers: Vec<HookAnswered>,
        state: &State,
        response_hook_state: &State,
    ) -> Result<(), Error> {
        let mut observations: Vec<Observation> = [
            self.stream.written_by(Hook::OnToolCall.as_str(), state),
            self.stream
                .written_by(Hook::BeforeToolResponse.as_str(), response_hook_state),
        ]
        .into_iter()
        .flatten()
        .collect();
        for answer in answers {
            let waits = match answer.hook {
                Hook::OnToolCall => {
                    let open = self.stream.session.calls.get(&answer.call);
                    open.is_some_and(|it| it.phase == Phase::AwaitingHook)
                }
                Hook::ConfirmWhen => {
                    let open = self.stream.session.calls.get(&answer.call);
                    open.is_some_and(|it| it.phase == Phase::AwaitingVerdict)
                }
                Hook::BeforeToolResponse => true,
            };
            if waits {
                observations.push(self.fitting(answer));
            }
        }
        self.record(observations).await
    }

    fn fitting(&self, answer: HookAnswered) -> Observation {
        let shape = self.agent.policies.response;
        let too_large = |rejection: Rejection| -> Observation {
            let mut refused = answer.clone();
            match answer.hook {
                Hook::OnToolCall => {
                    refused.response = None;
                    refused.failure = Some(format!("the hook on_tool_call failed: {rejection}"));
                }
                Hook::BeforeToolResponse => refused.response = Some(withheld(shape)),
                // A yes or no is never too large.
                Hook::ConfirmWhen => {}
            }
            refused.into()
        };
        fits(answer.clone().into()).unwrap_or_else(too_large)
    }

    /// Passes a supplied response, or the result of a client, to `before_tool_response` if it would
    /// be accepted, or might equal the recorded one. The recorded one went through the hook, too.
    ///
    /// Returns the command and reply if the hook does not apply.
    pub(in crate::engine) fn show_supplied(
        &mut self,
        mut command: Command,
        reply: Reply<Seq>,
    ) -> Option<(Command, Reply<Seq>)> {
        self.word_client_result(&mut command);
        let Some(before) = self.agent.hooks.before_tool_response.clone() else {
            return Some((command, reply));
        };
        let Some((call, response)) = response_of(&mut command) else {
            return Some((command, reply));
        };
        let response = response.clone();
        let session = &self.stream.session;
        let open = session.calls.get(&call);
        let id = open.and_then(|it| it.wire_id.clone());
        let name = named_tool(&command).or_else(|| open.map(|it| it.name.clone()));
        let name = name.unwrap_or_default();
        let admitted = admit(session, command.clone());
        let taken = admitted.is_ok();
        let compared = matches!(admitted, Err(Rejection::AlreadySupplied { .. }));
        if !taken && !compared {
            return Some((command, reply));
        }
        let (own, state, shape) = (self.own.clone(), self.state(), self.agent.policies.response);
        let (requested, guard) = (self.requested.take(), self.start_guard());
        let asking = async move {
            if !guard.may_begin() {
                return;
            }
            let changed = before.of_one((name, id), response, &state, shape).await;
            if let Some((_, response)) = response_of(&mut command) {
                *response = changed;
            }
            // For a repeat, the hook's result is only compared.
            let state = if taken { state } else { State::default() };
            let done = Input::ResponseHookDone {
                command,
                state,
                reply,
            };
            let _ = own.send(match requested {
                Some(request) => Input::Requested(request, Box::new(done)),
                None => done,
            });
        };
        self.running.extracting.retain(|task| !task.is_finished());
        self.running
            .extracting
            .push(AbortOnDropHandle::new(tokio::spawn(asking)));
        None
    }
}

impl Stream {
    /// Returns the observation of the state that a hook wrote, under the hook's name. State that
    /// does not fit a record is dropped and logged.
    pub(in crate::engine) fn written_by(&self, hook: &str, state: &State) -> Option<Observation> {
        let written = state.take_changes().and_then(|changes| {
            let author = Author::Hook(hook.to_owned());
            let nothing = changes.is_empty() || self.session.closed;
            let changed = fits_state(&self.session, StateChanged { changes, author });
            let changed = changed.map_err(|rejection| rejection.to_string())?;
            Ok((!nothing).then_some(changed))
        });
        written.unwrap_or_else(|problem| {
            let session = self.session.id;
            tracing::error!(%session, hook, problem, "what a hook wrote was dropped");
            None
        })
    }
}

/// Returns the refusal of a call whose arguments cannot be passed to `on_tool_call` without loss.
fn unread_by_hook(call: Seq, problem: &str) -> HookAnswered {
    HookAnswered {
        hook: Hook::OnToolCall,
        call,
        of: None,
        response: None,
        failure: Some(format!(
            "the hook on_tool_call was not asked, because it takes parsed arguments: {problem}"
        )),
        gated: None,
        by: None,
    }
}
