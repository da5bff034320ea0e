//! `recount restore`: makes a journal from a backup.

use clap::Args;
use recount_journal::backup;
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::files::destination;
use crate::journal::{Location, verdict};
use crate::terminal::{Meter, Screen};
use recount_telling::count;

/// The advice for a database.
const INSTEAD: &str = "a database is restored with its own tools, and `recount verify ADDRESS` \
                       verifies it; for a journal in a directory, restore the backup to a new one \
                       and `recount export` it, then `recount import FILE ADDRESS`";

/// Makes a new journal from a backup, which continues where the backup ended.
///
/// An incomplete or altered backup is refused, and nothing is created.
#[derive(Args)]
pub(crate) struct Restore {
    /// The directory of the backup.
    backup: Location,
    /// The directory to create.
    dest: Location,
    /// Verifies every record and object, as `recount verify` does.
    #[arg(long)]
    verify: bool,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let backup = self.backup.files("restore", INSTEAD)?;
        let dest = self.dest.files("restore", INSTEAD)?;
        destination::outside_journals(dest)?;
        let meter = Meter::new("Restoring");
        let restored = backup::restore(backup, dest, self.verify, move |it| {
            meter.show(it.done, it.total);
        })?;
        let copied = restored.backup;
        let report = restored.report;
        let root = report.as_ref().map(|it| it.root);
        if self.json {
            screen.json(&json!({
                "journal": copied.journal,
                "commits": copied.frames,
                "records": copied.records,
                "bytes": copied.bytes,
                "verified": root.is_some(),
                "root": root,
                "dest": self.dest,
            }))?;
            return Ok(Exit::Ok);
        }
        screen.line(&format!(
            "Restored {} in {} to {}",
            count(copied.records, "record"),
            count(copied.frames, "commit"),
            dest.display()
        ))?;
        if let Some(report) = report {
            let (tone, headline) = verdict::headline("journal", &report);
            screen.toned(tone, &headline)?;
            screen.line(&format!("root {}", report.root))?;
        }
        Ok(Exit::Ok)
    }
}
