//! The player of a script: a pure state machine over the connections of one conversation.

use std::collections::BTreeMap;
use std::time::Duration;

use recount_wire::{ClientMessage, ServerMessage, SessionResumptionUpdate, SetupComplete};

use super::connection::{Connection, Phase};
use super::expectation::{Unmet, handle_of};
use super::faults::{self, Fault};
use super::handles::Handles;
use super::script::Script;
use super::step::{RawFrame, Step};
use super::transcript::{Answer, ConnectionId, Event, Side, Standing, Transcript};
use super::trigger::{Signal, Trigger};

/// A player that takes messages, plays a script and keeps the transcript.
///
/// A rule that fires once fires once per conversation. The calls of a connection end with it.
///
/// ```
/// use recount_wire::{ClientMessage, Setup};
/// use recount_simulator::{Player, Script};
///
/// let mut player = Player::new(Script::parse(
///     r#"{"on": "any_text", "send": [{"say": "Hello."}]}"#,
/// )?);
/// let connection = player.connect();
/// player.receive(
///     connection,
///     &ClientMessage::setup(Setup {
///         model: "m".into(),
///         ..Setup::default()
///     }),
/// );
/// let said = player.receive(connection, &ClientMessage::user_text("Hi"));
/// assert_eq!(said.len(), 3, "the words, the end of generation, the end of the turn");
/// # Ok::<(), recount_simulator::ScriptError>(())
/// ```
#[derive(Debug)]
pub struct Player {
    script: Script,
    /// True for each rule that has fired, in the order of the script.
    fired: Vec<bool>,
    /// The open connections.
    connections: BTreeMap<ConnectionId, Connection>,
    connected: u32,
    handles: Handles,
    transcript: Transcript,
}

/// An action of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a message.
    Send(Box<ServerMessage>),
    /// Sends a frame that need not be a message.
    SendRaw(RawFrame),
    /// Stops or resumes reading from the client.
    Read(bool),
    /// Closes the connection. With code 1006, sends no close frame.
    Close {
        /// The WebSocket close code.
        code: u16,
        /// The reason for the client.
        reason: String,
    },
}

/// A pause before the next action. It may be abandoned before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    ticket: u64,
    /// The duration.
    pub duration: Duration,
}

impl Player {
    /// Creates a player at the beginning of `script`.
    pub fn new(script: Script) -> Self {
        Self {
            fired: vec![false; script.rules.len()],
            script,
            connections: BTreeMap::new(),
            connected: 0,
            handles: Handles::default(),
            transcript: Transcript::default(),
        }
    }

    /// Stops keeping the transcript.
    pub(super) fn forget(&mut self) {
        self.transcript.forget();
    }

    /// Connects a client that has the required key. The service's actions are [`due`](Self::due).
    pub fn connect(&mut self) -> ConnectionId {
        self.connect_with(true)
    }

    /// Connects a client with or without a key.
    pub(super) fn connect_with(&mut self, has_key: bool) -> ConnectionId {
        self.connected += 1;
        let id = ConnectionId(self.connected);
        self.connections.insert(id, Connection::begin(has_key));
        self.transcript.push(id, Event::Connected);
        self.fire_first(id, |trigger| *trigger == Trigger::Connect);
        id
    }

    /// Receives a text from a client. A text that is not a message ends the connection.
    pub fn receive_text(&mut self, connection: ConnectionId, text: &str) -> Vec<Action> {
        match ClientMessage::decode(text) {
            Ok(message) => self.receive(connection, &message),
            Err(problem) => self.receive_unreadable(connection, &problem.to_string()),
        }
    }

    /// Receives data that is not a message, which ends the connection.
    pub fn receive_unreadable(&mut self, connection: ConnectionId, problem: &str) -> Vec<Action> {
        if !self.connections.contains_key(&connection) {
            return Vec::new();
        }
        let problem = problem.to_owned();
        let reason = format!("Invalid JSON payload received. {problem}");
        self.transcript
            .push(connection, Event::Unreadable { problem });
        self.refuse(connection, Fault::new(1007, reason));
        self.due(connection)
    }

    /// Receives a message from a client. Messages on a closed connection are ignored.
    pub fn receive(&mut self, connection: ConnectionId, message: &ClientMessage) -> Vec<Action> {
        let Some(state) = self.connections.get_mut(&connection) else {
            return Vec::new();
        };
        let fault = faults::fault(&self.script.service, state, message);
        let answers: Vec<Answer> = message
            .tool_response
            .iter()
            .flat_map(|answers| &answers.function_responses)
            .map(|response| state.take_answer(response))
            .collect();
        self.transcript.push(
            connection,
            Event::Received {
                message: Box::new(message.clone()),
                answers: answers.clone(),
            },
        );
        match fault {
            Some(fault) => self.refuse(connection, fault),
            None => self.respond(connection, message, &answers),
        }
        self.due(connection)
    }

    /// Returns the actions that are due on a connection, in order. Actions after a wait are not
    /// due.
    pub fn due(&mut self, connection: ConnectionId) -> Vec<Action> {
        let mut actions = Vec::new();
        while let Some(step) = self
            .connections
            .get_mut(&connection)
            .and_then(Connection::next_due)
        {
            actions.extend(self.perform(connection, step));
        }
        actions
    }

    /// Returns the wait before more actions are due on a connection.
    pub fn wait(&self, connection: ConnectionId) -> Option<Wait> {
        let (ticket, duration) = self.connections.get(&connection)?.wait()?;
        Some(Wait { ticket, duration })
    }

    /// Ends a wait and returns the actions that are now due. Returns none for an abandoned wait.
    pub fn wake(&mut self, connection: ConnectionId, wait: Wait) -> Vec<Action> {
        if let Some(state) = self.connections.get_mut(&connection) {
            state.end_wait(wait.ticket);
        }
        self.due(connection)
    }

    /// Notes that the client has disconnected.
    pub fn disconnect(&mut self, connection: ConnectionId, code: u16, reason: &str) {
        self.close(connection, Side::Client, code, reason.to_owned());
    }

    /// The messages received and sent so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Returns the expectations of the script that are not met so far.
    pub fn unmet(&self) -> Vec<Unmet> {
        self.script
            .expectations
            .iter()
            .filter_map(|expectation| expectation.unmet(&self.transcript))
            .collect()
    }

    /// The newest open connection.
    pub(super) fn newest(&self) -> Option<ConnectionId> {
        self.connections.keys().next_back().copied()
    }

    /// Enqueues a step that is not from a rule, after the pending ones.
    pub(super) fn enqueue(&mut self, connection: ConnectionId, step: Step) {
        if let Some(state) = self.connections.get_mut(&connection) {
            state.enqueue([step]);
        }
    }

    /// True if the message resumes a session while an older connection is still open.
    pub(super) fn meets_another(&self, connection: ConnectionId, message: &ClientMessage) -> bool {
        self.script.service.refuses_overlap
            && handle_of(message).is_some()
            && self.another_is_open(connection)
    }

    pub(super) fn sends_text(&self) -> bool {
        self.script.service.sends_text
    }

    /// Enqueues the service's reaction to a valid message.
    fn respond(&mut self, connection: ConnectionId, message: &ClientMessage, answers: &[Answer]) {
        if message.setup.is_some() {
            return self.open(connection, message);
        }
        let Some(state) = self.connections.get_mut(&connection) else {
            return;
        };
        if state.phase != Phase::Open {
            return;
        }
        if let Some(response) = &message.tool_response {
            let accepted = answers
                .iter()
                .zip(&response.function_responses)
                .filter(|(answer, _)| answer.standing == Standing::Accepted);
            for (answer, response) in accepted {
                state.keep_promises(answer.id.as_deref(), response.response.as_ref());
            }
            return self.fire_for_answers(connection, answers);
        }
        let completed = state.complete_turn(message);
        self.fire_for_input(connection, message);
        if let Some(words) = completed {
            self.fire_for_words(connection, &words);
        }
    }

    fn open(&mut self, connection: ConnectionId, message: &ClientMessage) {
        let another_is_open = self.another_is_open(connection);
        let is_valid = |handle: &str| self.handles.is_valid(handle);
        let fault = faults::resumption(&self.script.service, message, is_valid, another_is_open);
        if let Some(fault) = fault {
            return self.refuse(connection, fault);
        }
        let handle = handle_of(message);
        let rule = self.first(connection, |trigger| match trigger {
            Trigger::Setup(kind) => kind.fits(handle),
            Trigger::Connect
            | Trigger::Text(_)
            | Trigger::AnyText
            | Trigger::Otherwise
            | Trigger::ResponsesTo(_)
            | Trigger::Audio(_)
            | Trigger::Signal(_) => false,
        });
        let completes = rule
            .and_then(|rule| self.script.rules.get(rule))
            .is_none_or(|rule| rule.completes);
        if let (Some(state), Some(setup)) = (self.connections.get_mut(&connection), &message.setup)
        {
            state.open(setup);
            if completes {
                let complete = SetupComplete {
                    session_id: self.script.service.session_id.clone(),
                    ..SetupComplete::default()
                };
                state.enqueue([Step::Send(Box::new(ServerMessage {
                    setup_complete: Some(complete),
                    ..ServerMessage::default()
                }))]);
            } else {
                state.phase = Phase::Silent;
            }
        }
        if let Some(rule) = rule {
            self.fire(connection, rule);
        }
    }

    /// Fires rules for audio and activity signals.
    fn fire_for_input(&mut self, connection: ConnectionId, message: &ClientMessage) {
        let Some(input) = &message.realtime_input else {
            return;
        };
        let chunks = input.media_chunks.iter().filter(|chunk| {
            let mime_type = chunk.mime_type.as_deref().unwrap_or_default();
            mime_type.starts_with("audio/")
        });
        for _ in input.audio.iter().chain(chunks) {
            let heard = self.connections.get_mut(&connection).map_or(0, |state| {
                state.audio_heard = state.audio_heard.saturating_add(1);
                state.audio_heard
            });
            self.fire_first(connection, |trigger| *trigger == Trigger::Audio(heard));
        }
        let signals = [
            (Signal::ActivityStart, input.activity_start.is_some()),
            (Signal::ActivityEnd, input.activity_end.is_some()),
            (Signal::AudioStreamEnd, input.audio_stream_end == Some(true)),
        ];
        for (signal, _) in signals.iter().filter(|(_, came)| *came) {
            self.fire_first(connection, |trigger| *trigger == Trigger::Signal(*signal));
        }
    }

    fn fire_for_words(&mut self, connection: ConnectionId, words: &str) {
        let lowered = words.to_lowercase();
        let fitting = self.first(connection, |trigger| match trigger {
            Trigger::Text(part) => lowered.contains(part),
            Trigger::AnyText => true,
            Trigger::Connect
            | Trigger::Setup(_)
            | Trigger::Otherwise
            | Trigger::ResponsesTo(_)
            | Trigger::Audio(_)
            | Trigger::Signal(_) => false,
        });
        if let Some(rule) = fitting {
            return self.fire(connection, rule);
        }
        let reply = self.script.replies.iter().find(|it| it.fits(&lowered));
        if let Some(reply) = reply
            && let Some(state) = self.connections.get_mut(&connection)
        {
            return state.reply(reply, words);
        }
        self.fire_first(connection, |trigger| *trigger == Trigger::Otherwise);
    }

    /// Fires each rule whose calls are now all answered.
    fn fire_for_answers(&mut self, connection: ConnectionId, answers: &[Answer]) {
        let just_settled: Vec<&str> = answers
            .iter()
            .filter(|answer| answer.standing == Standing::Accepted)
            .filter_map(|answer| answer.id.as_deref())
            .collect();
        for rule in 0..self.script.rules.len() {
            let completes = self.fits(rule, connection, |trigger| match trigger {
                Trigger::ResponsesTo(ids) => {
                    let state = self.connections.get(&connection);
                    ids.iter().any(|id| just_settled.contains(&id.as_str()))
                        && ids
                            .iter()
                            .all(|id| state.is_some_and(|state| state.is_answered(id)))
                }
                Trigger::Connect
                | Trigger::Setup(_)
                | Trigger::Text(_)
                | Trigger::AnyText
                | Trigger::Otherwise
                | Trigger::Audio(_)
                | Trigger::Signal(_) => false,
            });
            if completes {
                self.fire(connection, rule);
            }
        }
    }

    fn fire_first(&mut self, connection: ConnectionId, fits: impl Fn(&Trigger) -> bool) {
        if let Some(rule) = self.first(connection, fits) {
            self.fire(connection, rule);
        }
    }

    fn first(&self, connection: ConnectionId, fits: impl Fn(&Trigger) -> bool) -> Option<usize> {
        (0..self.script.rules.len()).find(|&rule| self.fits(rule, connection, &fits))
    }

    fn fits(&self, rule: usize, connection: ConnectionId, fits: impl Fn(&Trigger) -> bool) -> bool {
        let has_fired = self.fired.get(rule) == Some(&true);
        self.script.rules.get(rule).is_some_and(|rule| {
            !(rule.once && has_fired)
                && rule.connection.is_none_or(|only| only == connection.0)
                && fits(&rule.trigger)
        })
    }

    fn fire(&mut self, connection: ConnectionId, rule: usize) {
        if let Some(fired) = self.fired.get_mut(rule) {
            *fired = true;
        }
        let rule = self.script.rules.get(rule);
        if let (Some(state), Some(rule)) = (self.connections.get_mut(&connection), rule) {
            state.enqueue(rule.steps.iter().cloned());
        }
    }

    /// Closes the connection and drops the pending steps.
    fn refuse(&mut self, connection: ConnectionId, fault: Fault) {
        if let Some(state) = self.connections.get_mut(&connection) {
            state.enqueue([Step::DropRest, fault.close()]);
        }
    }

    /// Applies a step to the connection's state, and returns the action for the transport.
    fn perform(&mut self, connection: ConnectionId, step: Step) -> Option<Action> {
        match step {
            Step::Send(message) => {
                // A handle becomes valid in whatever way the script sends it.
                let update = message.session_resumption_update.as_ref();
                if let Some(handle) = update.and_then(|it| it.new_handle.as_deref()) {
                    self.handles.issue(handle);
                }
                self.send(connection, &message);
                Some(Action::Send(message))
            }
            Step::SendRaw(frame) => {
                self.transcript
                    .push(connection, Event::SentRaw(frame.clone()));
                Some(Action::SendRaw(frame))
            }
            Step::Handle(handle) => {
                if let Some(handle) = &handle {
                    self.handles.issue(handle);
                }
                let update = resumption_update(handle);
                // A client that did not ask for handles gets none.
                self.connections.get(&connection)?.wants_handles.then(|| {
                    self.transcript
                        .push(connection, Event::Sent(update.clone()));
                    Action::Send(update)
                })
            }
            Step::Expire(handle) => {
                self.handles.expire(&handle);
                None
            }
            Step::Read(reads) => Some(Action::Read(reads)),
            Step::Close { code, reason } => {
                self.close(connection, Side::Service, code, reason.clone());
                Some(Action::Close { code, reason })
            }
            // These steps are handled when they are enqueued or waited for.
            Step::DropRest | Step::Wait(_) => None,
        }
    }

    fn send(&mut self, connection: ConnectionId, message: &ServerMessage) {
        self.transcript
            .push(connection, Event::Sent(Box::new(message.clone())));
        let Some(state) = self.connections.get_mut(&connection) else {
            return;
        };
        state.note_sent(message);
        if !self.script.service.issues_handles {
            return;
        }
        let is_at_rest = message.setup_complete.is_some()
            || message
                .server_content
                .as_ref()
                .is_some_and(|content| content.turn_complete == Some(true));
        if message.tool_call.is_some() {
            state.put_first(vec![Step::Handle(None)]);
        } else if is_at_rest && !state.has_pending_calls() {
            state.put_first(vec![Step::Handle(Some(self.handles.issue_new()))]);
        }
    }

    fn close(&mut self, connection: ConnectionId, by: Side, code: u16, reason: String) {
        if self.connections.remove(&connection).is_some() {
            self.transcript
                .push(connection, Event::Closed { by, code, reason });
        }
    }

    fn another_is_open(&self, connection: ConnectionId) -> bool {
        self.connections
            .iter()
            .any(|(id, state)| *id != connection && state.phase == Phase::Open)
    }
}

fn resumption_update(handle: Option<String>) -> Box<ServerMessage> {
    Box::new(ServerMessage {
        session_resumption_update: Some(SessionResumptionUpdate {
            resumable: Some(handle.is_some()),
            new_handle: handle,
            ..SessionResumptionUpdate::default()
        }),
        ..ServerMessage::default()
    })
}
