//! The state of one connection on the service's side: its calls, its pending steps and the user's
//! text.
//!
//! ```text
//! connection:  awaiting setup ──setup──▶ open, or silent ──close──▶ gone
//!                    └──────anything else─────────────────────────▲
//! call:        pending ──final answer──▶ answered
//!                 └──────cancellation──▶ cancelled
//! ```

use std::collections::VecDeque;

use recount_wire::{ClientMessage, FunctionResponse, RawJson, ServerMessage, Setup};

use super::reply::{Promise, Reply};
use super::step::Step;
use super::transcript::{Answer, Standing, user_words};

/// The state of one connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    /// True if the client sent a key or a token.
    pub(super) has_key: bool,
    /// True if the client asked for resumption handles.
    pub(super) wants_handles: bool,
    /// The number of audio frames received.
    pub(super) audio_heard: u32,
    /// The pending steps.
    outbox: VecDeque<Step>,
    /// The number of the current wait, so that an abandoned wait cannot end the next one.
    ticket: u64,
    calls: Vec<Call>,
    /// The texts to send once their calls are answered.
    promises: Vec<Promise>,
    /// The number of generated ids.
    made_up: u32,
    /// The names of the non-blocking functions.
    non_blocking: Vec<String>,
    /// The user's text in turns that are not complete yet.
    heard: Vec<String>,
    /// True if the next complete turn ends the client's history.
    takes_history: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    AwaitingSetup,
    /// The script does not answer the received setup.
    Silent,
    Open,
}

#[derive(Debug)]
struct Call {
    id: Option<String>,
    name: Option<String>,
    state: CallState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    Pending,
    Answered,
    Cancelled,
}

impl Connection {
    /// Creates the state for a client that connected with or without a key or token.
    pub(super) fn begin(has_key: bool) -> Self {
        Self {
            has_key,
            ..Self::default()
        }
    }

    pub(super) fn open(&mut self, setup: &Setup) {
        self.phase = Phase::Open;
        self.takes_history = brings_history(setup);
        self.wants_handles = setup.session_resumption.is_some();
        self.non_blocking = setup
            .tools
            .iter()
            .flat_map(|tool| &tool.function_declarations)
            .filter(|declared| declared.behavior.as_deref() == Some("NON_BLOCKING"))
            .map(|declared| declared.name.clone())
            .collect();
    }

    pub(super) fn enqueue(&mut self, steps: impl IntoIterator<Item = Step>) {
        for step in steps {
            if step == Step::DropRest {
                self.outbox.clear();
                self.ticket += 1;
            } else {
                self.outbox.push_back(step);
            }
        }
    }

    /// Adds `steps` before the pending ones.
    pub(super) fn put_first(&mut self, steps: Vec<Step>) {
        for step in steps.into_iter().rev() {
            self.outbox.push_front(step);
        }
    }

    /// Takes the next step that is due. `None` before a wait.
    pub(super) fn next_due(&mut self) -> Option<Step> {
        match self.outbox.front()? {
            Step::Wait(_) => None,
            Step::Send(_)
            | Step::SendRaw(_)
            | Step::Handle(_)
            | Step::Expire(_)
            | Step::DropRest
            | Step::Read(_)
            | Step::Close { .. } => self.outbox.pop_front(),
        }
    }

    /// Returns the duration of the wait before the next step, and its ticket.
    pub(super) fn wait(&self) -> Option<(u64, std::time::Duration)> {
        match self.outbox.front()? {
            Step::Wait(duration) => Some((self.ticket, *duration)),
            Step::Send(_)
            | Step::SendRaw(_)
            | Step::Handle(_)
            | Step::Expire(_)
            | Step::DropRest
            | Step::Read(_)
            | Step::Close { .. } => None,
        }
    }

    /// Ends the wait with this ticket.
    pub(super) fn end_wait(&mut self, ticket: u64) {
        if self.wait().is_some_and(|(current, _)| current == ticket) {
            self.outbox.pop_front();
            self.ticket += 1;
        }
    }

    /// Enqueues the reply to the user's text.
    pub(super) fn reply(&mut self, reply: &Reply, words: &str) {
        let made_up = &mut self.made_up;
        let (steps, promise) = reply.to(words, || {
            *made_up += 1;
            format!("call-{made_up}")
        });
        self.promises.extend(promise);
        self.enqueue(steps);
    }

    /// Notes the response to a call, and enqueues each text whose calls are now all answered.
    pub(super) fn keep_promises(&mut self, id: Option<&str>, response: Option<&RawJson>) {
        let mut said = Vec::new();
        self.promises.retain_mut(|promise| {
            promise.note(id.unwrap_or_default(), response);
            let kept = promise.kept();
            let is_open = kept.is_none();
            said.extend(kept.into_iter().flatten());
            is_open
        });
        self.enqueue(said);
    }

    pub(super) fn has_pending_calls(&self) -> bool {
        self.calls
            .iter()
            .any(|call| call.state == CallState::Pending)
    }

    /// True if a blocking call waits for its response, during which the model takes no input.
    pub(super) fn is_blocked(&self) -> bool {
        self.calls.iter().any(|call| {
            call.state == CallState::Pending
                && !call
                    .name
                    .as_ref()
                    .is_some_and(|name| self.non_blocking.contains(name))
        })
    }

    pub(super) fn knows_call(&self, id: &str) -> bool {
        self.calls.iter().any(|call| call.id.as_deref() == Some(id))
    }

    pub(super) fn note_sent(&mut self, message: &ServerMessage) {
        if message.setup_complete.is_some() {
            self.phase = Phase::Open;
        }
        for call in message
            .tool_call
            .iter()
            .flat_map(|calls| &calls.function_calls)
        {
            // A reused id names the new call.
            self.calls
                .retain(|issued| issued.id.is_none() || issued.id != call.id);
            self.calls.push(Call {
                id: call.id.clone(),
                name: call.name.clone(),
                state: CallState::Pending,
            });
        }
        // Old settled calls are dropped, so that a long connection does not grow.
        if self.calls.len() > CALLS_MAX {
            let settled = |call: &Call| call.state != CallState::Pending;
            if let Some(oldest) = self.calls.iter().position(settled) {
                self.calls.remove(oldest);
            }
        }
        let cancelled = message
            .tool_call_cancellation
            .iter()
            .flat_map(|ids| &ids.ids);
        for id in cancelled {
            for call in &mut self.calls {
                if call.id.as_ref() == Some(id) && call.state == CallState::Pending {
                    call.state = CallState::Cancelled;
                }
            }
        }
    }

    /// Settles the call with the response's id. Without an id, settles the oldest pending call of
    /// that name.
    pub(super) fn take_answer(&mut self, response: &FunctionResponse) -> Answer {
        let answered = self.calls.iter_mut().find(|call| match &response.id {
            Some(id) => call.id.as_ref() == Some(id),
            None => call.name == response.name && call.state == CallState::Pending,
        });
        let (id, standing) = match answered {
            None => (response.id.clone(), Standing::UnknownId),
            Some(call) => (
                call.id.clone(),
                match call.state {
                    CallState::Answered => Standing::AlreadyAnswered,
                    CallState::Cancelled => Standing::Cancelled,
                    CallState::Pending if response.is_final() => {
                        call.state = CallState::Answered;
                        Standing::Accepted
                    }
                    CallState::Pending => Standing::Continues,
                },
            ),
        };
        Answer { id, standing }
    }

    /// Returns the user's text if this message completes a turn that needs an answer.
    pub(super) fn complete_turn(&mut self, message: &ClientMessage) -> Option<String> {
        let words = user_words(message);
        if message.realtime_input.is_some() {
            return (!words.is_empty()).then_some(words);
        }
        let content = message.client_content.as_ref()?;
        self.heard.extend((!words.is_empty()).then_some(words));
        if content.turn_complete != Some(true) {
            return None;
        }
        let heard = std::mem::take(&mut self.heard).join("\n");
        (!std::mem::take(&mut self.takes_history)).then_some(heard)
    }

    pub(super) fn is_answered(&self, id: &str) -> bool {
        self.calls
            .iter()
            .any(|call| call.id.as_deref() == Some(id) && call.state == CallState::Answered)
    }
}

/// The number of calls that a connection keeps, unless more are pending.
const CALLS_MAX: usize = 1_024;

fn brings_history(setup: &Setup) -> bool {
    let config = setup.history_config.as_ref();
    config.and_then(|it| it.initial_history_in_client_content) == Some(true)
}
