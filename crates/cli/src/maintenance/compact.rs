//! `recount compact`: frees the unused space of the index.

use clap::Args;
use recount_journal::{CompactOptions, Compacted, Progress, compact};
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::journal::{Location, opening};
use crate::terminal::{Meter, Screen, Tone};

/// The advice for a database.
const INSTEAD: &str = "a database frees its space by itself (autovacuum); VACUUM and REINDEX of \
                       PostgreSQL do so at once";

/// Frees the unused space of a journal's index.
///
/// Builds a new index from the log, replaces the old one with it, and removes indexes that a repair
/// kept. Nothing is removed unless the whole log is sound. It can be interrupted at any moment.
#[derive(Args)]
pub(crate) struct Compact {
    /// The directory of the journal.
    path: Location,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Compact {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let path = self.path.files("compact", INSTEAD)?;
        let meter = Meter::new("Building a new index");
        let options = CompactOptions::default()
            .progress(move |Progress { done, total }| meter.show(done, total));
        let options = if opening::trusts_others() {
            options.insecure_directory()
        } else {
            options
        };
        let compacted = compact(path, options)?;
        if self.json {
            screen.json(&as_json(&compacted))?;
        } else {
            let Compacted {
                bytes_before,
                bytes_after,
                ..
            } = compacted;
            screen.toned(
                Tone::Good,
                &format!(
                    "Compacted the index from {} to {}",
                    human(bytes_before),
                    human(bytes_after)
                ),
            )?;
            for name in &compacted.removed {
                screen.line(&format!("  removed {name}"))?;
            }
        }
        Ok(Exit::Ok)
    }
}

fn as_json(compacted: &Compacted) -> serde_json::Value {
    json!({
        "bytes_before": compacted.bytes_before,
        "bytes_after": compacted.bytes_after,
        "records": compacted.records,
        "removed": compacted.removed,
    })
}

/// The number of bytes, in the largest unit of which there is at least one.
fn human(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1 << 10 {
        return format!("{bytes} B");
    }
    let mut unit = 1_u64 << 10;
    let mut name = "KiB";
    for larger in UNITS.into_iter().skip(1) {
        if bytes / 1024 < unit {
            break;
        }
        unit <<= 10;
        name = larger;
    }
    let tenths = u128::from(bytes) * 10 / u128::from(unit);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_unit_that_fits() {
        assert_eq!(human(1_023), "1023 B");
        assert_eq!(human(1_024), "1.0 KiB");
        assert_eq!(human((1 << 20) - 1), "1023.9 KiB");
        assert_eq!(human(3 << 29), "1.5 GiB");
        assert_eq!(human(u64::MAX), "16777215.9 TiB");
    }
}
