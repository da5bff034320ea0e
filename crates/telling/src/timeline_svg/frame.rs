//! The parts of the picture around the lanes: rows, bands, restarts, the axis and the key.

use recount::session::{Fact, Timestamp};

use super::axis::Axis;
use super::marks;
use super::markup::Markup;
use super::model::{Band, Index, MarkKind, State};
use crate::text::age;

/// The height of a lane, in pixels.
pub(super) const ROW: f64 = 26.0;

/// The height of the axis: a time of day above a date.
pub(super) const AXIS: f64 = 36.0;

/// The rows above the lanes: the conversation and the session.
pub(super) const ROWS_ABOVE: usize = 2;

/// The centre of a row.
pub(super) fn middle(row: usize) -> f64 {
    AXIS + ROW * (row as f64 + 0.5)
}

/// The height of a picture with so many lanes.
pub(super) fn height(lanes: usize) -> f64 {
    AXIS + ROW * (lanes + ROWS_ABOVE) as f64 + 6.0
}

/// Draws the connections as bands behind everything else.
pub(super) fn epochs(out: &mut Markup, axis: &Axis, epochs: &[Band], facts: &[Fact], lanes: usize) {
    for (number, epoch) in (1..).zip(epochs) {
        let (x, end) = (axis.x(epoch.from), axis.end(epoch.to));
        if epoch.to.is_some_and(|to| !axis.has(to)) {
            continue;
        }
        let class = if epoch.is_cut { "epoch cut" } else { "epoch" };
        out.open("g", &[("class", class.into())]);
        out.empty(
            "rect",
            &[
                ("x", x.into()),
                ("y", AXIS.into()),
                ("width", (end - x).max(2.0).into()),
                ("height", (height(lanes) - AXIS).into()),
            ],
        );
        let how = match (epoch.to, epoch.is_cut) {
            (None, _) => "open",
            (Some(_), true) => "lost",
            (Some(_), false) => "ended",
        };
        let line = format!(
            "connection {number}, {how}: {}",
            span(facts, epoch.from, epoch.to)
        );
        out.lines("title", &[line]);
        out.close();
    }
}

/// Draws the turns of the conversation in their row.
pub(super) fn turns(out: &mut Markup, axis: &Axis, turns: &[Band], facts: &[Fact]) {
    for turn in turns {
        if turn.to.is_some_and(|to| !axis.has(to)) {
            continue;
        }
        let (x, end) = (axis.x(turn.from), axis.end(turn.to));
        let class = if turn.is_cut { "turn cut" } else { "turn" };
        out.open("g", &[("class", class.into())]);
        out.empty(
            "rect",
            &[
                ("x", (x - 6.0).into()),
                ("y", (middle(0) - 9.0).into()),
                ("width", (end - x + 12.0).into()),
                ("height", 18.0.into()),
                ("rx", 9.0.into()),
            ],
        );
        let how = if turn.is_cut { ", interrupted" } else { "" };
        let line = format!("turn{how}: {}", span(facts, turn.from, turn.to));
        out.lines("title", &[line]);
        out.close();
    }
}

/// Draws a line for each start of another process.
pub(super) fn restarts(out: &mut Markup, axis: &Axis, restarts: &[Index], facts: &[Fact], y: f64) {
    for at in restarts.iter().filter(|it| axis.has(**it)) {
        let x = axis.x(*at);
        out.open("g", &[("class", "restart".into())]);
        let ends = [
            ("x1", x.into()),
            ("y1", (AXIS - 4.0).into()),
            ("x2", x.into()),
            ("y2", y.into()),
        ];
        out.empty("line", &ends);
        let when = facts
            .get(*at)
            .map_or_else(String::new, |it| age::moment(it.at));
        out.lines(
            "title",
            &[format!("restart: another process attached, {when}")],
        );
        out.close();
    }
}

/// Draws the times at the top.
pub(super) fn times(out: &mut Markup, axis: &Axis, facts: &[Fact], y: f64) {
    out.open("g", &[("class", "times".into())]);
    let (mut day_before, mut second_before) = (None, None);
    for tick in axis.ticks(facts) {
        let ends = [
            ("x1", tick.x.into()),
            ("y1", (AXIS - 6.0).into()),
            ("x2", tick.x.into()),
            ("y2", y.into()),
        ];
        out.empty("line", &ends);
        let at = age::in_zone(tick.at);
        let stamp = age::stamp(tick.at);
        let place = |y: f64| {
            [
                ("x", tick.x.into()),
                ("y", y.into()),
                ("data-at", stamp.as_str().into()),
            ]
        };
        let second = at.format("%H:%M:%S").to_string();
        let shown = match second_before.as_ref() == Some(&second) {
            true => at.format("%H:%M:%S%.3f").to_string(),
            false => second.clone(),
        };
        second_before = Some(second);
        out.text("text", &place(12.0), &shown);
        let day = age::day(at);
        if day_before.as_ref() != Some(&day) {
            out.text("text", &place(26.0), &day);
            day_before = Some(day);
        }
    }
    out.close();
}

/// The words for the time between two facts.
pub(super) fn span(facts: &[Fact], from: Index, to: Option<Index>) -> String {
    let at = |it: Index| facts.get(it).map(|it| it.at);
    let last = facts.last().map(|it| it.at);
    match (at(from), to.map_or(last, at), to) {
        (Some(from), Some(end), Some(_)) => lasted(from, end),
        (Some(from), Some(end), None) => format!("{} so far", lasted(from, end)),
        (_, _, _) => String::new(),
    }
}

fn lasted(from: Timestamp, to: Timestamp) -> String {
    let us = to.0.saturating_sub(from.0).max(0);
    match us {
        0..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000.. => age::span(from, to),
        // The span above is not negative.
        _ => String::new(),
    }
}

/// The key: a sample and a word for every state and for the marks that are not obvious.
pub(super) fn key() -> String {
    let mut out = Markup::default();
    out.open("ul", &[("class", "timeline-key".into())]);
    for state in [
        State::Waiting,
        State::Running,
        State::Paused,
        State::InDoubt,
        State::Late,
    ] {
        sample(&mut out, state.in_words(), |out| {
            stretch(out, state, 1.0, 29.0, ROW / 2.0);
        });
    }
    sample(&mut out, "connection", |out| {
        out.open("g", &[("class", "epoch".into())]);
        let size = [("width", 30.0.into()), ("height", ROW.into())];
        out.empty("rect", &size);
        out.close();
    });
    sample(&mut out, "restart", |out| {
        out.open("g", &[("class", "restart".into())]);
        let ends = [
            ("x1", 15.0.into()),
            ("y1", 0.0.into()),
            ("x2", 15.0.into()),
            ("y2", ROW.into()),
        ];
        out.empty("line", &ends);
        out.close();
    });
    for (kind, words) in [
        (MarkKind::Received, "call"),
        (MarkKind::Asked, "question"),
        (MarkKind::Answered, "answer"),
        (MarkKind::Returned, "result"),
        (MarkKind::Response, "response"),
        (MarkKind::Cancelled, "cancelled"),
        (MarkKind::Late, "late"),
    ] {
        sample(&mut out, words, |out| {
            let class = format!("mark {}", kind.class());
            out.open("g", &[("class", class.into())]);
            out.empty(
                "path",
                &[("d", marks::outline(kind, 15.0, ROW / 2.0).into())],
            );
            out.close();
        });
    }
    out.done()
}

fn sample(out: &mut Markup, words: &str, draw: impl FnOnce(&mut Markup)) {
    out.open("li", &[]);
    let size = [
        ("class", "timeline-sample".into()),
        ("width", "30".into()),
        ("height", "26".into()),
        ("aria-hidden", "true".into()),
        ("focusable", "false".into()),
    ];
    out.open("svg", &size);
    draw(out);
    out.close();
    out.text("span", &[], words);
    out.close();
}

/// Draws a state of a call: a bar, hatched by short strokes where the call waits.
pub(super) fn stretch(out: &mut Markup, state: State, x: f64, end: f64, y: f64) {
    let height = match state {
        State::Received | State::Judged | State::Late => 4.0,
        State::Waiting | State::Running | State::Paused | State::InDoubt => 14.0,
    };
    let class = format!("stretch {}", state.class());
    out.open("g", &[("class", class.into())]);
    out.empty(
        "rect",
        &[
            ("x", x.into()),
            ("y", (y - height / 2.0).into()),
            ("width", (end - x).into()),
            ("height", height.into()),
            ("rx", 2.0.into()),
        ],
    );
    match state {
        State::Waiting | State::Paused | State::InDoubt => out.empty(
            "line",
            &[
                ("x1", (x + 1.0).into()),
                ("y1", y.into()),
                ("x2", (end - 1.0).into()),
                ("y2", y.into()),
            ],
        ),
        State::Received | State::Judged | State::Running | State::Late => {}
    }
    out.close();
}
