//! The course of one call in both worlds until it ends on record, with its time limits.

use crate::session::{About, Decision, ObjectHash, Request, Seq, Start, Timestamp};

use super::report::{CallReport, Told, Unknown};

/// One call in both worlds.
#[derive(Debug)]
pub(super) struct CallCourse {
    pub(super) tool: String,
    at: Timestamp,
    /// True if a program made the call, so the model receives no response.
    pub(super) is_the_programs: bool,
    heard: Option<Seq>,
    /// The recorded questions about it.
    pub(super) requests: Vec<Seq>,
    /// The recorded question that waits for an answer, with its approvals on record.
    pub(super) open_request: Option<(Seq, Request)>,
    /// True if a recorded answer was given to a question of the other world.
    pub(super) was_answered: bool,
    was_ready: bool,
    took_result: bool,
    pub(super) recorded: Told,
    pub(super) under: Told,
    pub(super) unknown: Option<Unknown>,
    /// The keys by which equal calls find it in the other world.
    pub(super) keys: [Option<ObjectHash>; 2],
    /// The number of recorded starts of its tool.
    pub(super) attempts: u32,
    /// True if a client holds the last recorded start.
    pub(super) is_at_client: bool,
    /// The subject of the last recorded question.
    pub(super) asked_about: Option<About>,
    runs: [Option<Lasting>; 2],
    questions: [Option<Lasting>; 2],
    /// The time since which the recorded run waits for an answer. `waited_us` is the sum of its
    /// earlier waits, in microseconds.
    waits_since: Option<Timestamp>,
    waited_us: i64,
}

/// The start of a run or a question, and its time limit in microseconds.
#[derive(Clone, Copy, Debug)]
struct Lasting {
    since: Timestamp,
    limit_us: Option<i64>,
}

/// The indices in a pair: the recorded session, and the other world.
const RECORDED: usize = 0;
const OTHER: usize = 1;

impl CallCourse {
    pub(super) fn new(
        tool: String,
        at: Timestamp,
        is_the_programs: bool,
        heard: Option<Seq>,
    ) -> CallCourse {
        CallCourse {
            tool,
            at,
            is_the_programs,
            heard,
            requests: Vec::new(),
            open_request: None,
            was_answered: false,
            was_ready: false,
            took_result: false,
            recorded: Told::default(),
            under: Told::default(),
            unknown: None,
            keys: [None; 2],
            attempts: 0,
            is_at_client: false,
            asked_about: None,
            runs: [None; 2],
            questions: [None; 2],
            waits_since: None,
            waited_us: 0,
        }
    }

    /// True if no decision about the call was made in either world.
    pub(super) fn is_empty(&self) -> bool {
        self.unknown.is_none() && self.recorded == Told::default() && self.under == Told::default()
    }

    /// True if the call has had the same course in both worlds so far.
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
        // A run that asked in place continues when its question expires or is withdrawn.
        let ends = matches!(
            decision,
            Decision::ConfirmationExpired(_) | Decision::ConfirmationWithdrawn(_)
        );
        if ends {
            self.open_request = None;
            self.continues(at);
        }
        begins(&mut self.runs, &mut self.questions, RECORDED, at, decision);
    }

    pub(super) fn in_other_world(&mut self, at: Timestamp, decision: &Decision) {
        self.under.note(decision);
        begins(&mut self.runs, &mut self.questions, OTHER, at, decision);
    }

    /// True if the call was ready on record with the same verdict, but never started. Only a free
    /// slot was missing then.
    pub(super) fn waits_for_place(&self) -> bool {
        let might_start = self.was_ready && !self.took_result;
        self.attempts == 0 && might_start && self.recorded.verdict == self.under.verdict
    }

    /// The recorded question, if it is this one and waits for an answer.
    pub(super) fn waits_for(&mut self, request: Seq) -> Option<&mut Request> {
        let (open, asked) = self.open_request.as_mut()?;
        (*open == request).then_some(asked)
    }

    /// True if the attempt is the last recorded one.
    pub(super) fn runs_on_record(&self, attempt: u32) -> bool {
        attempt > 0 && self.attempts == attempt
    }

    /// Removes a recorded start whose tool had not begun.
    ///
    /// Only runs of a runner can be taken back, and only if they do not wait for an answer.
    pub(super) fn not_begun(&mut self, it: Start) {
        let runs = !self.is_at_client && self.waits_since.is_none();
        if runs && self.attempts == it.attempt {
            self.attempts = it.attempt.saturating_sub(1);
        }
    }

    /// Begins a wait of a run that asks in place. Such waits do not count towards the time limit.
    pub(super) fn asks_in_place(&mut self, at: Timestamp, in_place: bool) {
        self.waits_since = Some(at).filter(|_| in_place);
    }

    pub(super) fn continues(&mut self, at: Timestamp) {
        if let Some(since) = self.waits_since.take() {
            self.waited_us = self.waited_us.saturating_add(span(since, at));
        }
    }

    /// True if the recorded run has exceeded its time limit of the other world. If the limit is the
    /// same, the record itself shows the timeout.
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

    /// True if the recorded question has waited longer than it may in the other world.
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

/// Notes the start and the time limit of a run or a question.
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
