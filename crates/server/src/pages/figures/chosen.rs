//! The range and the filters of the page, in its address.

use recount::session::Timestamp;

use crate::problems::{Code, Problem};
use crate::requests::Params;

/// An hour, in microseconds.
const HOUR_US: i64 = 3_600_000_000;

/// The range of time that the page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    Day,
    Week,
    Month,
    Quarter,
}

impl Range {
    pub(super) const ALL: [Range; 4] = [Range::Day, Range::Week, Range::Month, Range::Quarter];

    /// The spelling in the address.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Range::Day => "24h",
            Range::Week => "7d",
            Range::Month => "30d",
            Range::Quarter => "90d",
        }
    }

    /// The name for people.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Range::Day => "24 hours",
            Range::Week => "7 days",
            Range::Month => "30 days",
            Range::Quarter => "90 days",
        }
    }

    /// The length of one interval, in hours.
    pub(super) const fn step_hours(self) -> i64 {
        match self {
            Range::Day => 1,
            Range::Week => 12,
            Range::Month => 24,
            Range::Quarter => 72,
        }
    }

    /// The number of intervals.
    const fn steps(self) -> i64 {
        match self {
            Range::Day => 24,
            Range::Week => 14,
            Range::Month | Range::Quarter => 30,
        }
    }
}

/// The range up to now, in intervals that begin at whole hours or days of UTC. The last one is not
/// over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: Timestamp,
    pub(super) now: Timestamp,
    step_us: i64,
    steps: i64,
}

impl Span {
    pub(super) fn of(range: Range, now: Timestamp) -> Span {
        let (step_us, steps) = (range.step_hours() * HOUR_US, range.steps());
        let last = now.0 - now.0.rem_euclid(step_us);
        Span {
            from: Timestamp(last - (steps - 1) * step_us),
            now,
            step_us,
            steps,
        }
    }

    /// True if the time is in the range.
    pub(super) fn covers(&self, at: Timestamp) -> bool {
        self.from <= at && at <= self.now
    }

    /// The number of the interval of a time in the range.
    pub(super) fn step_of(&self, at: Timestamp) -> Option<usize> {
        let step = (at.0 - self.from.0).div_euclid(self.step_us);
        let step = usize::try_from(step).ok()?;
        self.covers(at).then_some(step)
    }

    /// The starts of the intervals.
    pub(super) fn starts(&self) -> impl Iterator<Item = Timestamp> {
        let (from, step_us) = (self.from.0, self.step_us);
        (0..self.steps).map(move |step| Timestamp(from + step * step_us))
    }

    /// The end of the interval with this start: the next one, or now.
    pub(super) fn end_of(&self, start: Timestamp) -> Timestamp {
        Timestamp(start.0 + self.step_us).min(self.now)
    }
}

/// The range and the filters.
pub(super) struct Chosen {
    pub(super) range: Range,
    pub(super) agent: String,
    /// A part of the name of a tool.
    pub(super) tool: String,
    /// A label as NAME:VALUE.
    pub(super) label: String,
}

impl Chosen {
    pub(super) fn of(params: &Params) -> Result<Chosen, Problem> {
        let text = |name| Ok::<_, Problem>(params.one(name)?.unwrap_or_default().trim().to_owned());
        let (range, label) = (text("range")?, text("label")?);
        let named = Range::ALL.into_iter().find(|it| it.as_str() == range);
        let range = match (named, range.as_str()) {
            (Some(range), _) => range,
            (None, "") => Range::Week,
            (None, found) => {
                let detail = format!("range: expected 24h, 7d, 30d or 90d, found {found:?}");
                return Err(Problem::new(Code::BadRequest, detail));
            }
        };
        if !label.is_empty() && !label.contains(':') {
            let detail = format!("label: expected NAME:VALUE, found {label:?}");
            return Err(Problem::new(Code::BadRequest, detail));
        }
        Ok(Chosen {
            range,
            agent: text("agent")?,
            tool: text("tool")?,
            label,
        })
    }

    /// The name and the value of the label.
    pub(super) fn label(&self) -> Option<(&str, &str)> {
        self.label.split_once(':')
    }

    /// True if a filter is set.
    pub(super) fn is_narrow(&self) -> bool {
        [&self.agent, &self.tool, &self.label]
            .iter()
            .any(|it| !it.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_begin_at_whole_hours_and_include_now() {
        let now = Timestamp(1_800_000_000_000_000 + 5);
        for range in Range::ALL {
            let span = Span::of(range, now);
            let starts: Vec<Timestamp> = span.starts().collect();
            assert_eq!(starts.len() as i64, range.steps());
            assert_eq!(starts[0], span.from);
            assert!(starts.iter().all(|it| it.0 % HOUR_US == 0), "{range:?}");
            let last = starts[starts.len() - 1];
            assert_eq!(span.step_of(now), Some(starts.len() - 1), "{range:?}");
            assert!(last <= now && span.end_of(last) == now);
            assert_eq!(span.end_of(starts[0]), starts[1]);
            assert_eq!(span.step_of(span.from), Some(0));
            assert_eq!(span.step_of(Timestamp(span.from.0 - 1)), None);
            assert_eq!(span.step_of(Timestamp(now.0 + 1)), None);
        }
    }

    #[test]
    fn ranges_have_the_length_of_their_names() {
        let hours = |range: Range| range.steps() * range.step_hours();
        assert_eq!(Range::ALL.map(hours), [24, 7 * 24, 30 * 24, 90 * 24]);
    }
}
