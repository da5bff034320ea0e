//! `recount restore`: makes a journal from a backup.

use std::path::PathBuf;

use clap::Args;
use recount_journal::backup;
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::files::destination;
use crate::journal::verdict;
use crate::terminal::{Meter, Screen};
use recount_telling::count;

/// Makes a new journal from a backup, which continues where the backup ended.
///
/// An incomplete or altered backup is refused, and nothing is created.
#[derive(Args)]
pub(crate) struct Restore {
    /// The directory of the backup.
    backup: PathBuf,
    /// The directory to create.
    dest: PathBuf,
    /// Verifies every record and object, as `recount verify` does.
    #[arg(long)]
    verify: bool,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        destination::outside_journals(&self.dest)?;
        let meter = Meter::new("Restoring");
        let restored = backup::restore(&self.backup, &self.dest, self.verify, move |it| {
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
            self.dest.display()
        ))?;
        if let Some(report) = report {
            let (tone, headline) = verdict::headline("journal", &report);
            screen.toned(tone, &headline)?;
            screen.line(&format!("root {}", report.root))?;
        }
        Ok(Exit::Ok)
    }
}
