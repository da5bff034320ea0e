//! The place of each fact from left to right, and the times below the places.
//!
//! A call may wait for weeks and run for a millisecond. So the distance between two facts grows
//! with the logarithm of the time between them, and the picture says so.

use recount::session::{Fact, Timestamp};

use super::model::Index;

/// The width of a picture of few events, in pixels.
const WIDTH_MIN: f64 = 860.0;

/// The maximum width: about four screens.
const WIDTH_MAX: f64 = 4_800.0;

/// The margins on the left and on the right, where states that last fade out.
const MARGIN: f64 = 14.0;
const MARGIN_END: f64 = 84.0;

/// The distance of two facts of one time, such as those of one batch. Their order stays visible.
const SAME_TIME: f64 = 4.0;

/// The minimum distance between two times on the axis.
const TICK: f64 = 112.0;

/// The places of the facts from the first one of the picture on.
#[derive(Debug)]
pub(super) struct Axis {
    first: Index,
    places: Vec<f64>,
    width: f64,
}

/// A time on the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) x: f64,
    pub(super) at: Timestamp,
}

impl Axis {
    /// The axis of the facts from `first` on.
    pub(super) fn of(facts: &[Fact], first: Index) -> Axis {
        let mut places = Vec::new();
        let (mut place, mut before) = (0.0, None);
        for fact in facts.iter().skip(first) {
            if let Some(before) = before {
                place += distance(before, fact.at);
            }
            // A clock that was set back moves nothing to the left.
            before = before.max(Some(fact.at));
            places.push(place);
        }
        let inner_min = WIDTH_MIN - MARGIN - MARGIN_END;
        let inner_max = WIDTH_MAX - MARGIN - MARGIN_END;
        let inner = place.clamp(inner_min, inner_max);
        let scale = if place > 0.0 { inner / place } else { 0.0 };
        for place in &mut places {
            *place = MARGIN + *place * scale;
        }
        Axis {
            first,
            places,
            width: inner + MARGIN + MARGIN_END,
        }
    }

    pub(super) fn width(&self) -> f64 {
        self.width
    }

    /// The place of a fact; the left edge for a fact before the first.
    pub(super) fn x(&self, at: Index) -> f64 {
        match at.checked_sub(self.first) {
            None => 0.0,
            Some(at) => self.places.get(at).copied().unwrap_or(self.width),
        }
    }

    /// The place at which a stretch ends; the right edge if it lasts.
    pub(super) fn end(&self, at: Option<Index>) -> f64 {
        at.map_or(self.width, |at| self.x(at))
    }

    /// True if a fact has a place.
    pub(super) fn has(&self, at: Index) -> bool {
        at >= self.first
    }

    /// The times below the axis, far enough apart to be read.
    pub(super) fn ticks(&self, facts: &[Fact]) -> Vec<Tick> {
        let mut ticks: Vec<Tick> = Vec::new();
        for (fact, x) in facts.iter().skip(self.first).zip(&self.places) {
            let has_room = ticks.last().is_none_or(|it| x - it.x >= TICK);
            if has_room && self.width - x >= TICK / 2.0 {
                ticks.push(Tick { x: *x, at: fact.at });
            }
        }
        ticks
    }
}

/// The distance between two times before the axis is fitted to its width.
fn distance(before: Timestamp, at: Timestamp) -> f64 {
    let us = at.0.saturating_sub(before.0).max(0);
    if us == 0 {
        return SAME_TIME;
    }
    // A millisecond, a second, a minute, an hour, a week: 9, 36, 54, 72 and 94 pixels.
    let ms = us as f64 / 1_000.0;
    6.0 + 10.0 * (1.0 + ms).log10()
}

#[cfg(test)]
mod tests {
    use recount::session::{Decision, Event, PhaseEntered, Seq};

    use super::*;

    fn at(times: &[i64]) -> Vec<Fact> {
        let entered = PhaseEntered {
            phase: "greet".to_owned(),
            from: None,
            when: None,
        };
        let facts = times.iter().zip(1..).map(|(at, seq)| Fact {
            seq: Seq(seq),
            at: Timestamp(*at),
            cause: None,
            event: Event::Decided(Decision::PhaseEntered(entered.clone())),
        });
        facts.collect()
    }

    #[test]
    fn long_wait_is_shortened_and_order_is_kept() {
        let week = 7 * 86_400 * 1_000_000;
        let facts = at(&[0, 1_000, 1_000, week, week + 1_000_000]);
        let axis = Axis::of(&facts, 0);
        let places: Vec<f64> = (0..5).map(|it| axis.x(it)).collect();
        assert!(
            places.is_sorted() && places.first() == Some(&MARGIN),
            "{places:?}"
        );
        let (short, none) = (axis.x(1) - axis.x(0), axis.x(2) - axis.x(1));
        let long = axis.x(3) - axis.x(2);
        assert!(
            none < short && short < long && long < short * 20.0,
            "{places:?}"
        );
        assert!(axis.x(4) <= axis.width() - MARGIN_END + 0.1);
    }

    #[test]
    fn clock_set_back_moves_nothing_to_the_left() {
        let axis = Axis::of(&at(&[5_000_000, 0, 6_000_000]), 0);
        assert!(axis.x(0) <= axis.x(1) && axis.x(1) < axis.x(2));
        // Nor does the time that is caught up count again.
        let steady = Axis::of(&at(&[5_000_000, 5_000_000, 6_000_000]), 0);
        assert_eq!(axis.places, steady.places);
    }

    #[test]
    fn width_is_bounded_and_ticks_have_room() {
        let many: Vec<i64> = (0..5_000).map(|it| it * 1_000_000).collect();
        let facts = at(&many);
        let axis = Axis::of(&facts, 100);
        assert!((axis.width() - WIDTH_MAX).abs() < 0.1, "{}", axis.width());
        assert!(!axis.has(99) && axis.has(100) && axis.x(99) < axis.x(100));
        let ticks = axis.ticks(&facts);
        assert!((20..=43).contains(&ticks.len()), "{}", ticks.len());
        assert!(ticks.windows(2).all(|it| match it {
            [one, two] => two.x - one.x >= TICK,
            _ => false,
        }));
        let one = Axis::of(&at(&[7]), 0);
        assert_eq!(one.ticks(&at(&[7])).len(), 1);
    }
}
