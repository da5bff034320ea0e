//! The options that choose calls for the audit.

use chrono::{DateTime, Days, NaiveDate};
use clap::Args;

use crate::failures::{Exit, Failure};
use recount::audit::{Filter, LabelFilter, Verdict};
use recount::session::{Outcome, Timestamp};
use recount_telling::calls::{OUTCOMES, outcome_named};
use recount_telling::{age, one_line};

/// The options that choose calls. Of a repeated option any value matches, but every --label must.
#[derive(Args)]
pub(super) struct Asked {
    /// Selects calls with an event, such as an answer, from this time on: 2026-11-01, in the zone
    /// of --tz, or 2026-11-01T09:30:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Selects calls with an event up to this time; a date includes the whole day.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Selects calls with an act of this person, also one that was refused.
    #[arg(long, value_name = "NAME")]
    actor: Vec<String>,
    /// Selects calls to this tool.
    #[arg(long, value_name = "NAME")]
    tool: Vec<String>,
    /// Selects calls of sessions with this label.
    #[arg(long, value_name = "NAME[=VALUE]")]
    label: Vec<String>,
    /// Selects calls with this verdict, such as approved, denied, allowed_by_rule or gate_waived.
    #[arg(long, value_name = "VERDICT")]
    verdict: Vec<String>,
    /// Selects calls with this outcome, such as returned, failed or unknown.
    #[arg(long, value_name = "OUTCOME")]
    outcome: Vec<String>,
    /// Selects calls that ran without the approval of a person.
    #[arg(long)]
    unconfirmed: bool,
}

impl Asked {
    pub(super) fn filter(&self) -> Result<Filter, Failure> {
        let verdicts = self.verdict.iter().map(|it| verdict(it));
        let outcomes = self.outcome.iter().map(|it| outcome(it));
        let (from, until) = range(
            ("--from", self.from.as_deref()),
            ("--to", self.to.as_deref()),
        )?;
        Ok(Filter {
            from,
            until,
            actors: self.actor.clone(),
            tools: self.tool.clone(),
            labels: self.label.iter().map(|it| LabelFilter::parse(it)).collect(),
            verdicts: verdicts.collect::<Result<_, _>>()?,
            outcomes: outcomes.collect::<Result<_, _>>()?,
            unconfirmed: self.unconfirmed,
        })
    }

    /// The given options as text; empty if there are none.
    pub(super) fn in_words(&self) -> Vec<String> {
        let one = |name: &str, it: &Option<String>| it.as_ref().map(|it| format!("{name} {it}"));
        let all = |name: &'static str, it: &[String]| -> Vec<String> {
            it.iter().map(|it| format!("{name} {it}")).collect()
        };
        let times = [one("from", &self.from), one("to", &self.to)];
        let rest = [
            all("actor", &self.actor),
            all("tool", &self.tool),
            all("label", &self.label),
            all("verdict", &self.verdict),
            all("outcome", &self.outcome),
        ];
        let times = times.into_iter().flatten();
        let unconfirmed = self.unconfirmed.then(|| "unconfirmed".to_owned());
        let rest = rest.into_iter().flatten().chain(unconfirmed);
        times.chain(rest).collect()
    }
}

/// The times of two options, of which the first is the earlier one.
pub(super) fn range(
    (from_name, from): (&str, Option<&str>),
    (to_name, to): (&str, Option<&str>),
) -> Result<(Option<Timestamp>, Option<Timestamp>), Failure> {
    let (from, until) = (from.map(begin).transpose()?, to.map(end).transpose()?);
    if let (Some(from), Some(until)) = (from, until)
        && from >= until
    {
        let what = format!(
            "expected {from_name} before {to_name}, found {} and {}",
            age::moment(from),
            age::moment(until)
        );
        return Err(Failure::new("not-a-time", what).exit(Exit::Usage));
    }
    Ok((from, until))
}

/// The first moment of a time or a day.
pub(super) fn begin(text: &str) -> Result<Timestamp, Failure> {
    match time(text)? {
        Time::Moment(at) => Ok(at),
        Time::Day(day) => midnight(text, day),
    }
}

/// The first moment after a time or a day.
pub(super) fn end(text: &str) -> Result<Timestamp, Failure> {
    match time(text)? {
        Time::Moment(at) => Ok(at),
        Time::Day(day) => {
            let next = day.checked_add_days(Days::new(1));
            midnight(text, next.ok_or_else(|| not_a_time(text))?)
        }
    }
}

enum Time {
    Moment(Timestamp),
    Day(NaiveDate),
}

fn time(text: &str) -> Result<Time, Failure> {
    if let Ok(day) = text.parse::<NaiveDate>() {
        return Ok(Time::Day(day));
    }
    let at = DateTime::parse_from_rfc3339(text).map_err(|_| not_a_time(text))?;
    Ok(Time::Moment(Timestamp(at.timestamp_micros())))
}

fn midnight(text: &str, day: NaiveDate) -> Result<Timestamp, Failure> {
    age::midnight(day).ok_or_else(|| not_a_time(text))
}

fn not_a_time(text: &str) -> Failure {
    let what = format!("expected a time, found {:?}", one_line(text));
    Failure::new("not-a-time", what).exit(Exit::Usage).advice(
        "give a date such as 2026-11-01, in the zone of --tz, or a time such as \
             2026-11-01T09:30:00Z or 2026-11-01T10:30:00+01:00",
    )
}

fn verdict(text: &str) -> Result<Verdict, Failure> {
    let names = Verdict::ALL.map(Verdict::as_str);
    Verdict::named(text).ok_or_else(|| unknown("verdict", text, &names))
}

fn outcome(text: &str) -> Result<Outcome, Failure> {
    outcome_named(text).ok_or_else(|| unknown("outcome", text, &OUTCOMES))
}

fn unknown(what: &str, text: &str, names: &[&str]) -> Failure {
    let distance = |name: &&str| strsim::damerau_levenshtein(text, name);
    let near = names.iter().copied().min_by_key(distance);
    let near = near.filter(|name| distance(name) <= (text.len() / 3).max(1));
    let meant = near.map_or(String::new(), |name| format!("did you mean {name}? "));
    let (code, article) = match what {
        "verdict" => ("not-a-verdict", "a"),
        _ => ("not-an-outcome", "an"),
    };
    let found = format!("expected {article} {what}, found {:?}", one_line(text));
    Failure::new(code, found)
        .exit(Exit::Usage)
        .advice(format!("{meant}known are {}", names.join(", ")))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn date_is_a_day_and_time_is_a_moment() {
        let day = 86_400_000_000;
        assert_eq!(begin("1970-01-02").unwrap(), Timestamp(day));
        assert_eq!(end("1970-01-02").unwrap(), Timestamp(2 * day));
        assert_eq!(
            end("1970-01-02T00:00:00.5Z").unwrap(),
            Timestamp(day + 500_000)
        );
        assert_eq!(begin("1970-01-02T01:00:00+01:00").unwrap(), Timestamp(day));
        for wrong in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-11-01T10:00",
            "1.11.2026",
        ] {
            let failure = begin(wrong).unwrap_err();
            assert_eq!(
                (failure.code.as_ref(), failure.exit),
                ("not-a-time", Exit::Usage)
            );
        }
    }

    #[test]
    fn unknown_name_is_answered_with_known_ones() {
        let failure = verdict("aproved").unwrap_err();
        let advice = failure.advice.unwrap();
        assert!(
            advice.starts_with("did you mean approved? known are allowed_by_rule,"),
            "{advice}"
        );
        let far = outcome("whatever").unwrap_err().advice.unwrap();
        assert!(far.starts_with("known are returned, failed,"), "{far}");
    }
}
