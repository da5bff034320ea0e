//! One connection as the service sees it: its calls, and what was said on it.
//!
//! ```text
//! connection:  awaiting setup ──setup──▶ open ──close──▶ closed
//!                    └──────anything else──────────────────▲
//! call:        pending ──final answer──▶ answered
//!                 └──────cancellation──▶ cancelled
//! ```

use crate::live::wire::{ClientMessage, FunctionResponse, ServerMessage, Setup};

use super::transcript::{Answer, Standing, user_words};

/// What the service knows of one connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    calls: Vec<Call>,
    /// Words said in turns that are not complete yet.
    heard: Vec<String>,
    /// Whether the next complete turn ends the history that the client hands over.
    takes_history: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    AwaitingSetup,
    Open,
    Closed,
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
    pub(super) fn open(&mut self, setup: &Setup) {
        self.phase = Phase::Open;
        self.takes_history = brings_history(setup);
    }

    pub(super) fn note_sent(&mut self, message: &ServerMessage) {
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

    /// Settles the call that `response` answers: by id, or, where it names none, the oldest pending one of that name.
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

    /// The words of the turn that this message completes, if it completes one that the model answers.
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

fn brings_history(setup: &Setup) -> bool {
    let config = setup.history_config.as_ref();
    config.and_then(|it| it.initial_history_in_client_content) == Some(true)
}
