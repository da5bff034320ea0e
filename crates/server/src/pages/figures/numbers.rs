//! The numbers of the page, computed from the requests.

use std::collections::BTreeMap;

use recount::audit::QuestionEnd;
use recount::session::{Actor, Timestamp};
use recount_telling::acted;

use super::chosen::Span;
use super::reading::Asked;
use super::times::Times;

/// The numbers of ended requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) allowed: u64,
    pub(super) denied: u64,
    /// The requests about interrupted calls whose outcome was found.
    pub(super) settled: u64,
    pub(super) expired: u64,
    /// The requests that expired, and whose call ran then.
    pub(super) unanswered: u64,
    pub(super) withdrawn: u64,
}

impl Ends {
    pub(super) fn all(&self) -> u64 {
        self.allowed + self.denied + self.settled + self.expired + self.unanswered + self.withdrawn
    }

    fn add(&mut self, end: QuestionEnd) {
        match end {
            QuestionEnd::Approved => self.allowed += 1,
            QuestionEnd::Denied => self.denied += 1,
            QuestionEnd::SettledAsDone | QuestionEnd::SettledAsFailed => self.settled += 1,
            QuestionEnd::Expired => self.expired += 1,
            QuestionEnd::AllowedUnanswered => self.unanswered += 1,
            QuestionEnd::Withdrawn => self.withdrawn += 1,
            // The request in its place counts.
            QuestionEnd::Open | QuestionEnd::Superseded => {}
        }
    }
}

/// The numbers of one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) start: Timestamp,
    /// The requests of the interval.
    pub(super) asked: u64,
    /// The waiting times of the decisions in it.
    pub(super) times: Times,
    /// The requests that were open at its end.
    pub(super) open: u64,
}

/// The numbers of one tool or one approver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) asked: u64,
    pub(super) ends: Ends,
    pub(super) times: Times,
}

/// The numbers of the page.
#[derive(Default)]
pub(super) struct Numbers {
    pub(super) asked: u64,
    pub(super) open_now: u64,
    pub(super) ends: Ends,
    /// The waiting times of the decisions of people.
    pub(super) times: Times,
    pub(super) steps: Vec<Step>,
    pub(super) tools: Vec<(String, Group)>,
    /// The parties that answered, with how their names were verified.
    pub(super) approvers: Vec<(String, Group)>,
}

impl Numbers {
    pub(super) fn of(all: &[Asked], span: Span) -> Numbers {
        let mut numbers = Numbers {
            steps: span
                .starts()
                .map(|start| Step {
                    start,
                    ..Step::default()
                })
                .collect(),
            ..Numbers::default()
        };
        let (mut tools, mut approvers) = (BTreeMap::new(), BTreeMap::new());
        for asked in all {
            numbers.add(asked, span);
            add_to_tool(&mut tools, asked, span);
            add_to_approvers(&mut approvers, asked, span);
        }
        numbers.tools = largest_first(tools, |it| it.ends.all().max(it.asked));
        numbers.approvers = largest_first(approvers, |it| it.ends.all());
        numbers
    }

    fn add(&mut self, asked: &Asked, span: Span) {
        if let Some(step) = span.step_of(asked.at).and_then(|it| self.steps.get_mut(it)) {
            self.asked += 1;
            step.asked += 1;
        }
        if asked.is_open_at(span.now) {
            self.open_now += 1;
        }
        let last = self.steps.len().saturating_sub(1);
        for (number, step) in self.steps.iter_mut().enumerate() {
            let is_open = match number == last {
                true => asked.is_open_at(span.now),
                false => asked.is_open_before(span.end_of(step.start)),
            };
            step.open += u64::from(is_open);
        }
        let Some((end, at)) = asked.ended.filter(|(_, at)| span.covers(*at)) else {
            return;
        };
        self.ends.add(end);
        if let Some(waited) = asked.decided_after() {
            self.times.add(waited);
            if let Some(step) = span.step_of(at).and_then(|it| self.steps.get_mut(it)) {
                step.times.add(waited);
            }
        }
    }
}

impl Asked {
    fn is_open_at(&self, at: Timestamp) -> bool {
        self.at <= at && self.ended.is_none_or(|(_, ended)| at < ended)
    }

    /// True if the request was open just before this time, the start of the next interval.
    fn is_open_before(&self, at: Timestamp) -> bool {
        self.at < at && self.ended.is_none_or(|(_, ended)| at <= ended)
    }

    /// The time from the request to the decision of a person, in microseconds. Programs answer at
    /// once, and would hide how long people take.
    fn decided_after(&self) -> Option<i64> {
        let (end, at) = self.ended?;
        let is_decision = match end {
            QuestionEnd::Approved
            | QuestionEnd::Denied
            | QuestionEnd::SettledAsDone
            | QuestionEnd::SettledAsFailed => true,
            QuestionEnd::Open
            | QuestionEnd::Expired
            | QuestionEnd::AllowedUnanswered
            | QuestionEnd::Withdrawn
            | QuestionEnd::Superseded => false,
        };
        let by_program = self.by.as_ref().is_some_and(Actor::is_program);
        (is_decision && !by_program).then(|| at.0.saturating_sub(self.at.0))
    }
}

fn add_to_tool(tools: &mut BTreeMap<String, Group>, asked: &Asked, span: Span) {
    let is_asked = span.covers(asked.at);
    let ended = asked.ended.filter(|(_, at)| span.covers(*at));
    if !is_asked && ended.is_none() {
        return;
    }
    let tool = tools.entry(asked.tool.clone()).or_default();
    tool.asked += u64::from(is_asked);
    if let Some((end, _)) = ended {
        tool.ends.add(end);
        if let Some(waited) = asked.decided_after() {
            tool.times.add(waited);
        }
    }
}

/// Adds the answer that ended a request, and the approvals before it.
fn add_to_approvers(approvers: &mut BTreeMap<String, Group>, asked: &Asked, span: Span) {
    let earlier = asked.approvals.iter();
    let earlier = earlier.map(|(by, at)| (by, *at, QuestionEnd::Approved));
    let last = asked.by.as_ref().zip(asked.ended);
    let last = last.map(|(by, (end, at))| (by, at, end));
    for (by, at, end) in earlier.chain(last).filter(|(_, at, _)| span.covers(*at)) {
        let name = acted("", by).trim_start().to_owned();
        let group = approvers.entry(name).or_default();
        group.ends.add(end);
        group.times.add(at.0.saturating_sub(asked.at.0));
    }
}

fn largest_first(
    groups: BTreeMap<String, Group>,
    size: impl Fn(&Group) -> u64,
) -> Vec<(String, Group)> {
    let mut groups: Vec<(String, Group)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, it)| std::cmp::Reverse(size(it)));
    groups
}

#[cfg(test)]
mod tests {
    use super::super::chosen::Range;
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000_000);
    const HOUR: i64 = 3_600_000_000;

    fn ago(hours: i64) -> Timestamp {
        Timestamp(NOW.0 - hours * HOUR)
    }

    fn asked(at: Timestamp, ended: Option<(QuestionEnd, Timestamp)>) -> Asked {
        Asked {
            tool: "pay".to_owned(),
            at,
            ended,
            by: None,
            approvals: Vec::new(),
        }
    }

    fn of(all: &[Asked]) -> Numbers {
        Numbers::of(all, Span::of(Range::Day, NOW))
    }

    #[test]
    fn request_is_open_from_its_record_to_its_end() {
        let numbers = of(&[
            asked(ago(3), Some((QuestionEnd::Expired, ago(1)))),
            // Asked before the range, and still open.
            asked(ago(200), None),
            // Ended before the range.
            asked(ago(200), Some((QuestionEnd::Denied, ago(100)))),
        ]);
        let open: Vec<u64> = numbers.steps.iter().map(|it| it.open).collect();
        // The intervals end at 22, 21, … hours ago, the last one now.
        assert_eq!(open.len(), 24);
        assert_eq!(open[..20], [1; 20], "{open:?}");
        assert_eq!(open[20..], [2, 2, 1, 1], "{open:?}");
        assert_eq!((numbers.asked, numbers.open_now), (1, 1));
        assert_eq!((numbers.ends.expired, numbers.ends.all()), (1, 1));
    }

    #[test]
    fn only_decisions_of_people_have_times() {
        let by = |actor: Actor, minutes: i64, end| {
            let at = Timestamp(ago(2).0 + minutes * 60_000_000);
            Asked {
                by: Some(actor),
                ..asked(ago(2), Some((end, at)))
            }
        };
        let numbers = of(&[
            by(Actor::token("ada"), 3, QuestionEnd::Approved),
            by(Actor::token("bob"), 9, QuestionEnd::Denied),
            by(
                Actor::embedder("x").as_program("auto"),
                0,
                QuestionEnd::Approved,
            ),
            asked(ago(2), Some((QuestionEnd::Withdrawn, ago(1)))),
            asked(ago(2), Some((QuestionEnd::Superseded, ago(1)))),
        ]);
        assert_eq!(numbers.times.number(), 2);
        assert_eq!(numbers.times.median(), Some(3 * 60_000_000));
        assert_eq!(numbers.times.p95(), Some(9 * 60_000_000));
        let ends = numbers.ends;
        assert_eq!((ends.allowed, ends.denied, ends.withdrawn), (2, 1, 1));
        assert_eq!(ends.all(), 4);
        let names: Vec<&str> = numbers.approvers.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names.contains(&"ada (token)"), "{names:?}");
    }

    #[test]
    fn earlier_approvals_count_for_their_approvers() {
        let quorum = Asked {
            by: Some(Actor::token("bob")),
            approvals: vec![(Actor::token("ada"), ago(2))],
            ..asked(ago(3), Some((QuestionEnd::Denied, ago(1))))
        };
        let numbers = of(&[quorum]);
        let [(first, ada), (second, bob)] = numbers.approvers.as_slice() else {
            unreachable!("two approvers");
        };
        assert_eq!(
            (first.as_str(), second.as_str()),
            ("ada (token)", "bob (token)")
        );
        assert_eq!((ada.ends.allowed, ada.times.median()), (1, Some(HOUR)));
        assert_eq!((bob.ends.denied, bob.times.median()), (1, Some(2 * HOUR)));
        assert_eq!(numbers.ends.all(), 1);
    }
}
