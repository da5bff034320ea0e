//! `recount backup`: copies a journal, also while it is in use.

use clap::Args;
use recount_journal::backup;
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::files::destination;
use crate::journal::Location;
use crate::terminal::{Meter, Screen};
use recount_telling::{count, quoted};

/// The advice for a database.
const INSTEAD: &str = "the database has its own backups, such as `pg_basebackup` with an archive \
                       of the WAL, or `pg_dump`; `recount verify ADDRESS` verifies one that was \
                       restored, and `recount export ADDRESS` writes all records";

/// Copies a journal, also while another process writes to it.
///
/// The copy has every commit that was complete when it was read, and a note of its end. With that,
/// `recount verify` and `recount restore` find missing and altered parts. A damaged journal is
/// refused.
#[derive(Args)]
pub(crate) struct Backup {
    /// The directory of the journal.
    path: Location,
    /// The directory to create.
    dest: Location,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Backup {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let path = self.path.files("backup", INSTEAD)?;
        let dest = self.dest.files("backup", INSTEAD)?;
        destination::outside_journals(dest)?;
        let meter = Meter::new("Copying");
        let copied = backup::directory(path, dest, |it| meter.show(it.done, it.total));
        drop(meter);
        let copied = copied?;
        if self.json {
            screen.json(&json!({
                "journal": copied.journal,
                "commits": copied.frames,
                "records": copied.records,
                "bytes": copied.bytes,
                "dest": self.dest,
            }))?;
            return Ok(Exit::Ok);
        }
        screen.line(&format!(
            "Backed up {} in {} to {}",
            count(copied.records, "record"),
            count(copied.frames, "commit"),
            dest.display()
        ))?;
        let dest = quoted(dest);
        screen.line(&format!(
            "To restore it: recount restore --verify {dest} DEST"
        ))?;
        Ok(Exit::Ok)
    }
}
