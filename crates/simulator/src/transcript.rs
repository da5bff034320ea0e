//! What the service received and sent, in order.

use std::fmt;

use recount_wire::{ClientMessage, FunctionResponse, ServerMessage};

use super::expectation::handle_of;
use super::step::RawFrame;

/// Everything that went over the connections of one conversation, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    entries: Vec<Entry>,
    forgets: bool,
}

/// One connection, numbered from 1 in the order of connecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// One thing that happened on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where.
    pub connection: ConnectionId,
    /// What.
    pub event: Event,
}

/// What happened on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client connected.
    Connected,
    /// The client sent a message.
    Received {
        /// The message.
        message: Box<ClientMessage>,
        /// How each answer in it stands to the calls of this connection.
        answers: Vec<Answer>,
    },
    /// The client sent something that is no message.
    Unreadable {
        /// What is wrong with it.
        problem: String,
    },
    /// The service sent a message.
    Sent(Box<ServerMessage>),
    /// The service sent a frame that need not be a message.
    SentRaw(RawFrame),
    /// The connection ended.
    Closed {
        /// Who ended it.
        by: Side,
        /// The close code; 1006 where there was no close frame.
        code: u16,
        /// The reason.
        reason: String,
    },
}

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Who connected.
    Client,
    /// The simulator.
    Service,
}

/// How an answer stands to the calls of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The id it names.
    pub id: Option<String>,
    /// How it stands.
    pub standing: Standing,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It settled the call.
    Accepted,
    /// More answers to the call are announced.
    Continues,
    /// This connection issued no such call, so the answer was ignored.
    UnknownId,
    /// The call was settled before, so the answer was ignored.
    AlreadyAnswered,
    /// The call was cancelled, so the answer was ignored.
    Cancelled,
}

impl Transcript {
    /// Everything, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The messages received.
    pub fn received(&self) -> impl Iterator<Item = (ConnectionId, &ClientMessage)> {
        self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Received { message, .. } => Some((entry.connection, message.as_ref())),
            Event::Connected
            | Event::Unreadable { .. }
            | Event::Sent(_)
            | Event::SentRaw(_)
            | Event::Closed { .. } => None,
        })
    }

    /// The messages received on one connection.
    ///
    /// ```
    /// use recount_wire::{ClientMessage, Setup};
    /// use recount_simulator::{Player, Script};
    ///
    /// let mut player = Player::new(Script::default());
    /// let first = player.connect();
    /// player.receive(first, &ClientMessage::setup(Setup { model: "m".into(), ..Setup::default() }));
    /// player.disconnect(first, 1000, "");
    /// let second = player.connect();
    /// let transcript = player.transcript();
    /// assert_eq!(transcript.received_on(first).count(), 1);
    /// assert_eq!(transcript.received_on(second).count(), 0);
    /// assert!(transcript.is_closed(first) && !transcript.is_closed(second));
    /// ```
    pub fn received_on(&self, connection: ConnectionId) -> impl Iterator<Item = &ClientMessage> {
        self.received()
            .filter(move |(on, _)| *on == connection)
            .map(|(_, message)| message)
    }

    /// The handle that the setup of a connection brought.
    pub fn handle_brought(&self, connection: ConnectionId) -> Option<&str> {
        self.received_on(connection).find_map(handle_of)
    }

    /// Whether a connection has ended.
    pub fn is_closed(&self, connection: ConnectionId) -> bool {
        self.entries.iter().any(|entry| {
            entry.connection == connection && matches!(entry.event, Event::Closed { .. })
        })
    }

    /// The messages sent.
    pub fn sent(&self) -> impl Iterator<Item = (ConnectionId, &ServerMessage)> {
        self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Sent(message) => Some((entry.connection, message.as_ref())),
            Event::Connected
            | Event::Received { .. }
            | Event::Unreadable { .. }
            | Event::SentRaw(_)
            | Event::Closed { .. } => None,
        })
    }

    /// What the model was told in the user's name, a text for each message that holds words.
    pub fn told(&self) -> impl Iterator<Item = (ConnectionId, String)> {
        self.received()
            .map(|(connection, message)| (connection, user_words(message)))
            .filter(|(_, words)| !words.is_empty())
    }

    /// The answers received, and how they stood.
    pub fn answers(&self) -> impl Iterator<Item = (ConnectionId, &FunctionResponse, Standing)> {
        self.entries
            .iter()
            .filter_map(|entry| match &entry.event {
                Event::Received { message, answers } => {
                    Some((entry.connection, message.tool_response.as_ref()?, answers))
                }
                Event::Connected
                | Event::Unreadable { .. }
                | Event::Sent(_)
                | Event::SentRaw(_)
                | Event::Closed { .. } => None,
            })
            .flat_map(|(connection, responses, answers)| {
                responses
                    .function_responses
                    .iter()
                    .zip(answers)
                    .map(move |(response, answer)| (connection, response, answer.standing))
            })
    }

    /// How many clients have connected.
    pub fn connections(&self) -> usize {
        self.entries
            .iter()
            .filter(|entry| entry.event == Event::Connected)
            .count()
    }

    pub(super) fn push(&mut self, connection: ConnectionId, event: Event) {
        if !self.forgets {
            self.entries.push(Entry { connection, event });
        }
    }

    /// Keeps nothing from here on.
    pub(super) fn forget(&mut self) {
        self.forgets = true;
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The words of the user in a message, however they were sent.
pub(super) fn user_words(message: &ClientMessage) -> String {
    let turns = message.client_content.iter().flat_map(|content| {
        content
            .turns
            .iter()
            .filter(|turn| turn.role.as_deref() != Some("model"))
            .map(|turn| turn.spoken())
    });
    let realtime = message
        .realtime_input
        .iter()
        .filter_map(|input| input.text.clone());
    let words: Vec<String> = turns
        .chain(realtime)
        .filter(|text| !text.is_empty())
        .collect();
    words.join("\n")
}
