//! A session as lines for the eye: time, seq, who, and one sentence an event.
//!
//! An observation names the party that did it; what the engine decided because of it follows behind
//! an arrow.

use chrono::NaiveDate;

use super::sentence::{Names, sentence};
use crate::terminal::{Palette, Tone};
use crate::text::{age, cut, one_line, width, wrapped};
use recount::session::{ActorKind, Event, Fact, Seq, Timestamp};

/// What becomes of a sentence that does not fit into a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It is cut.
    Cut(usize),
    /// What somebody said goes on in the next line, everything else is cut.
    Wrap(usize),
    /// It is as long as it is.
    Full,
}

/// Tells a session, event by event.
pub(crate) struct Timeline {
    names: Names,
    palette: Palette,
    fit: Fit,
    day: Option<NaiveDate>,
}

impl Timeline {
    /// A timeline that has told nothing yet.
    pub(crate) fn new(palette: Palette, fit: Fit) -> Timeline {
        Timeline {
            names: Names::default(),
            palette,
            fit,
            day: None,
        }
    }

    /// Learns the names in an event of before, without telling it.
    pub(crate) fn learn(&mut self, fact: &Fact) {
        self.names.learn(fact);
        self.day = Some(age::utc(fact.at).date_naive());
    }

    /// Tells an event: one line, and before it another one where a new day began.
    pub(crate) fn tell(&mut self, fact: &Fact) -> String {
        self.names.learn(fact);
        let told = sentence(&fact.event, &self.names);
        let (who, arrow) = match &fact.event {
            Event::Observed(observation) => (party(observation.actor()), ""),
            Event::Decided(_) => ("", "→ "),
        };
        self.line(fact.seq, fact.at, who, arrow, &told.text, told.tone)
    }

    /// Tells a record of a kind that this version does not know.
    pub(crate) fn tell_unknown(
        &mut self,
        seq: Seq,
        at: Timestamp,
        kind: &str,
        body: &str,
    ) -> String {
        let text = format!("{kind} (unknown to this version) {body}");
        self.line(seq, at, "?", "", &one_line(&text), Tone::Bad)
    }

    /// Tells a record whose body is sealed and cannot be opened here.
    pub(crate) fn tell_sealed(&mut self, seq: Seq, at: Timestamp, who: &str, kind: &str) -> String {
        let text = format!("{kind} (sealed)");
        self.line(seq, at, &one_line(who), "", &one_line(&text), Tone::Quiet)
    }

    fn line(
        &mut self,
        seq: Seq,
        at: Timestamp,
        who: &str,
        arrow: &str,
        text: &str,
        tone: Tone,
    ) -> String {
        let utc = age::utc(at);
        let margin = format!("{} {:>4}", utc.format("%H:%M:%S%.3f"), seq.0);
        let lead = format!("  {who:<6}  {arrow}");
        let indent = width(&margin) + width(&lead);
        let lines = match self.fit {
            Fit::Full => vec![text.to_owned()],
            Fit::Wrap(columns) if tone == Tone::Speech => {
                wrapped(text, columns.saturating_sub(indent))
            }
            Fit::Cut(columns) | Fit::Wrap(columns) => {
                vec![cut(text, columns.saturating_sub(indent)).into_owned()]
            }
        };
        let lines: Vec<String> = lines
            .iter()
            .map(|it| self.palette.paint(tone, it))
            .collect();
        let text = lines.join(&format!("\n{:indent$}", ""));
        let day = utc.date_naive();
        let new_day = if self.day.replace(day) == Some(day) {
            String::new()
        } else {
            let heading = format!("── {} UTC ──", day.format("%Y-%m-%d"));
            format!("{}\n", self.palette.paint(Tone::Quiet, &heading))
        };
        format!(
            "{new_day}{}{lead}{text}",
            self.palette.paint(Tone::Quiet, &margin)
        )
    }
}

fn party(kind: ActorKind) -> &'static str {
    match kind {
        ActorKind::Engine => "engine",
        ActorKind::Model => "model",
        ActorKind::User => "user",
        ActorKind::Tool => "tool",
        ActorKind::Person => "person",
        ActorKind::Program => "auto",
        ActorKind::Clock => "clock",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::ColorChoice;
    use recount::session::UserTextSent;

    fn said(seq: u64, at_us: i64, text: &str) -> Fact {
        let said = UserTextSent {
            epoch: Seq(3),
            text: text.to_owned(),
        };
        Fact {
            seq: Seq(seq),
            at: Timestamp(at_us),
            cause: None,
            event: Event::Observed(said.into()),
        }
    }

    #[test]
    fn a_line_fits_and_a_new_day_is_announced_once() {
        let mut timeline = Timeline::new(Palette::chosen(ColorChoice::Never), Fit::Cut(80));
        let first = timeline.tell(&said(4, 0, &"long ".repeat(40)));
        let [day, line] = first.lines().collect::<Vec<_>>()[..] else {
            unreachable!("{first}")
        };
        assert_eq!(day, "── 1970-01-01 UTC ──");
        assert!(
            line.starts_with("00:00:00.000    4  user    “long long"),
            "{line}"
        );
        assert_eq!((width(line), line.chars().last()), (80, Some('…')));
        assert_eq!(
            timeline.tell(&said(5, 1_500, "b")),
            "00:00:00.001    5  user    “b”"
        );
        let next = timeline.tell(&said(6, 86_400_000_000, "c"));
        assert!(next.starts_with("── 1970-01-02"), "{next}");
    }

    #[test]
    fn what_is_said_goes_on_in_the_next_line_where_that_is_wanted() {
        let mut timeline = Timeline::new(Palette::chosen(ColorChoice::Never), Fit::Wrap(40));
        let told = timeline.tell(&said(4, 0, "one two three four"));
        let lines: Vec<&str> = told.lines().skip(1).collect();
        let first = "00:00:00.000    4  user    “one two";
        assert_eq!(lines, [first, "                           three four”"]);
    }
}
