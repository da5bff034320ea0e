//! What of a session is compared: its turns, its calls, and what was decided and reported about
//! each.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::session::{Json, Seq, Speaker};

/// A session as it is compared with another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// What the session as a whole is known by: `agent`, `model`, `rules`, and `closed`, the reason
    /// of its close. Where ids count, also `program`, `external_id`, `on_behalf_of`, and each
    /// label, as `labels/channel`.
    pub about: BTreeMap<String, String>,
    /// The turns, in their order; the last one may not have ended.
    pub turns: Vec<Turn>,
    /// The calls of all turns, in the order in which they came.
    pub calls: Vec<CallTold>,
    /// What happened and is about no call: what the program or a hook wrote to the state, and where
    /// ids count every other record.
    pub events: Vec<EventTold>,
}

/// What was said until the model had ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// What the user wrote, and what was heard of the user.
    pub user: String,
    /// What the model wrote, and what was heard of it.
    pub model: String,
    /// The phases that were entered.
    pub phases: Vec<String>,
    /// Whether the user cut it short.
    pub interrupted: bool,
}

/// Where something stands: `{"seq":6}`, or `{"line":6}` in the story of a fixture.
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

/// A call, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTold {
    /// Where it was received.
    pub place: Place,
    /// Its turn, from 0.
    pub turn: usize,
    /// The tool.
    pub tool: String,
    /// The arguments, as they are on record.
    pub args: Json,
    /// The policy of the tool that held when the call came.
    pub policy: Json,
    /// What the engine decided, a kind and what it says each.
    pub decisions: Vec<String>,
    /// What the tool, the clock and persons reported, a kind and what it says each.
    pub reports: Vec<String>,
}

/// Something that is about no call.
#[derive(Clone, Debug, PartialEq)]
pub struct EventTold {
    /// Where it stands.
    pub place: Place,
    /// The turn that had not ended, from 0.
    pub turn: usize,
    /// Its kind, and what it says.
    pub said: String,
}

/// A story as it grows. Records are named by their seqs, or by the numbers of their lines.
#[derive(Debug, Default)]
pub(super) struct Growing {
    session: BTreeMap<String, String>,
    turns: Vec<Turn>,
    turn: Turn,
    /// Whether anything has happened in the turn.
    begun: bool,
    calls: BTreeMap<u64, CallTold>,
    /// The call that a record is about.
    about: BTreeMap<u64, u64>,
    events: Vec<EventTold>,
}

impl Growing {
    /// The session as a whole is known by this.
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
        // A turn that was cut short is told to have ended, too.
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

    /// The engine decided this about a call.
    pub(super) fn decide(&mut self, record: u64, call: u64, line: String) {
        self.about.insert(record, call);
        if let Some(call) = self.calls.get_mut(&call) {
            call.decisions.push(line);
        }
    }

    /// Whether a record is a call, or about one.
    pub(super) fn is_of_call(&self, record: u64) -> bool {
        self.calls.contains_key(&record) || self.about.contains_key(&record)
    }

    /// Somebody reported this about a record; it counts where that is of a call.
    pub(super) fn report(&mut self, record: u64, about: u64, line: String) {
        let call = self.about.get(&about).copied().unwrap_or(about);
        if let Some(told) = self.calls.get_mut(&call) {
            told.reports.push(line);
            self.about.insert(record, call);
        }
    }

    /// This happened, and is about no call. It begins no turn, because a program may write while
    /// nobody speaks.
    pub(super) fn happen(&mut self, place: Place, said: String) {
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
