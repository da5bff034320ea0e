//! The parts of the picture before anything has a place: lanes, stretches, marks, bands.

use recount::session::{Outcome, Seq};

/// The position of a fact among the facts of the picture.
pub(super) type Index = usize;

/// The state of a call over a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Received; no verdict yet.
    Received,
    /// Judged, and about to be asked about, to start or to end.
    Judged,
    /// An approver is asked.
    Waiting,
    /// The tool runs.
    Running,
    /// The work continues elsewhere: the result comes from outside, or from other calls.
    Paused,
    /// The run was cut off; its outcome is unknown.
    InDoubt,
    /// The call has ended; its response waits for a connection.
    Late,
}

impl State {
    pub(super) fn class(self) -> &'static str {
        match self {
            State::Received => "received",
            State::Judged => "judged",
            State::Waiting => "waiting",
            State::Running => "running",
            State::Paused => "paused",
            State::InDoubt => "doubt",
            State::Late => "late",
        }
    }

    pub(super) fn in_words(self) -> &'static str {
        match self {
            State::Received => "received",
            State::Judged => "judged, not started",
            State::Waiting => "waiting for approval",
            State::Running => "running",
            State::Paused => "waiting for its result",
            State::InDoubt => "in doubt",
            State::Late => "response waits for a connection",
        }
    }
}

/// A stretch of time in which a call had one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) state: State,
    pub(super) from: Index,
    /// The end; `None` if the state lasts.
    pub(super) to: Option<Index>,
}

/// The kind of a mark, which decides on its shape. Of merged marks the highest kind is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MarkKind {
    Other,
    Judged,
    Turn,
    Model,
    User,
    Connection,
    Runner,
    Started,
    Received,
    Returned,
    Asked,
    Answered,
    Sent,
    Response,
    Pause,
    Late,
    Cancelled,
    Closed,
}

impl MarkKind {
    pub(super) fn class(self) -> &'static str {
        match self {
            MarkKind::Other => "other",
            MarkKind::Judged => "judged",
            MarkKind::Turn => "turn",
            MarkKind::Model => "model",
            MarkKind::User => "user",
            MarkKind::Connection => "connection",
            MarkKind::Runner => "runner",
            MarkKind::Started => "started",
            MarkKind::Received => "received",
            MarkKind::Returned => "returned",
            MarkKind::Asked => "asked",
            MarkKind::Answered => "answered",
            MarkKind::Sent => "sent",
            MarkKind::Response => "response",
            MarkKind::Pause => "pause",
            MarkKind::Late => "late",
            MarkKind::Cancelled => "cancelled",
            MarkKind::Closed => "closed",
        }
    }
}

/// An event in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) at: Index,
    pub(super) kind: MarkKind,
}

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    /// The seq of the call.
    pub(super) call: Seq,
    /// The tool's name, as the model wrote it.
    pub(super) name: String,
    /// True if the model of an agent made the call.
    pub(super) is_nested: bool,
    pub(super) received: Index,
    pub(super) stretches: Vec<Stretch>,
    pub(super) marks: Vec<Mark>,
    pub(super) outcome: Option<Outcome>,
}

impl Lane {
    /// True if the last state lasts.
    pub(super) fn lasts(&self) -> bool {
        self.stretches.last().is_some_and(|it| it.to.is_none())
    }

    /// The state that lasts.
    pub(super) fn state(&self) -> Option<State> {
        let last = self.stretches.last().filter(|it| it.to.is_none());
        last.map(|it| it.state)
    }

    /// Ends the state that lasts.
    pub(super) fn leave(&mut self, at: Index) {
        if let Some(last) = self.stretches.last_mut()
            && last.to.is_none()
        {
            last.to = Some(at);
        }
    }

    /// Ends the state that lasts and begins another one.
    pub(super) fn enter(&mut self, state: State, at: Index) {
        if self.state() == Some(state) {
            return;
        }
        self.leave(at);
        self.stretches.push(Stretch {
            state,
            from: at,
            to: None,
        });
    }

    pub(super) fn mark(&mut self, at: Index, kind: MarkKind) {
        self.marks.push(Mark { at, kind });
    }
}

/// A stretch of time of the whole session: a connection or a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) from: Index,
    /// The end; `None` if it lasts.
    pub(super) to: Option<Index>,
    /// True if it was cut short: a lost connection, an interrupted turn.
    pub(super) is_cut: bool,
}
