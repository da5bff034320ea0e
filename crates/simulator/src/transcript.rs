//! The messages that the service received and sent, in order.

use std::fmt;

use recount_wire::{ClientMessage, FunctionResponse, ServerMessage};

use super::expectation::handle_of;
use super::step::RawFrame;

/// The events on the connections of one conversation, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    entries: Vec<Entry>,
    forgets: bool,
}

/// The number of a connection, from 1 in the order of connecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// An event on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The connection.
    pub connection: ConnectionId,
    /// The event.
    pub event: Event,
}

/// The kinds of events on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client connected.
    Connected,
    /// The client sent a message.
    Received {
        /// The message.
        message: Box<ClientMessage>,
        /// The relation of each response in it to the calls of this connection.
        answers: Vec<Answer>,
    },
    /// The client sent data that is not a message.
    Unreadable {
        /// The fault.
        problem: String,
    },
    /// The service sent a message.
    Sent(Box<ServerMessage>),
    /// The service sent a frame that need not be a message.
    SentRaw(RawFrame),
    /// The connection ended.
    Closed {
        /// The side that ended it.
        by: Side,
        /// The close code; 1006 without a close frame.
        code: u16,
        /// The reason.
        reason: String,
    },
}

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Client,
    /// The simulator.
    Service,
}

/// The relation of a response to the calls of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The id in the response.
    pub id: Option<String>,
    /// The relation.
    pub standing: Standing,
}

/// The relation of a response to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The response settled the call.
    Accepted,
    /// The response announces further ones for the call.
    Continues,
    /// The response was ignored, because this connection issued no such call.
    UnknownId,
    /// The response was ignored, because the call was settled before.
    AlreadyAnswered,
    /// The response was ignored, because the call was cancelled.
    Cancelled,
}

impl Transcript {
    /// All entries, in order.
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
    /// player.receive(
    ///     first,
    ///     &ClientMessage::setup(Setup {
    ///         model: "m".into(),
    ///         ..Setup::default()
    ///     }),
    /// );
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

    /// Returns the handle in the setup of a connection.
    pub fn handle_brought(&self, connection: ConnectionId) -> Option<&str> {
        self.received_on(connection).find_map(handle_of)
    }

    /// True if a connection has ended.
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

    /// Returns the text that the model received from the user, one string for each message with
    /// text.
    pub fn told(&self) -> impl Iterator<Item = (ConnectionId, String)> {
        self.received()
            .map(|(connection, message)| (connection, user_words(message)))
            .filter(|(_, words)| !words.is_empty())
    }

    /// The responses received, with their relation to the calls.
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

    /// The number of clients that have connected.
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

    /// Stops keeping entries.
    pub(super) fn forget(&mut self) {
        self.forgets = true;
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Returns the user's text in a message, in any of its forms.
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
