//! Where a replay parted from the record: both sides, what led there, and the state before it; in
//! words and as JSON.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::telling::{Fit, Names, Timeline, outline, sentence};
use crate::terminal::{COLUMNS, Palette, Tone};
use crate::text::one_line;
use recount::replay::{Diverged, Report, Said, state_json, state_json_about};
use recount::session::{Event, Fact, Json, RULES, Seq, SessionId, Timestamp};

/// What of a state says nothing about why something was decided.
const BESIDE: [&str; 7] = [
    "session",
    "head",
    "due",
    "at_us",
    "opened_at_us",
    "tools",
    "open_work",
];

/// A divergence as lines, each with its tone.
pub(crate) fn told(session: SessionId, it: &Diverged, palette: Palette) -> Vec<(Tone, String)> {
    let heading = format!("Session {session} diverges at seq {}", it.seq);
    let mut lines = vec![(Tone::Heading, heading)];
    let before = it.before.head;
    lines.push((
        Tone::Plain,
        format!("Up to seq {before} every decision follows again. Then the two stories part:"),
    ));
    let mut names = Names::default();
    it.causes.iter().for_each(|fact| names.learn(fact));
    let mut tell = |lead: &str, tone, said: &Option<Said>, nothing: &str| match said {
        Some(said) => {
            lines.push((
                tone,
                format!("{lead}{} {}", said.kind, one_line(&said.body)),
            ));
            let words = in_words(said, &names).map(|it| format!("            {it}"));
            lines.extend(words.map(|it| (tone, it)));
        }
        None => lines.push((tone, format!("{lead}{nothing}"))),
    };
    let ends = "nothing: the session ends here";
    tell("- recorded  ", Tone::Bad, &it.recorded, ends);
    let rests = "no decision: nothing more follows here";
    tell("+ derived   ", Tone::Good, &it.derived, rests);
    lines.extend(differences(it).into_iter().map(|it| (Tone::Plain, it)));

    if !it.causes.is_empty() {
        lines.push((
            Tone::Heading,
            "What led there, the first cause first:".to_owned(),
        ));
        let mut timeline = Timeline::new(palette, Fit::Cut(COLUMNS));
        let causes = it.causes.iter().map(|fact| timeline.tell(fact));
        lines.extend(causes.map(|line| (Tone::Plain, line)));
    }

    let of = match it.calls().as_slice() {
        [] => String::new(),
        calls => {
            let calls: Vec<String> = calls.iter().map(Seq::to_string).collect();
            format!(" of call {}", calls.join(" and "))
        }
    };
    lines.push((Tone::Heading, format!("The state{of} after seq {before}:")));
    let state = outline(state(it).raw(), 2, &BESIDE);
    lines.extend(state.into_iter().map(|line| (Tone::Plain, line)));
    let (then, now) = (it.before.rules, RULES);
    let rules = format!("It was decided by rules {then}; the rules of this program are {now}.");
    lines.push((Tone::Quiet, rules));
    lines
}

/// A divergence on one line, where many are told.
pub(super) fn in_a_line(session: SessionId, it: &Diverged) -> String {
    let kind = |said: &Option<Said>| said.as_ref().map_or("nothing", |it| it.kind);
    let (recorded, derived) = (kind(&it.recorded), kind(&it.derived));
    format!(
        "Session {session} diverges at seq {}: recorded {recorded}, derived {derived}",
        it.seq
    )
}

/// What a divergence is, for whoever meets one for the first time.
pub(super) const WHAT_IT_MEANS: &str = "\
A decision follows from the records before it and from nothing else. Where the
record has another one, a program with other rules made it, or somebody altered
it and made the hashes fit. Nothing ran here, and nothing was changed;
`recount state PATH SESSION --at SEQ` shows the whole state after any record.";

/// A report as JSON has it.
#[derive(Serialize)]
pub(super) struct ReportJson<'r> {
    session: SessionId,
    observations: u64,
    decisions: u64,
    diverged: Option<DivergedJson<'r>>,
}

#[derive(Serialize)]
struct DivergedJson<'r> {
    seq: Seq,
    recorded: Option<SaidJson<'r>>,
    derived: Option<SaidJson<'r>>,
    causes: Vec<CauseJson>,
    before: Json,
}

#[derive(Serialize)]
struct SaidJson<'r> {
    kind: &'r str,
    body: &'r RawValue,
    cause: Option<Seq>,
}

#[derive(Serialize)]
struct CauseJson {
    seq: Seq,
    at_us: Timestamp,
    kind: &'static str,
    cause: Option<Seq>,
    body: Box<RawValue>,
}

impl<'r> ReportJson<'r> {
    pub(crate) fn of(report: &'r Report) -> ReportJson<'r> {
        ReportJson {
            session: report.session,
            observations: report.observations,
            decisions: report.decisions,
            diverged: report.diverged.as_ref().map(|it| DivergedJson {
                seq: it.seq,
                recorded: it.recorded.as_ref().map(SaidJson::of),
                derived: it.derived.as_ref().map(SaidJson::of),
                causes: it.causes.iter().map(CauseJson::of).collect(),
                before: state(it),
            }),
        }
    }
}

impl<'r> SaidJson<'r> {
    fn of(said: &'r Said) -> SaidJson<'r> {
        SaidJson {
            kind: said.kind,
            // A body on record is JSON, and so is one that was written just now.
            body: serde_json::from_str(&said.body).unwrap_or(RawValue::NULL),
            cause: said.cause,
        }
    }
}

impl CauseJson {
    fn of(fact: &Fact) -> CauseJson {
        let body = fact.event.body().and_then(RawValue::from_string);
        CauseJson {
            seq: fact.seq,
            at_us: fact.at,
            kind: fact.event.kind(),
            cause: fact.cause,
            body: body.unwrap_or_else(|_| RawValue::NULL.to_owned()),
        }
    }
}

/// The state before the divergence: of the calls that it is about, or the whole.
fn state(it: &Diverged) -> Json {
    match it.calls().as_slice() {
        [] => state_json(&it.before),
        calls => state_json_about(&it.before, calls),
    }
}

/// A side as `recount log` tells it.
fn in_words(said: &Said, names: &Names) -> Option<String> {
    let event = Event::decode(said.kind, &said.body).ok()?;
    Some(sentence(&event, names).text)
}

/// The fields in which two sides of one kind differ.
fn differences(it: &Diverged) -> Vec<String> {
    let (Some(recorded), Some(derived)) = (&it.recorded, &it.derived) else {
        return Vec::new();
    };
    if recorded.kind != derived.kind {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if recorded.cause != derived.cause {
        let of = |cause: Option<Seq>| cause.map_or("absent".to_owned(), |seq| seq.to_string());
        let (recorded, derived) = (of(recorded.cause), of(derived.cause));
        lines.push(format!("  cause: recorded {recorded}, derived {derived}"));
    }
    let body = |said: &Said| serde_json::from_str(&said.body).unwrap_or_default();
    let (recorded, derived): (Value, Value) = (body(recorded), body(derived));
    let fields: BTreeSet<&String> = [&recorded, &derived]
        .into_iter()
        .filter_map(Value::as_object)
        .flat_map(|it| it.keys())
        .collect();
    for field in fields {
        let of = |body: &Value| {
            let value = body.get(field);
            value.map_or("absent".to_owned(), Value::to_string)
        };
        let (recorded, derived) = (of(&recorded), of(&derived));
        if recorded != derived {
            let line = format!("  {field}: recorded {recorded}, derived {derived}");
            lines.push(one_line(&line).into_owned());
        }
    }
    lines
}

#[cfg(test)]
#[path = "divergence_tests.rs"]
mod tests;
