//! Marks that would cover each other become one.

use super::axis::Axis;
use super::model::{Index, Mark, MarkKind};

/// The minimum distance of two marks in a row, in pixels.
const APART: f64 = 11.0;

/// Events in one place of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) x: f64,
    /// The event that is drawn: the one of the highest kind.
    pub(super) shown: Mark,
    /// All events, in their order.
    pub(super) all: Vec<Index>,
}

/// The marks of a row by their places.
pub(super) fn grouped(marks: &[Mark], axis: &Axis) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for mark in marks.iter().filter(|it| axis.has(it.at)) {
        let x = axis.x(mark.at);
        let last = groups.last_mut().filter(|it| x - it.x < APART);
        let Some(last) = last else {
            groups.push(Group {
                x,
                shown: *mark,
                all: vec![mark.at],
            });
            continue;
        };
        last.all.push(mark.at);
        if last.shown.kind < mark.kind {
            last.shown = *mark;
        }
    }
    groups
}

/// The outline of a mark at a place, as path data.
pub(super) fn outline(kind: MarkKind, x: f64, y: f64) -> String {
    let at = |dx: f64, dy: f64| format!("{:.1} {:.1}", x + dx, y + dy);
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<String> = points.iter().map(|(dx, dy)| at(*dx, *dy)).collect();
        format!("M{}Z", points.join("L"))
    };
    let circle = |r: f64| {
        let (left, right) = (at(-r, 0.0), at(r, 0.0));
        format!("M{left}A{r} {r} 0 1 1 {right}A{r} {r} 0 1 1 {left}Z")
    };
    match kind {
        MarkKind::Other => circle(2.2),
        MarkKind::Judged | MarkKind::Turn => {
            polygon(&[(-1.0, -5.0), (1.0, -5.0), (1.0, 5.0), (-1.0, 5.0)])
        }
        MarkKind::Started => polygon(&[(-3.0, -5.0), (5.0, 0.0), (-3.0, 5.0)]),
        MarkKind::Received => polygon(&[(-5.0, -4.5), (5.0, -4.5), (0.0, 5.0)]),
        MarkKind::Returned | MarkKind::Runner => {
            polygon(&[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)])
        }
        MarkKind::Answered => polygon(&[(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)]),
        MarkKind::Asked | MarkKind::Connection => circle(5.0),
        MarkKind::User | MarkKind::Model | MarkKind::Response | MarkKind::Sent => circle(4.2),
        MarkKind::Late => format!("{}{}", circle(5.4), circle(2.0)),
        MarkKind::Pause => format!(
            "{}{}",
            polygon(&[(-4.5, -5.0), (-1.5, -5.0), (-1.5, 5.0), (-4.5, 5.0)]),
            polygon(&[(1.5, -5.0), (4.5, -5.0), (4.5, 5.0), (1.5, 5.0)])
        ),
        MarkKind::Cancelled | MarkKind::Closed => {
            let (a, b) = (at(-4.5, -4.5), at(4.5, 4.5));
            let (c, d) = (at(-4.5, 4.5), at(4.5, -4.5));
            format!("M{a}L{b}M{c}L{d}")
        }
    }
}
