//! The parts of a session that are compared: its turns, its calls, and the decisions and reports
//! about each call.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::session::{Json, Seq, Speaker};

/// The content of a session, for a comparison with another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// The properties of the whole session: `agent`, `model`, `rules`, and `closed`, the reason of
    /// its close. If ids count, also `program`, `external_id`, `on_behalf_of`, and each label, as
    /// `labels/channel`.
    pub about: BTreeMap<String, String>,
    /// The turns, in order. The last one may be incomplete.
    pub turns: Vec<Turn>,
    /// The calls of all turns, in the order in which they were received.
    pub calls: Vec<CallTold>,
    /// The events that belong to no call: writes of the embedding program or of a hook to the
    /// state, pauses and their ends. If ids count, also all other records.
    pub events: Vec<EventTold>,
}

/// The words and phases of one turn, which ends with the model's turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// The text and the transcribed speech of the user.
    pub user: String,
    /// The text and the transcribed speech of the model.
    pub model: String,
    /// The phases that were entered.
    pub phases: Vec<String>,
    /// True if the user interrupted it.
    pub interrupted: bool,
}

/// The place of a record: `{"seq":6}`, or `{"line":6}` in the story of a fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// A record of the session.
    Seq(Seq),
    /// A line of the fixture's story, from 1.
    Line(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Seq(seq) => write!(f, "seq {seq}"),
            Place::Line(line) => write!(f, "line {line}"),
        }
    }
}

/// A call, with the decisions and reports about it.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTold {
    /// The place where it was received.
    pub place: Place,
    /// The index of its turn, from 0.
    pub turn: usize,
    /// The tool.
    pub tool: String,
    /// The arguments, as recorded.
    pub args: Json,
    /// The policy of the tool at the time of the call.
    pub policy: Json,
    /// The decisions of the engine: the kind and the content of each.
    pub decisions: Vec<String>,
    /// The reports of the tool, the clock and people: the kind and the content of each.
    pub reports: Vec<String>,
}

/// An event that belongs to no call.
#[derive(Clone, Debug, PartialEq)]
pub struct EventTold {
    /// The place of the event.
    pub place: Place,
    /// The index of the turn that had not ended, from 0.
    pub turn: usize,
    /// The kind of the event, and its content.
    pub said: String,
}

/// The builder of a [`Story`]. Records are named by seq, or by line number.
#[derive(Debug, Default)]
pub(super) struct StoryBuilder {
    session: BTreeMap<String, String>,
    turns: Vec<Turn>,
    turn: Turn,
    /// Set once anything has happened in the turn.
    begun: bool,
    calls: BTreeMap<u64, CallTold>,
    /// The call to which each record belongs.
    about: BTreeMap<u64, u64>,
    events: Vec<EventTold>,
}

impl StoryBuilder {
    /// Sets a property of the whole session.
    pub(super) fn known_by(&mut self, field: &str, value: &str) {
        self.session.insert(field.to_owned(), value.to_owned());
    }

    pub(super) fn enter(&mut self, phase: &str) {
        self.begun = true;
        self.turn.phases.push(phase.to_owned());
    }

    pub(super) fn say(&mut self, speaker: Speaker, text: &str) {
        self.begun = true;
        match speaker {
            Speaker::User => self.turn.user.push_str(text),
            Speaker::Model => self.turn.model.push_str(text),
        }
    }

    pub(super) fn end_turn(&mut self, interrupted: bool) {
        // An interrupted turn is also reported as completed.
        if !std::mem::take(&mut self.begun) {
            return;
        }
        let turn = std::mem::take(&mut self.turn);
        self.turns.push(Turn {
            interrupted,
            ..turn
        });
    }

    pub(super) fn call(&mut self, record: u64, place: Place, tool: &str, args: Json, policy: Json) {
        self.begun = true;
        let call = CallTold {
            place,
            turn: self.turns.len(),
            tool: tool.to_owned(),
            args,
            policy,
            decisions: Vec::new(),
            reports: Vec::new(),
        };
        self.calls.insert(record, call);
    }

    /// Adds a decision of the engine about a call.
    pub(super) fn decide(&mut self, record: u64, call: u64, line: String) {
        self.about.insert(record, call);
        if let Some(call) = self.calls.get_mut(&call) {
            call.decisions.push(line);
        }
    }

    /// True if the record is a call, or belongs to one.
    pub(super) fn is_of_call(&self, record: u64) -> bool {
        self.calls.contains_key(&record) || self.about.contains_key(&record)
    }

    /// Adds a report about a record. It is dropped if that record belongs to no call.
    pub(super) fn report(&mut self, record: u64, about: u64, line: String) {
        let call = self.about.get(&about).copied().unwrap_or(about);
        if let Some(told) = self.calls.get_mut(&call) {
            told.reports.push(line);
            self.about.insert(record, call);
        }
    }

    /// Adds an event that belongs to no call. It begins no turn, because a program may write while
    /// neither side speaks.
    pub(super) fn add_event(&mut self, place: Place, said: String) {
        let turn = self.turns.len();
        self.events.push(EventTold { place, turn, said });
    }

    pub(super) fn story(mut self) -> Story {
        self.end_turn(false);
        Story {
            about: self.session,
            turns: self.turns,
            calls: self.calls.into_values().collect(),
            events: self.events,
        }
    }
}
