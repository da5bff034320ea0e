//! One call that has not ended on record: what is said of it in both worlds, and for how long its
//! tool and its question may last.

use crate::session::{About, Decision, ObjectHash, Seq, Start, Timestamp};

use super::report::{CallReport, Told, Unknown};

/// One call in both worlds.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) tool: String,
    at: Timestamp,
    /// A program made it, so the model hears nothing of it.
    pub(super) is_the_programs: bool,
    heard: Option<Seq>,
    /// The questions about it on record.
    pub(super) requests: Vec<Seq>,
    /// The one of them that waits for an answer.
    pub(super) open_request: Option<Seq>,
    was_ready: bool,
    took_result: bool,
    pub(super) recorded: Told,
    pub(super) under: Told,
    pub(super) unknown: Option<Unknown>,
    /// By what equal calls know it in the other world.
    pub(super) keys: [Option<ObjectHash>; 2],
    /// How often its tool was started on record.
    pub(super) attempts: u32,
    /// What a person was asked last on record.
    pub(super) asked_about: Option<About>,
    runs: [Option<Lasting>; 2],
    questions: [Option<Lasting>; 2],
    /// Since when the run on record waits for an answer, and how long it did before, in
    /// microseconds.
    waits_since: Option<Timestamp>,
    waited_us: i64,
}

/// Something that began, and how long it may last, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Lasting {
    since: Timestamp,
    limit_us: Option<i64>,
}

/// The places in a pair: on record, and in the other world.
const RECORDED: usize = 0;
const OTHER: usize = 1;

impl Story {
    pub(super) fn new(
        tool: String,
        at: Timestamp,
        is_the_programs: bool,
        heard: Option<Seq>,
    ) -> Story {
        Story {
            tool,
            at,
            is_the_programs,
            heard,
            requests: Vec::new(),
            open_request: None,
            was_ready: false,
            took_result: false,
            recorded: Told::default(),
            under: Told::default(),
            unknown: None,
            keys: [None; 2],
            attempts: 0,
            asked_about: None,
            runs: [None; 2],
            questions: [None; 2],
            waits_since: None,
            waited_us: 0,
        }
    }

    /// Nothing was said of it in either world.
    pub(super) fn is_empty(&self) -> bool {
        self.unknown.is_none() && self.recorded == Told::default() && self.under == Told::default()
    }

    /// It is the same in both worlds so far.
    pub(super) fn agrees(&self) -> bool {
        self.unknown.is_none() && self.recorded == self.under
    }

    pub(super) fn on_record(&mut self, at: Timestamp, decision: &Decision) {
        self.recorded.note(decision);
        if let Decision::CallStarted(it) = decision {
            self.attempts = it.attempt;
            (self.waits_since, self.waited_us) = (None, 0);
        }
        if let Decision::CallReady(_) = decision {
            self.was_ready = true;
        }
        if let Decision::ResultReused(_) = decision {
            self.took_result = true;
        }
        if let Some(question) = decision.question() {
            self.asked_about = Some(question.about);
        }
        // An expired or withdrawn question lets a run that waits where it stands go on.
        let ends = matches!(
            decision,
            Decision::ConfirmationExpired(_) | Decision::ConfirmationWithdrawn(_)
        );
        if ends {
            self.open_request = None;
            self.goes_on(at);
        }
        begins(&mut self.runs, &mut self.questions, RECORDED, at, decision);
    }

    pub(super) fn in_the_other_world(&mut self, at: Timestamp, decision: &Decision) {
        self.under.note(decision);
        begins(&mut self.runs, &mut self.questions, OTHER, at, decision);
    }

    /// Whether it might start on record by the same verdict and did not, so that only a place for
    /// it was missing.
    pub(super) fn waits_for_place(&self) -> bool {
        let might_start = self.was_ready && !self.took_result;
        self.attempts == 0 && might_start && self.recorded.verdict == self.under.verdict
    }

    /// Whether that start is the last on record.
    pub(super) fn runs_on_record(&self, attempt: u32) -> bool {
        attempt > 0 && self.attempts == attempt
    }

    /// A start on record whose tool had not begun does not count.
    pub(super) fn not_begun(&mut self, it: Start) {
        if self.attempts == it.attempt {
            self.attempts = it.attempt.saturating_sub(1);
        }
    }

    /// The run on record waits for an answer where it stands, which counts towards no limit.
    pub(super) fn asks_in_place(&mut self, at: Timestamp, in_place: bool) {
        self.waits_since = Some(at).filter(|_| in_place);
    }

    pub(super) fn goes_on(&mut self, at: Timestamp) {
        if let Some(since) = self.waits_since.take() {
            self.waited_us = self.waited_us.saturating_add(span(since, at));
        }
    }

    /// Whether the run on record took longer by now than it might have in the other world. Where
    /// the limit is the same, the record says when it was over.
    pub(super) fn is_over_limit(&self, at: Timestamp) -> bool {
        let [Some(recorded), Some(other)] = self.runs else {
            return false;
        };
        let until = self.waits_since.unwrap_or(at);
        let ran_us = span(recorded.since, until).saturating_sub(self.waited_us);
        !self.has_recorded_limit() && other.limit_us.is_some_and(|limit| ran_us > limit)
    }

    pub(super) fn has_recorded_limit(&self) -> bool {
        same_limit(self.runs)
    }

    /// Whether the question on record waited longer by now than it might have in the other world.
    pub(super) fn has_expired(&self, at: Timestamp) -> bool {
        let [Some(recorded), Some(other)] = self.questions else {
            return false;
        };
        let waited_us = span(recorded.since, at);
        !self.has_recorded_expiry() && other.limit_us.is_some_and(|limit| waited_us >= limit)
    }

    pub(super) fn has_recorded_expiry(&self) -> bool {
        same_limit(self.questions)
    }

    pub(super) fn report(self, call: Seq) -> CallReport {
        CallReport {
            call,
            at: self.at,
            tool: self.tool,
            recorded: self.recorded,
            under: self.under,
            unknown: self.unknown,
            heard: self.heard,
        }
    }
}

/// Notes since when a run or a question lasts, and for how long it may.
fn begins(
    runs: &mut [Option<Lasting>; 2],
    questions: &mut [Option<Lasting>; 2],
    world: usize,
    at: Timestamp,
    decision: &Decision,
) {
    let lasting = |due: Option<Timestamp>| Lasting {
        since: at,
        limit_us: due.map(|due| span(at, due)),
    };
    if let Decision::CallStarted(it) = decision
        && let Some(run) = runs.get_mut(world)
    {
        *run = Some(lasting(it.deadline_us));
    }
    if let Some(asked) = decision.question()
        && let Some(question) = questions.get_mut(world)
    {
        *question = Some(lasting(asked.expires_at_us));
    }
}

fn same_limit(pair: [Option<Lasting>; 2]) -> bool {
    let [Some(recorded), Some(other)] = pair else {
        return false;
    };
    recorded.limit_us == other.limit_us
}

fn span(from: Timestamp, until: Timestamp) -> i64 {
    until.0.saturating_sub(from.0)
}
