//! The machine's clocks: what was observed, and their anomalies.

use maud::{Markup, html};
use recount::audit::{ClockAnomaly, ClockAnomalyKind};

use crate::report::frame::{Section, at, numbered, table};
use crate::report::told::Told;

pub(in crate::report) fn clock(told: &Told<'_>) -> Section {
    let report = &told.contents.own.clock;
    let observations = report.observations as u64;
    let unknown = report.unknown_synchronization as u64;
    let body = html! {
        p {
            "The times in the records are those of the machine’s wall clock. A service also "
            "records a clock that is never set, at its start and every hour. A wall clock that "
            "moves otherwise than that one was set."
        }
        @match (report.from, report.to) {
            (Some(from), Some(to)) => p {
                (numbered(observations, "observation")) ", from " (at(from)) " to " (at(to))
                ". The system said nothing about synchronisation in " (unknown) " of them."
            },
            (Some(_), None) | (None, _) => p {
                "No observation is on record: nothing is known about the clocks."
            },
        }
        @if report.anomalies.is_empty() {
            @if observations > 0 { p { "No anomaly was found." } }
        } @else {
            (table("Anomalies of the clocks", &["Time", "What", "Record"], html! {
                @for it in &report.anomalies { (anomaly(it)) }
            }))
        }
    };
    Section {
        id: "clock",
        title: "Clocks",
        body,
    }
}

fn anomaly(it: &ClockAnomaly) -> Markup {
    let seconds = it.by_us.unsigned_abs() / 1_000_000;
    let direction = if it.by_us < 0 { "back" } else { "forward" };
    let what = match it.kind {
        ClockAnomalyKind::Step => {
            format!("the clock was set {direction} by {seconds} s while a process ran")
        }
        ClockAnomalyKind::Drift => {
            format!("the clock was set {direction} by {seconds} s between two processes")
        }
        ClockAnomalyKind::Backwards => {
            format!("the clock of a later start of the machine is {seconds} s behind a record")
        }
        ClockAnomalyKind::Unsynchronized => {
            "the system reported a clock that is not synchronised".to_owned()
        }
    };
    html! { tr { td { (at(it.at)) } td { (what) } td { "record " (it.seq) } } }
}
