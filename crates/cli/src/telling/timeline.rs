//! A session as a timeline: a line for each event, with time, seq, party and a sentence.
//!
//! The line of an observation names the party that acted. Decisions of the engine follow behind an
//! arrow.

use crate::terminal::{Palette, Tone};
use recount::session::{Event, Fact, Seq, Timestamp};
use recount_telling::{Names, age, cut, one_line, party, sentence, width, wrapped};

/// The treatment of sentences that do not fit into a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Cuts every sentence at this width.
    Cut(usize),
    /// Wraps the words of users and models at this width, and cuts everything else.
    Wrap(usize),
    /// Cuts nothing.
    Full,
}

/// The lines of a session, event by event.
pub(crate) struct Timeline {
    names: Names,
    palette: Palette,
    fit: Fit,
    /// The day and zone of the last line, such as `2026-11-20 UTC`.
    day: Option<String>,
}

impl Timeline {
    /// A timeline without any event yet.
    pub(crate) fn new(palette: Palette, fit: Fit) -> Timeline {
        Timeline {
            names: Names::default(),
            palette,
            fit,
            day: None,
        }
    }

    /// Learns the names in an earlier event, without a line for it.
    pub(crate) fn learn(&mut self, fact: &Fact) {
        self.names.learn(fact);
        self.day = Some(age::day(age::in_zone(fact.at)));
    }

    /// The line of an event. A heading with the date and the zone precedes it when either changes.
    pub(crate) fn event(&mut self, fact: &Fact) -> String {
        self.names.learn(fact);
        let sentence = sentence(&fact.event, &self.names);
        let (who, arrow) = match &fact.event {
            Event::Observed(observation) => (party(observation.actor()), ""),
            Event::Decided(_) => ("", "→ "),
        };
        self.line(fact.seq, fact.at, who, arrow, &sentence.text, sentence.tone)
    }

    /// The line of a record of a kind that this version does not know.
    pub(crate) fn unknown(&mut self, seq: Seq, at: Timestamp, kind: &str, body: &str) -> String {
        let text = format!("{kind} (not known to this version) {body}");
        self.line(seq, at, "?", "", &one_line(&text), Tone::Bad)
    }

    /// The line of a record whose body is sealed, without the key to open it.
    pub(crate) fn sealed(&mut self, seq: Seq, at: Timestamp, who: &str, kind: &str) -> String {
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
        let at = age::in_zone(at);
        let margin = format!("{} {:>4}", at.format("%H:%M:%S%.3f"), seq.0);
        let lead = format!("  {who:<7}  {arrow}");
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
        let day = age::day(at);
        let heading = if self.day.as_ref() == Some(&day) {
            String::new()
        } else {
            let heading = format!("── {day} ──");
            format!("{}\n", self.palette.paint(Tone::Quiet, &heading))
        };
        self.day = Some(day);
        format!(
            "{heading}{}{lead}{text}",
            self.palette.paint(Tone::Quiet, &margin)
        )
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
    fn line_fits_and_each_day_has_one_heading() {
        let mut timeline = Timeline::new(Palette::chosen(ColorChoice::Never), Fit::Cut(80));
        let first = timeline.event(&said(4, 0, &"long ".repeat(40)));
        let [day, line] = first.lines().collect::<Vec<_>>()[..] else {
            unreachable!("{first}")
        };
        assert_eq!(day, "── 1970-01-01 UTC ──");
        assert!(
            line.starts_with("00:00:00.000    4  user     “long long"),
            "{line}"
        );
        assert_eq!((width(line), line.chars().last()), (80, Some('…')));
        assert_eq!(
            timeline.event(&said(5, 1_500, "b")),
            "00:00:00.001    5  user     “b”"
        );
        let next = timeline.event(&said(6, 86_400_000_000, "c"));
        assert!(next.starts_with("── 1970-01-02"), "{next}");
    }

    #[test]
    fn words_are_wrapped_at_the_width() {
        let mut timeline = Timeline::new(Palette::chosen(ColorChoice::Never), Fit::Wrap(40));
        let shown = timeline.event(&said(4, 0, "one two three four"));
        let lines: Vec<&str> = shown.lines().skip(1).collect();
        let first = "00:00:00.000    4  user     “one two";
        assert_eq!(lines, [first, "                            three four”"]);
    }
}
