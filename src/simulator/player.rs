//! The script being played: a pure state machine over the connections of one conversation.

use crate::live::wire::{Blob, ClientMessage, ServerMessage, Setup};

use super::connection::{Connection, Phase};
use super::script::{Action, CLOSE_REASON_BYTES_MAX, Script, Trigger};
use super::transcript::{Answer, ConnectionId, Event, Side, Standing, Transcript};

/// Plays a script to whoever hands it messages, and keeps the transcript.
///
/// A rule that fires once fires once in the whole conversation; the calls of a connection end with it.
///
/// ```
/// use recount::live::wire::{ClientMessage, Setup};
/// use recount::simulator::{Player, Script};
///
/// let mut player = Player::new(Script::parse(r#"{"on": "any_text", "send": [{"say": "Hello."}]}"#)?);
/// let connection = player.connect();
/// player.receive(connection, &ClientMessage::setup(Setup { model: "m".into(), ..Setup::default() }));
/// let said = player.receive(connection, &ClientMessage::user_text("Hi"));
/// assert_eq!(said.len(), 3, "the words, the end of generation, the end of the turn");
/// # Ok::<(), recount::simulator::ScriptError>(())
/// ```
#[derive(Debug)]
pub struct Player {
    script: Script,
    /// Which rules have fired, in the order of the script.
    fired: Vec<bool>,
    connections: Vec<Connection>,
    transcript: Transcript,
}

impl Player {
    /// A player at the beginning of `script`.
    pub fn new(script: Script) -> Self {
        Self {
            fired: vec![false; script.rules.len()],
            script,
            connections: Vec::new(),
            transcript: Transcript::default(),
        }
    }

    /// A client connects.
    pub fn connect(&mut self) -> ConnectionId {
        self.connections.push(Connection::default());
        let connection = ConnectionId(u32::try_from(self.connections.len()).unwrap_or(u32::MAX));
        self.transcript.push(connection, Event::Connected);
        connection
    }

    /// A client sends a text; what is no message ends the connection.
    pub fn receive_text(&mut self, connection: ConnectionId, text: &str) -> Vec<Action> {
        match ClientMessage::decode(text) {
            Ok(message) => self.receive(connection, &message),
            Err(problem) => self.receive_unreadable(connection, &problem.to_string()),
        }
    }

    /// A client sends something that is not even text, or no message; that ends the connection.
    pub fn receive_unreadable(&mut self, connection: ConnectionId, problem: &str) -> Vec<Action> {
        if self.phase(connection) == Phase::Closed {
            return Vec::new();
        }
        let problem = problem.to_owned();
        self.transcript.push(
            connection,
            Event::Unreadable {
                problem: problem.clone(),
            },
        );
        self.perform(
            connection,
            vec![refuse(format!("Invalid JSON payload received. {problem}"))],
        )
    }

    /// A client sends a message. A closed connection hears nothing any more.
    pub fn receive(&mut self, connection: ConnectionId, message: &ClientMessage) -> Vec<Action> {
        if self.phase(connection) == Phase::Closed {
            return Vec::new();
        }
        let answers = self.take_answers(connection, message);
        self.transcript.push(
            connection,
            Event::Received {
                message: Box::new(message.clone()),
                answers: answers.clone(),
            },
        );
        let actions = match self.fault(connection, message) {
            Some(reason) => vec![refuse(reason)],
            None => self.respond(connection, message, &answers),
        };
        self.perform(connection, actions)
    }

    /// The client is gone.
    pub fn disconnect(&mut self, connection: ConnectionId, code: u16, reason: &str) {
        if self.phase(connection) == Phase::Closed {
            return;
        }
        self.close(connection, Side::Client, code, reason.to_owned());
    }

    /// What was received and sent so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Why the service would hang up on this message.
    fn fault(&self, connection: ConnectionId, message: &ClientMessage) -> Option<String> {
        match message.payloads().as_slice() {
            [_] => {}
            [] => {
                return Some(message.other.iter().next().map_or_else(
                    || "Request contains no payload.".to_owned(),
                    |(name, _)| format!("Invalid JSON payload received. Unknown name \"{name}\"."),
                ));
            }
            several => {
                return Some(format!(
                    "Request contains an invalid argument: expected one payload, found {}.",
                    several.join(" and ")
                ));
            }
        }
        match (self.phase(connection), message.setup.is_some()) {
            (Phase::AwaitingSetup, false) => {
                return Some("The first message must be setup.".to_owned());
            }
            (Phase::Open | Phase::Closed, true) => {
                return Some("setup must be the first message and only that.".to_owned());
            }
            (Phase::AwaitingSetup, true) | (Phase::Open | Phase::Closed, false) => {}
        }
        let input = message.realtime_input.as_ref()?;
        let mut blobs = input
            .audio
            .iter()
            .chain(&input.video)
            .chain(&input.media_chunks);
        blobs
            .any(|blob: &Blob| blob.bytes().is_none())
            .then(|| "Request contains an invalid argument: data is not base64.".to_owned())
    }

    /// What the service does on a message without fault.
    fn respond(
        &mut self,
        connection: ConnectionId,
        message: &ClientMessage,
        answers: &[Answer],
    ) -> Vec<Action> {
        if let Some(setup) = &message.setup {
            return self.open(connection, setup);
        }
        if message.tool_response.is_some() {
            return self.fire_for_answers(connection, answers);
        }
        let completed = self
            .state(connection)
            .and_then(|state| state.complete_turn(message));
        completed.map_or_else(Vec::new, |words| self.fire_for_words(connection, &words))
    }

    fn open(&mut self, connection: ConnectionId, setup: &Setup) -> Vec<Action> {
        if let Some(state) = self.state(connection) {
            state.open(setup);
        }
        let mut actions = vec![Action::Send(Box::new(ServerMessage::setup_complete()))];
        actions.extend(self.fire_first(connection, |trigger| *trigger == Trigger::Setup));
        actions
    }

    fn fire_for_words(&mut self, connection: ConnectionId, words: &str) -> Vec<Action> {
        let words = words.to_lowercase();
        let fitting = self.first(connection, |trigger| match trigger {
            Trigger::Text(part) => words.contains(part),
            Trigger::AnyText => true,
            Trigger::Setup | Trigger::Otherwise | Trigger::ResponsesTo(_) => false,
        });
        match fitting {
            Some(rule) => self.fire(rule),
            None => self.fire_first(connection, |trigger| *trigger == Trigger::Otherwise),
        }
    }

    /// Fires every rule whose calls are all answered, the last of them by this message.
    fn fire_for_answers(&mut self, connection: ConnectionId, answers: &[Answer]) -> Vec<Action> {
        let just_settled: Vec<&str> = answers
            .iter()
            .filter(|answer| answer.standing == Standing::Accepted)
            .filter_map(|answer| answer.id.as_deref())
            .collect();
        let is_answered = |player: &Self, id: &String| {
            player
                .state_ref(connection)
                .is_some_and(|state| state.is_answered(id))
        };
        let mut actions = Vec::new();
        for rule in 0..self.script.rules.len() {
            let completes = self.fits(rule, connection, |trigger| match trigger {
                Trigger::ResponsesTo(ids) => {
                    ids.iter().any(|id| just_settled.contains(&id.as_str()))
                        && ids.iter().all(|id| is_answered(self, id))
                }
                Trigger::Setup | Trigger::Text(_) | Trigger::AnyText | Trigger::Otherwise => false,
            });
            if completes {
                actions.extend(self.fire(rule));
            }
        }
        actions
    }

    fn fire_first(
        &mut self,
        connection: ConnectionId,
        fits: impl Fn(&Trigger) -> bool,
    ) -> Vec<Action> {
        self.first(connection, fits)
            .map(|rule| self.fire(rule))
            .unwrap_or_default()
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

    fn fire(&mut self, rule: usize) -> Vec<Action> {
        if let Some(fired) = self.fired.get_mut(rule) {
            *fired = true;
        }
        self.script
            .rules
            .get(rule)
            .map(|rule| rule.actions.clone())
            .unwrap_or_default()
    }

    /// Notes what the actions do to the connection; what follows a close is not done.
    fn perform(&mut self, connection: ConnectionId, actions: Vec<Action>) -> Vec<Action> {
        let mut performed = Vec::with_capacity(actions.len());
        for action in actions {
            if self.phase(connection) == Phase::Closed {
                break;
            }
            match &action {
                Action::Send(message) => {
                    self.transcript
                        .push(connection, Event::Sent(message.clone()));
                    if let Some(state) = self.state(connection) {
                        state.note_sent(message);
                    }
                }
                Action::Close { code, reason } => {
                    self.close(connection, Side::Service, *code, reason.clone());
                }
            }
            performed.push(action);
        }
        performed
    }

    fn close(&mut self, connection: ConnectionId, by: Side, code: u16, reason: String) {
        if let Some(state) = self.state(connection) {
            state.phase = Phase::Closed;
        }
        self.transcript
            .push(connection, Event::Closed { by, code, reason });
    }

    fn take_answers(&mut self, connection: ConnectionId, message: &ClientMessage) -> Vec<Answer> {
        let Some(state) = self.state(connection) else {
            return Vec::new();
        };
        message
            .tool_response
            .iter()
            .flat_map(|answers| &answers.function_responses)
            .map(|response| state.take_answer(response))
            .collect()
    }

    /// A connection that nobody opened is as good as closed.
    fn phase(&self, connection: ConnectionId) -> Phase {
        self.state_ref(connection)
            .map_or(Phase::Closed, |state| state.phase)
    }

    fn state_ref(&self, connection: ConnectionId) -> Option<&Connection> {
        self.connections.get(index(connection)?)
    }

    fn state(&mut self, connection: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(index(connection)?)
    }
}

fn index(connection: ConnectionId) -> Option<usize> {
    usize::try_from(connection.0).ok()?.checked_sub(1)
}

/// Hangs up as the real service does on what it does not understand.
fn refuse(mut reason: String) -> Action {
    let end = (0..=CLOSE_REASON_BYTES_MAX.min(reason.len()))
        .rev()
        .find(|&end| reason.is_char_boundary(end));
    reason.truncate(end.unwrap_or(0));
    Action::Close { code: 1007, reason }
}
