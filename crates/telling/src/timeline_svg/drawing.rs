//! The whole picture, from facts to markup.

use recount::session::{Fact, Outcome, Seq};

use super::axis::Axis;
use super::calls::Calls;
use super::choice::{Choice, chosen};
use super::frame::{self, ROW, ROWS_ABOVE, middle};
use super::marks::{self, Group};
use super::markup::Markup;
use super::model::{Lane, Mark};
use super::surroundings::Surroundings;
use crate::sentence::{Names, sentence};
use crate::text::{age, count, cut, one_line};

/// The width of the column with the names of the lanes, in pixels.
const NAMES: f64 = 168.0;

/// The maximum length of a name in its column, in characters.
const NAME_MAX: usize = 20;

/// The maximum number of events in the words of a mark.
const EVENTS_SHOWN: usize = 6;

/// The maximum length of an event in the words of a mark, in characters.
const SENTENCE_MAX: usize = 160;

/// The wishes of the caller of [`picture`].
#[derive(Clone, Copy)]
pub struct Settings<'l> {
    /// The name of the picture for people who do not see it.
    pub name: &'l str,
    /// Returns the address of an event, if it has one.
    pub links: &'l dyn Fn(Seq) -> Option<String>,
    /// The maximum number of lanes; [`LANES_MAX`](super::LANES_MAX) fits on a page.
    pub lanes_max: usize,
}

/// The picture of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// A `figure` element. It is well-formed as XML, too.
    pub markup: String,
    /// The number of calls with a lane.
    pub calls: usize,
    /// The number of calls without one.
    pub left_out: usize,
    /// The seq of the first fact on the time axis, if earlier ones are not drawn. A picture of the
    /// facts before it shows the earlier calls.
    pub starts_at: Option<Seq>,
}

/// Draws the facts of a session, in their order and from the first on.
///
/// ```
/// use recount::session::testing::{history, toolbox};
/// use recount_telling::timeline_svg::{LANES_MAX, Settings, picture};
/// use serde_json::json;
///
/// let tools = toolbox().plain("pay");
/// let history = history().opened("support").attached(&tools).connected();
/// let history = history.call("c1", "pay", json!({})).started().returned(json!({"paid": true}));
/// let settings = Settings {
///     name: "Timeline of a session",
///     links: &|seq| Some(format!("records/{seq}")),
///     lanes_max: LANES_MAX,
/// };
/// let picture = picture(history.facts(), &settings);
/// assert_eq!((picture.calls, picture.left_out), (1, 0));
/// assert!(picture.markup.contains("href=\"records/4\""));
/// ```
#[must_use]
pub fn picture(facts: &[Fact], settings: &Settings<'_>) -> Picture {
    let (mut calls, mut around) = (Calls::default(), Surroundings::default());
    for (at, fact) in facts.iter().enumerate() {
        let is_of_call = calls.apply(at, fact);
        around.apply(at, fact, is_of_call);
    }
    let choice = chosen(calls.lanes(), settings.lanes_max);
    let drawing = Drawing {
        facts,
        sentences: sentences(facts),
        axis: Axis::of(facts, choice.first),
        choice,
        around,
        settings,
    };
    let starts_at = drawing.choice.first.checked_sub(1).and_then(|_| {
        let first = facts.get(drawing.choice.first);
        first.map(|it| it.seq)
    });
    Picture {
        markup: drawing.markup(),
        calls: drawing.choice.lanes.len(),
        left_out: drawing.choice.left_out,
        starts_at,
    }
}

/// The sentence of each fact, cut.
fn sentences(facts: &[Fact]) -> Vec<String> {
    let mut names = Names::default();
    let sentences = facts.iter().map(|fact| {
        names.learn(fact);
        let text = sentence(&fact.event, &names).text;
        cut(&text, SENTENCE_MAX).into_owned()
    });
    sentences.collect()
}

struct Drawing<'d> {
    facts: &'d [Fact],
    sentences: Vec<String>,
    axis: Axis,
    choice: Choice,
    around: Surroundings,
    settings: &'d Settings<'d>,
}

impl Drawing<'_> {
    fn markup(&self) -> String {
        let mut out = Markup::default();
        out.open("figure", &[("class", "timeline".into())]);
        let region = [
            ("class", "timeline-scroll".into()),
            ("role", "region".into()),
            ("tabindex", "0".into()),
            ("aria-label", self.settings.name.into()),
        ];
        out.open("div", &region);
        self.names(&mut out);
        self.plot(&mut out);
        out.close();
        out.text("figcaption", &[], &self.caption());
        let mut markup = out.done();
        let end = markup.len().saturating_sub("</figure>".len());
        markup.insert_str(end, &frame::key());
        markup
    }

    /// The sentence below the picture.
    fn caption(&self) -> String {
        let events = count(self.facts.len(), "event");
        let calls = count(self.choice.lanes.len() + self.choice.left_out, "call");
        let mut caption =
            format!("{events}, {calls}. Long waits are drawn shorter than they were.");
        if self.choice.left_out > 0 {
            let left_out = count(self.choice.left_out, "earlier call");
            caption.push_str(&format!(" Not drawn: {left_out}."));
        }
        if self.choice.carried > 0 {
            let carried = count(self.choice.carried, "lane");
            caption.push_str(&format!(
                " {carried} at the top began before and still lasts."
            ));
        }
        caption
    }

    /// The column with the names of the rows, which stays while the plot is scrolled.
    fn names(&self, out: &mut Markup) {
        let height = frame::height(self.choice.lanes.len());
        let size = [
            ("class", "timeline-names".into()),
            ("width", NAMES.into()),
            ("height", height.into()),
            ("aria-hidden", "true".into()),
            ("focusable", "false".into()),
        ];
        out.open("svg", &size);
        for (row, name) in [(0, "conversation"), (1, "session")] {
            let place = [
                ("x", 4.0.into()),
                ("y", (middle(row) + 4.0).into()),
                ("class", "above".into()),
            ];
            out.text("text", &place, name);
        }
        for (row, lane) in (ROWS_ABOVE..).zip(&self.choice.lanes) {
            let place = [("x", 4.0.into()), ("y", (middle(row) + 4.0).into())];
            out.text("text", &place, &self.name_of(lane));
        }
        out.close();
    }

    fn name_of(&self, lane: &Lane) -> String {
        let name = match lane.name.as_str() {
            "" => "(no name)",
            name => name,
        };
        let name = one_line(name);
        let nested = if lane.is_nested { "↳ " } else { "" };
        format!("{nested}{} #{}", cut(&name, NAME_MAX), lane.call)
    }

    fn plot(&self, out: &mut Markup) {
        let lanes = self.choice.lanes.len();
        let height = frame::height(lanes);
        let size = [
            ("class", "timeline-plot".into()),
            ("width", self.axis.width().into()),
            ("height", height.into()),
            ("role", "group".into()),
            ("aria-label", self.settings.name.into()),
        ];
        out.open("svg", &size);
        frame::epochs(out, &self.axis, &self.around.epochs, self.facts, lanes);
        frame::times(out, &self.axis, self.facts, height);
        frame::restarts(out, &self.axis, &self.around.restarts, self.facts, height);
        frame::turns(out, &self.axis, &self.around.turns, self.facts);
        self.marks(out, &self.around.words, middle(0));
        self.marks(out, &self.around.rest, middle(1));
        for (row, lane) in (ROWS_ABOVE..).zip(&self.choice.lanes) {
            self.lane(out, lane, row);
        }
        out.close();
    }

    fn lane(&self, out: &mut Markup, lane: &Lane, row: usize) {
        let y = middle(row);
        let class = match row % 2 {
            0 => "lane even",
            _ => "lane",
        };
        out.open("g", &[("class", class.into())]);
        let ground = [
            ("class", "ground".into()),
            ("x", 0.0.into()),
            ("y", (y - ROW / 2.0).into()),
            ("width", self.axis.width().into()),
            ("height", ROW.into()),
        ];
        out.empty("rect", &ground);
        let name = self.name_of(lane);
        for stretch in &lane.stretches {
            if stretch.to.is_some_and(|to| !self.axis.has(to)) {
                continue;
            }
            let (x, end) = (self.axis.x(stretch.from), self.axis.end(stretch.to));
            if end - x < 0.5 {
                continue;
            }
            let span = frame::span(self.facts, stretch.from, stretch.to);
            out.open("g", &[]);
            frame::stretch(out, stretch.state, x, end, y);
            let line = format!("{name}: {}, {span}", stretch.state.in_words());
            out.lines("title", &[line]);
            out.close();
        }
        self.marks(out, &lane.marks, y);
        self.outcome(out, lane, y);
        out.close();
    }

    /// The outcome in words, behind the last event of the lane.
    fn outcome(&self, out: &mut Markup, lane: &Lane, y: f64) {
        let Some(outcome) = lane.outcome.filter(|_| !lane.lasts()) else {
            return;
        };
        let last = lane.marks.iter().map(|it| it.at).max();
        let x = last.map_or(0.0, |at| self.axis.x(at)) + 11.0;
        if x > self.axis.width() - 40.0 {
            return;
        }
        let (class, words) = match outcome {
            Outcome::Returned => ("outcome good", "returned"),
            Outcome::Supplied => ("outcome good", "supplied"),
            Outcome::Failed => ("outcome bad", "failed"),
            Outcome::Refused => ("outcome bad", "refused"),
            Outcome::Denied => ("outcome bad", "denied"),
            Outcome::Expired => ("outcome bad", "expired"),
            Outcome::TimedOut => ("outcome bad", "timed out"),
            Outcome::Cancelled => ("outcome", "cancelled"),
            Outcome::Withdrawn => ("outcome", "withdrawn"),
            Outcome::Unknown => ("outcome bad", "unknown"),
            // No end of a call.
            Outcome::Interim => return,
        };
        let place = [
            ("class", class.into()),
            ("x", x.into()),
            ("y", (y + 4.0).into()),
        ];
        out.text("text", &place, words);
    }

    fn marks(&self, out: &mut Markup, marks: &[Mark], y: f64) {
        for group in marks::grouped(marks, &self.axis) {
            self.mark(out, &group, y);
        }
    }

    fn mark(&self, out: &mut Markup, group: &Group, y: f64) {
        let mut class = format!("mark {}", group.shown.kind.class());
        if group.all.len() > 1 {
            class.push_str(" many");
        }
        // The event that is drawn, or else the first one that has an address.
        let events = std::iter::once(group.shown.at).chain(group.all.iter().copied());
        let mut events = events.filter_map(|at| self.facts.get(at));
        match events.find_map(|it| (self.settings.links)(it.seq)) {
            Some(href) => {
                let label = self.words(group.shown.at);
                let link = [
                    ("class", class.into()),
                    ("href", href.into()),
                    ("aria-label", label.into()),
                    // The list of the events has a link for the keyboard to each.
                    ("tabindex", "-1".into()),
                ];
                out.open("a", &link);
            }
            None => out.open("g", &[("class", class.into())]),
        }
        let path = marks::outline(group.shown.kind, group.x, y);
        out.empty("path", &[("d", path.into())]);
        let events = group.all.iter().take(EVENTS_SHOWN);
        let mut lines: Vec<String> = events.map(|at| self.words(*at)).collect();
        let more = group.all.len().saturating_sub(EVENTS_SHOWN);
        if more > 0 {
            lines.push(format!("and {}", count(more, "more event")));
        }
        out.lines("title", &lines);
        out.close();
    }

    /// An event in words: the time, the seq and the sentence.
    fn words(&self, at: usize) -> String {
        let Some(fact) = self.facts.get(at) else {
            return String::new();
        };
        let time = age::in_zone(fact.at).format("%H:%M:%S%.3f");
        let sentence = self.sentences.get(at).map_or("", String::as_str);
        format!("{time} #{} {sentence}", fact.seq)
    }
}
