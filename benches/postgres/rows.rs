//! The rows of the tables.

use std::time::Duration;

use crate::table::{self, verdict};

/// A figure beside its baseline and its target.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) figure: String,
    pub(crate) measured: String,
    pub(crate) baseline: String,
    /// The target, and true if it was met.
    pub(crate) target: Option<(String, bool)>,
}

/// Prints rows as a table.
pub(crate) fn print(title: &str, rows: Vec<Row>) {
    let columns = [
        "what", "figure", "measured", "baseline", "target", "verdict",
    ];
    let cells = rows.into_iter().map(|row| {
        let none = || "—".to_owned();
        let (target, met) = row.target.unzip();
        vec![
            row.what,
            row.figure,
            row.measured,
            row.baseline,
            target.unwrap_or_else(none),
            met.map_or_else(none, verdict),
        ]
    });
    table::print(title, &columns, &cells.collect::<Vec<_>>());
}

/// The percentile of the durations for this share, in microseconds.
pub(crate) fn at(durations: &mut [Duration], share: f64) -> f64 {
    durations.sort_unstable();
    let place = (durations.len() as f64 * share) as usize;
    let found = durations.get(place.min(durations.len().saturating_sub(1)));
    found.map_or(f64::NAN, |it| it.as_secs_f64() * 1e6)
}
