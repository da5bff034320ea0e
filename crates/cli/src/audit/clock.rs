//! The command `recount audit clock`: the anomalies of the clocks behind the times of the records.

use clap::Args;
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, opening};
use crate::terminal::{Screen, Tone};
use recount::audit::{ClockAnomaly, ClockAnomalyKind, ClockReport};
use recount::session::Timestamp;
use recount_telling::{age, count};

/// Shows whether the clock behind the times of the records was set, or was not synchronised.
///
/// `recount serve` records the wall clock beside a clock that is never set, at its start and every
/// hour. Times between two such records are as reliable as both. Without them nothing is known
/// about the clock: in a journal of an older version, and in one that no service has opened.
#[derive(Args)]
pub(super) struct Clock {
    /// The journal or a backup of it: a directory or postgres://…, or an export.
    path: Location,
    #[command(flatten)]
    keys: Keys,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Clock {
    pub(super) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = opening::looking(&self.path, &self.keys, screen)?;
        let report = ClockReport::of(&ledger.clock_observations().await?);
        if self.json {
            screen.json(&json!(report))?;
            return Ok(Exit::Ok);
        }
        let (Some(from), Some(to)) = (report.from, report.to) else {
            screen.line("No observations: nothing is known about the clock of this journal.")?;
            return Ok(Exit::Ok);
        };
        let observations = count(report.observations, "observation");
        let (from, to) = (age::moment(from), age::moment(to));
        screen.line(&format!("{observations} of the clock, from {from} to {to}"))?;
        for it in &report.anomalies {
            screen.toned(Tone::Bad, &format!("  {}", told(it)))?;
        }
        if report.anomalies.is_empty() {
            screen.toned(Tone::Good, "  no anomaly")?;
        }
        if report.unknown_synchronization > 0 {
            let unknown = count(report.unknown_synchronization, "observation");
            let text = format!("note: the system says nothing about synchronisation in {unknown}");
            screen.toned(Tone::Quiet, &text)?;
        }
        Ok(Exit::Ok)
    }
}

/// An anomaly in words, with the record that shows it.
fn told(it: &ClockAnomaly) -> String {
    let by = age::span(Timestamp(0), Timestamp(it.by_us.saturating_abs()));
    let way = match it.by_us < 0 {
        true => "back",
        false => "forward",
    };
    let what = match it.kind {
        ClockAnomalyKind::Step => format!("set {way} by {by} while the service ran"),
        ClockAnomalyKind::Drift => format!("set {way} by {by} between two services"),
        ClockAnomalyKind::Backwards => format!("{by} behind an earlier record"),
        ClockAnomalyKind::Unsynchronized => "not synchronised with a source of time".to_owned(),
    };
    let after = it
        .after
        .map_or(String::new(), |it| format!(", after seq {it}"));
    format!("{}: {what} (seq {}{after})", age::moment(it.at), it.seq)
}
