//! A divergence of a replay as lines: both sides, the causes, and the state before.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::telling::{Fit, Timeline};
use crate::terminal::{COLUMNS, Palette, Tone};
use recount::replay::{Diverged, Said};
use recount::session::{Event, RULES, Seq, SessionId};
use recount_telling::{Names, one_line, outline, sentence};

/// The members of a state that say nothing about the reason of a decision.
const LEFT_OUT: [&str; 7] = [
    "session",
    "head",
    "due",
    "at_us",
    "opened_at_us",
    "tools",
    "open_work",
];

/// The lines of a divergence, each with its tone.
pub(crate) fn lines(session: SessionId, it: &Diverged, palette: Palette) -> Vec<(Tone, String)> {
    let heading = format!("Session {session} diverges at seq {}", it.seq);
    let mut lines = vec![(Tone::Heading, heading)];
    let before = it.before.head;
    lines.push((
        Tone::Plain,
        format!("The decisions up to seq {before} match. The first difference:"),
    ));
    let mut names = Names::default();
    it.causes.iter().for_each(|fact| names.learn(fact));
    let mut add = |lead: &str, tone, said: &Option<Said>, nothing: &str| match said {
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
    add("- recorded  ", Tone::Bad, &it.recorded, ends);
    let rests = "nothing: no decision follows here";
    add("+ derived   ", Tone::Good, &it.derived, rests);
    lines.extend(differences(it).into_iter().map(|it| (Tone::Plain, it)));

    if !it.causes.is_empty() {
        lines.push((Tone::Heading, "Causes, the first one first:".to_owned()));
        let mut timeline = Timeline::new(palette, Fit::Cut(COLUMNS));
        let causes = it.causes.iter().map(|fact| timeline.event(fact));
        lines.extend(causes.map(|line| (Tone::Plain, line)));
    }

    let of = match it.calls().as_slice() {
        [] => String::new(),
        calls => {
            let calls: Vec<String> = calls.iter().map(|it| format!("#{it}")).collect();
            format!(" of call {}", calls.join(" and "))
        }
    };
    lines.push((Tone::Heading, format!("State{of} after seq {before}:")));
    let state = outline(it.state_before().raw(), 2, &LEFT_OUT);
    lines.extend(state.into_iter().map(|line| (Tone::Plain, line)));
    let (then, now) = (it.before.rules, RULES);
    // A session records the lowest number that it needs, so a lower one is no older program's.
    let rules = format!("Recorded with rules version {then}; this program knows up to {now}.");
    lines.push((Tone::Quiet, rules));
    lines
}

/// A divergence on one line, for the later ones of many.
pub(super) fn in_a_line(session: SessionId, it: &Diverged) -> String {
    let kind = |said: &Option<Said>| said.as_ref().map_or("nothing", |it| it.kind);
    let (recorded, derived) = (kind(&it.recorded), kind(&it.derived));
    format!(
        "Session {session} diverges at seq {}: recorded {recorded}, derived {derived}",
        it.seq
    )
}

/// The explanation of a divergence, for users who see one for the first time.
pub(super) const WHAT_IT_MEANS: &str = "\
A decision depends only on the records before it. If the recorded one differs,
it was made with other rules, or the record was altered and its hashes were
recomputed. Nothing ran and nothing was changed here.
`recount state PATH SESSION --at SEQ` shows the whole state after any record.";

/// A side as a sentence of `recount log`.
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
