//! The differences of two sessions, as `recount diff` shows them.

use crate::failures::Failure;
use crate::terminal::{COLUMNS, Screen, Tone};
use recount::compare::{CallNamed, Change, Difference, EventNamed, Place};
use recount::session::{Json, Speaker};
use recount_telling::{cut, one_line};

pub(crate) fn show(found: &[Difference], screen: &mut Screen) -> Result<(), Failure> {
    let mut last: Option<&CallNamed> = None;
    for it in found {
        if let Some((call, b)) = both(it) {
            // The differences of one call have one heading.
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
            let shown =
                |it: &Option<String>| it.as_deref().map_or("absent".into(), one_line).into_owned();
            only_first(&shown(a), screen)?;
            only_second(&shown(b), screen)
        }
        Difference::TurnMissing { turn, user } => {
            only_first(&format!("turn {turn}: {}", quoted_words(user)), screen)
        }
        Difference::TurnAdded { turn, user } => {
            only_second(&format!("turn {turn}: {}", quoted_words(user)), screen)
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
            only_first(&quoted_words(a), screen)?;
            only_second(&quoted_words(b), screen)
        }
        Difference::PhasesChanged { turn, a, b } => {
            screen.toned(Tone::Heading, &format!("Turn {turn}, phases"))?;
            only_first(&one_line(&a.join(", ")), screen)?;
            only_second(&one_line(&b.join(", ")), screen)
        }
        Difference::InterruptionChanged { turn, a, .. } => {
            let which = if *a { "first" } else { "second" };
            let line = format!("Turn {turn} interrupted in the {which} only");
            screen.toned(Tone::Heading, &line)
        }
        Difference::CallMissing { call } => only_first(&whole(call), screen),
        Difference::CallAdded { call } => only_second(&whole(call), screen),
        Difference::CallReordered {
            call,
            b,
            within_turn,
        } => {
            let place = if *within_turn {
                "  at another place in its turn".to_owned()
            } else {
                let (of_a, of_b) = (call.turn, b.turn);
                format!("  in another turn: {of_a} in the first, {of_b} in the second")
            };
            screen.line(&place)
        }
        Difference::EventMissing { event } => only_first(&happened(event), screen),
        Difference::EventAdded { event } => only_second(&happened(event), screen),
        Difference::ArgumentsChanged { changes, .. } => changed("arguments", changes, screen),
        Difference::PolicyChanged { changes, .. } => changed("policy", changes, screen),
        Difference::DecisionChanged { only_a, only_b, .. } => {
            lines("decisions", only_a, only_b, screen)
        }
        Difference::ReportChanged { only_a, only_b, .. } => {
            lines("observations", only_a, only_b, screen)
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

/// The places of a call on both sides.
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
        only_first(&value(a.as_ref()), screen)?;
        only_second(&value(b.as_ref()), screen)?;
    }
    Ok(())
}

fn value(value: Option<&Json>) -> String {
    value.map_or("absent".to_owned(), |it| one_line(it.as_str()).into_owned())
}

fn lines(what: &str, a: &[String], b: &[String], screen: &mut Screen) -> Result<(), Failure> {
    screen.line(&format!("  {what}"))?;
    for line in a {
        only_first(&one_line(line), screen)?;
    }
    for line in b {
        only_second(&one_line(line), screen)?;
    }
    Ok(())
}

/// Shows a text that only the first has.
fn only_first(text: &str, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(Tone::Bad, &format!("- {text}"))
}

/// Shows a text that only the second has.
fn only_second(text: &str, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(Tone::Good, &format!("+ {text}"))
}
