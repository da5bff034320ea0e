//! One connection as the service sees it: its calls, and what was said on it.
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

/// What the service knows of one connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    /// Whether the client brought a key or a token.
    pub(super) has_key: bool,
    /// Whether the client asked for handles.
    pub(super) wants_handles: bool,
    /// Frames of sound heard.
    pub(super) audio_heard: u32,
    /// What is still to be done.
    outbox: VecDeque<Step>,
    /// Changes with every wait, so that one that was given up is not taken for the next.
    ticket: u64,
    calls: Vec<Call>,
    /// What is said once calls are answered.
    promises: Vec<Promise>,
    /// How many ids were made up.
    made_up: u32,
    /// The functions whose calls do not block.
    non_blocking: Vec<String>,
    /// Words said in turns that are not complete yet.
    heard: Vec<String>,
    /// Whether the next complete turn ends the history that the client hands over.
    takes_history: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    AwaitingSetup,
    /// A setup came, and the script answers it with nothing.
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
    /// A client is there, with a key or a token or without.
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

    /// Does `steps` before what is still to be done.
    pub(super) fn put_first(&mut self, steps: Vec<Step>) {
        for step in steps.into_iter().rev() {
            self.outbox.push_front(step);
        }
    }

    /// What is to be done now: nothing where a wait comes first.
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

    /// How long to wait before the next step, under a ticket.
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

    /// The wait of `ticket` is over.
    pub(super) fn end_wait(&mut self, ticket: u64) {
        if self.wait().is_some_and(|(current, _)| current == ticket) {
            self.outbox.pop_front();
            self.ticket += 1;
        }
    }

    /// Answers the user's words.
    pub(super) fn reply(&mut self, reply: &Reply, words: &str) {
        let made_up = &mut self.made_up;
        let (steps, promise) = reply.to(words, || {
            *made_up += 1;
            format!("call-{made_up}")
        });
        self.promises.extend(promise);
        self.enqueue(steps);
    }

    /// Says what was promised for when this call is answered, too.
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

    /// Whether the model waits for an answer and hears nothing until then.
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
            // An id that is issued again names the new call.
            self.calls
                .retain(|issued| issued.id.is_none() || issued.id != call.id);
            self.calls.push(Call {
                id: call.id.clone(),
                name: call.name.clone(),
                state: CallState::Pending,
            });
        }
        // What was settled long ago may be forgotten: a connection that lasts does not grow.
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

    /// Settles the call that `response` answers: by id, or, where it names none, the oldest pending
    /// one of that name.
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

    /// The words of the turn that this message completes, if it completes one that the model
    /// answers.
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

/// How many calls a connection remembers, unless more are pending.
const CALLS_MAX: usize = 1_024;

fn brings_history(setup: &Setup) -> bool {
    let config = setup.history_config.as_ref();
    config.and_then(|it| it.initial_history_in_client_content) == Some(true)
}
