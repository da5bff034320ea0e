//! The differences of two sessions in words.

use crate::failures::Failure;
use crate::terminal::{COLUMNS, Screen, Tone};
use crate::text::{cut, one_line};
use recount::compare::{CallNamed, Change, Difference, EventNamed, Place};
use recount::session::{Json, Speaker};

pub(super) fn show(found: &[Difference], screen: &mut Screen) -> Result<(), Failure> {
    let mut last: Option<&CallNamed> = None;
    for it in found {
        if let Some((call, b)) = both(it) {
            // What differs in one call stands below one line.
            if last != Some(call) {
                let line = format!(
                    "Turn {}, {}  ({})",
                    call.turn,
                    called(call),
                    places(call.place, b.place)
                );
                screen.toned(Tone::Heading, &line)?;
            }
            last = Some(call);
        } else {
            last = None;
        }
        show_one(it, screen)?;
    }
    Ok(())
}

/// The call that a difference is about, on both sides.
fn both(it: &Difference) -> Option<(&CallNamed, &CallNamed)> {
    match it {
        Difference::CallReordered { call, b, .. }
        | Difference::ArgumentsChanged { call, b, .. }
        | Difference::PolicyChanged { call, b, .. }
        | Difference::DecisionChanged { call, b, .. }
        | Difference::ReportChanged { call, b, .. } => Some((call, b)),
        Difference::SessionChanged { .. }
        | Difference::TurnMissing { .. }
        | Difference::TurnAdded { .. }
        | Difference::WordsChanged { .. }
        | Difference::PhasesChanged { .. }
        | Difference::InterruptionChanged { .. }
        | Difference::CallMissing { .. }
        | Difference::CallAdded { .. }
        | Difference::EventMissing { .. }
        | Difference::EventAdded { .. } => None,
    }
}

fn show_one(it: &Difference, screen: &mut Screen) -> Result<(), Failure> {
    match it {
        Difference::SessionChanged { field, a, b } => {
            screen.toned(Tone::Heading, &format!("The session's {}", one_line(field)))?;
            let told =
                |it: &Option<String>| it.as_deref().map_or("absent".into(), one_line).into_owned();
            gone(&told(a), screen)?;
            come(&told(b), screen)
        }
        Difference::TurnMissing { turn, user } => {
            gone(&format!("turn {turn}: {}", quoted_words(user)), screen)
        }
        Difference::TurnAdded { turn, user } => {
            come(&format!("turn {turn}: {}", quoted_words(user)), screen)
        }
        Difference::WordsChanged {
            turn,
            speaker,
            a,
            b,
        } => {
            let who = match speaker {
                Speaker::User => "user",
                Speaker::Model => "model",
            };
            screen.toned(Tone::Heading, &format!("Turn {turn}, the {who} said"))?;
            gone(&quoted_words(a), screen)?;
            come(&quoted_words(b), screen)
        }
        Difference::PhasesChanged { turn, a, b } => {
            screen.toned(Tone::Heading, &format!("Turn {turn}, phases"))?;
            gone(&one_line(&a.join(", ")), screen)?;
            come(&one_line(&b.join(", ")), screen)
        }
        Difference::InterruptionChanged { turn, a, .. } => {
            let which = if *a { "first" } else { "second" };
            let line = format!("Turn {turn} was cut short in the {which} only");
            screen.toned(Tone::Heading, &line)
        }
        Difference::CallMissing { call } => gone(&whole(call), screen),
        Difference::CallAdded { call } => come(&whole(call), screen),
        Difference::CallReordered {
            call,
            b,
            within_turn,
        } => {
            let told = if *within_turn {
                "  comes elsewhere in its turn".to_owned()
            } else {
                let (of_a, of_b) = (call.turn, b.turn);
                format!("  comes in another turn: {of_a} in the first, {of_b} in the second")
            };
            screen.line(&told)
        }
        Difference::EventMissing { event } => gone(&happened(event), screen),
        Difference::EventAdded { event } => come(&happened(event), screen),
        Difference::ArgumentsChanged { changes, .. } => changed("arguments", changes, screen),
        Difference::PolicyChanged { changes, .. } => changed("policy", changes, screen),
        Difference::DecisionChanged { only_a, only_b, .. } => {
            lines("decided", only_a, only_b, screen)
        }
        Difference::ReportChanged { only_a, only_b, .. } => {
            lines("reported", only_a, only_b, screen)
        }
    }
}

fn happened(event: &EventNamed) -> String {
    let said = one_line(&event.said);
    format!("turn {}: {said}  ({})", event.turn, event.place)
}

fn whole(call: &CallNamed) -> String {
    format!("turn {}: {}  ({})", call.turn, called(call), call.place)
}

/// Where a call stands on both sides.
fn places(a: Place, b: Place) -> String {
    match (a, b) {
        (Place::Seq(_), Place::Seq(b)) => format!("{a} and {b}"),
        (Place::Line(_), Place::Line(b)) => format!("{a} and {b}"),
        (Place::Seq(_), Place::Line(_)) | (Place::Line(_), Place::Seq(_)) => format!("{a} and {b}"),
    }
}

fn called(call: &CallNamed) -> String {
    let text = format!("{} {}", call.tool, call.args.as_str());
    cut(&one_line(&text), COLUMNS / 2).into_owned()
}

fn quoted_words(words: &str) -> String {
    let words = one_line(words.trim());
    if words.is_empty() {
        "nothing".to_owned()
    } else {
        format!("“{words}”")
    }
}

fn changed(what: &str, changes: &[Change], screen: &mut Screen) -> Result<(), Failure> {
    for Change { at, a, b } in changes {
        screen.line(&format!("  {what} {}", one_line(at)))?;
        gone(&value(a.as_ref()), screen)?;
        come(&value(b.as_ref()), screen)?;
    }
    Ok(())
}

fn value(value: Option<&Json>) -> String {
    value.map_or("absent".to_owned(), |it| one_line(it.as_str()).into_owned())
}

fn lines(what: &str, a: &[String], b: &[String], screen: &mut Screen) -> Result<(), Failure> {
    screen.line(&format!("  {what}"))?;
    for line in a {
        gone(&one_line(line), screen)?;
    }
    for line in b {
        come(&one_line(line), screen)?;
    }
    Ok(())
}

/// What only the first has.
fn gone(text: &str, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(Tone::Bad, &format!("- {text}"))
}

/// What only the second has.
fn come(text: &str, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(Tone::Good, &format!("+ {text}"))
}
