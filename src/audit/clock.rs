//! The anomalies of the machine's clocks that recorded observations show.

use std::time::Duration;

use serde::Serialize;

use super::moment;
use crate::ledger::{ClockObservation, ClockSync};
use crate::session::{Seq, Timestamp};

/// The difference from which two clocks disagree.
///
/// The system slews both clocks together, so any difference between them is a step of the wall
/// clock. A second is far above the time between the readings of both.
pub const CLOCK_STEP_MIN: Duration = Duration::from_secs(1);

/// An anomaly between two consecutive observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockAnomalyKind {
    /// The wall clock was set while a process ran: it moved otherwise than the clock that is never
    /// set.
    Step,
    /// The wall clock was set between two processes of one start of the machine.
    Drift,
    /// The wall clock of a later start of the machine is behind an earlier record. On one start of
    /// the machine, such a clock is a step or a drift.
    Backwards,
    /// The system reported that the wall clock is not synchronised. Reported once until it is.
    Unsynchronized,
}

/// An anomaly of the machine's clocks.
///
/// ```json
/// {"kind":"step","seq":9,"at":"2026-11-20T14:03:07.112345Z","after":7,"by_us":-3600000000}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClockAnomaly {
    /// The kind.
    pub kind: ClockAnomalyKind,
    /// The record of the observation that shows it, in the stream with the nil id.
    pub seq: Seq,
    /// The time of that record.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// The observation before it. `None` for a clock that was not synchronised from the first one.
    pub after: Option<Seq>,
    /// The move of the wall clock against the other clock, in microseconds, or the time by which it
    /// is behind. Negative: it was set back. 0 for a clock that is not synchronised.
    pub by_us: i64,
}

/// The observations of the machine's clocks in a journal, and their anomalies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClockReport {
    /// The number of observations. 0 in a journal of an older program, and in one that no service
    /// has opened: nothing is known about its clocks.
    pub observations: usize,
    /// The number of observations in which the system said nothing about synchronisation.
    pub unknown_synchronization: usize,
    /// The time of the first observation.
    #[serde(serialize_with = "moment::text_if_any")]
    pub from: Option<Timestamp>,
    /// The time of the last observation.
    #[serde(serialize_with = "moment::text_if_any")]
    pub to: Option<Timestamp>,
    /// The anomalies, oldest first.
    pub anomalies: Vec<ClockAnomaly>,
}

impl ClockReport {
    /// Returns the report about these observations, which are in the order of their records.
    ///
    /// It is a function of the records alone, so every reader of a journal gets the same report.
    ///
    /// ```
    /// use recount::audit::ClockReport;
    /// let none = ClockReport::of(&[]);
    /// assert_eq!((none.observations, none.anomalies.len()), (0, 0));
    /// ```
    #[must_use]
    pub fn of(observations: &[ClockObservation]) -> ClockReport {
        let mut report = ClockReport {
            observations: observations.len(),
            unknown_synchronization: 0,
            from: observations.first().map(|it| it.at),
            to: observations.last().map(|it| it.at),
            anomalies: Vec::new(),
        };
        let mut before: Option<&ClockObservation> = None;
        for it in observations {
            report.anomalies.extend(moved(before, it));
            let was_reported = before.is_some_and(is_unsynchronized);
            if is_unsynchronized(it) && !was_reported {
                let kind = ClockAnomalyKind::Unsynchronized;
                report.anomalies.push(anomaly(kind, before, it, 0));
            }
            if it.reading.synchronization == ClockSync::Unknown {
                report.unknown_synchronization += 1;
            }
            before = Some(it);
        }
        report
    }
}

fn is_unsynchronized(it: &ClockObservation) -> bool {
    it.reading.synchronization == ClockSync::Unsynchronized
}

/// Returns the move of the wall clock since the observation before, if it is an anomaly.
fn moved(before: Option<&ClockObservation>, it: &ClockObservation) -> Option<ClockAnomaly> {
    let later = &it.reading;
    let comparable = before.map(|before| &before.reading);
    let comparable = comparable.filter(|earlier| earlier.origin == later.origin);
    let (kind, by_us) = match comparable {
        Some(earlier) => {
            let wall = later.wall.0.saturating_sub(earlier.wall.0);
            let monotonic = later.monotonic_us.saturating_sub(earlier.monotonic_us);
            let kind = match earlier.process == later.process {
                true => ClockAnomalyKind::Step,
                false => ClockAnomalyKind::Drift,
            };
            (kind, wall.saturating_sub(monotonic))
        }
        // Only the order is known. The time of a record is at least that of the record before it,
        // so a record with a later time than its own reading shows a clock behind that record.
        None => {
            let behind = later.wall.0.saturating_sub(it.at.0);
            (ClockAnomalyKind::Backwards, behind)
        }
    };
    let step_min = i64::try_from(CLOCK_STEP_MIN.as_micros()).unwrap_or(i64::MAX);
    let is_anomaly = by_us.saturating_abs() >= step_min;
    is_anomaly.then(|| anomaly(kind, before, it, by_us))
}

fn anomaly(
    kind: ClockAnomalyKind,
    before: Option<&ClockObservation>,
    it: &ClockObservation,
    by_us: i64,
) -> ClockAnomaly {
    ClockAnomaly {
        kind,
        seq: it.seq,
        at: it.at,
        after: before.map(|it| it.seq),
        by_us,
    }
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use std::sync::Arc;

    use recount_journal::{MemoryJournal, block_on};
    use uuid::Uuid;

    use super::*;
    use crate::ledger::{ClockReading, Ledger};

    const SECOND: i64 = 1_000_000;
    const HOUR: i64 = 3_600 * SECOND;

    /// The clocks of one machine and one process, moved by hand.
    #[derive(Clone)]
    struct Machine(ClockReading);

    impl Machine {
        fn new() -> Machine {
            Machine(ClockReading {
                wall: Timestamp(1_000 * HOUR),
                monotonic_us: 5 * HOUR,
                origin: "boot 1".to_owned(),
                process: Uuid::from_u128(1),
                synchronization: ClockSync::Synchronized,
            })
        }

        fn passes(&mut self, us: i64) -> &mut Machine {
            self.0.wall.0 += us;
            self.0.monotonic_us += us;
            self
        }

        fn is_set_by(&mut self, us: i64) -> &mut Machine {
            self.0.wall.0 += us;
            self
        }

        fn restarts(&mut self, process: u128) -> &mut Machine {
            self.0.process = Uuid::from_u128(process);
            self
        }

        fn boots(&mut self, origin: &str) -> &mut Machine {
            self.0.origin = origin.to_owned();
            self.0.monotonic_us = SECOND;
            self
        }
    }

    /// Reports what a journal with these readings shows.
    fn reported(readings: &[Machine]) -> ClockReport {
        let ledger = Ledger::new(Arc::new(MemoryJournal::new()));
        for it in readings {
            block_on(ledger.observe_clock(&it.0)).unwrap();
        }
        ClockReport::of(&block_on(ledger.clock_observations()).unwrap())
    }

    fn found(report: &ClockReport) -> Vec<(ClockAnomalyKind, u64, i64)> {
        let anomalies = report.anomalies.iter();
        anomalies.map(|it| (it.kind, it.seq.0, it.by_us)).collect()
    }

    #[test]
    fn steady_clock_has_no_anomaly() {
        let mut machine = Machine::new();
        let first = machine.clone();
        let second = machine.passes(HOUR).is_set_by(SECOND - 1).clone();
        let third = machine.restarts(2).passes(HOUR).clone();
        let fourth = machine.passes(HOUR).boots("boot 2").clone();
        let report = reported(&[first.clone(), second, third, fourth.clone()]);
        assert_eq!(found(&report), []);
        assert_eq!(report.observations, 4);
        assert_eq!(
            (report.from, report.to),
            (Some(first.0.wall), Some(fourth.0.wall))
        );
    }

    #[test]
    fn set_clock_is_step_or_drift_by_its_amount() {
        let mut machine = Machine::new();
        let readings = [
            machine.clone(),
            machine.passes(HOUR).is_set_by(-HOUR).clone(),
            machine.passes(HOUR).is_set_by(SECOND).clone(),
            machine
                .restarts(2)
                .passes(HOUR)
                .is_set_by(-2 * SECOND)
                .clone(),
        ];
        let report = reported(&readings);
        let expected = [
            (ClockAnomalyKind::Step, 2, -HOUR),
            (ClockAnomalyKind::Step, 3, SECOND),
            (ClockAnomalyKind::Drift, 4, -2 * SECOND),
        ];
        assert_eq!(found(&report), expected);
        assert_eq!(report.anomalies[0].after, Some(Seq(1)));
    }

    /// The record's time is kept at that of the one before it, which shows the clock behind it.
    #[test]
    fn clock_behind_earlier_record_runs_backwards() {
        let mut machine = Machine::new();
        let readings = [
            machine.clone(),
            machine.boots("boot 2").is_set_by(-HOUR).clone(),
            machine.boots("boot 3").is_set_by(2 * HOUR).clone(),
        ];
        let report = reported(&readings);
        assert_eq!(found(&report), [(ClockAnomalyKind::Backwards, 2, -HOUR)]);
        assert_eq!(report.anomalies[0].at, readings[0].0.wall);
    }

    #[test]
    fn clock_without_source_is_reported_until_it_has_one() {
        let mut machine = Machine::new();
        let mut saying = |said| {
            machine.passes(HOUR).0.synchronization = said;
            machine.clone()
        };
        let (no, yes) = (ClockSync::Unsynchronized, ClockSync::Synchronized);
        let said = [no, no, yes, ClockSync::Unknown, no];
        let report = reported(&said.map(&mut saying));
        let unsynchronized = ClockAnomalyKind::Unsynchronized;
        assert_eq!(
            found(&report),
            [(unsynchronized, 1, 0), (unsynchronized, 5, 0)]
        );
        assert_eq!(report.unknown_synchronization, 1);
    }

    #[test]
    fn journal_without_observations_says_so() {
        let none = reported(&[]);
        assert_eq!(
            (none.observations, none.from, none.anomalies.len()),
            (0, None, 0)
        );
    }
}
