//! `recount backup`: a copy of a journal that can be verified and restored by itself.

use std::path::PathBuf;

use clap::Args;
use recount_journal::backup;
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::files::destination;
use crate::terminal::{Meter, Screen};
use crate::text::{count, quoted};

/// Copies a journal, also while another process writes it.
///
/// The copy holds every commit that was whole when it was read, and says where it ends:
/// `recount verify` and `recount restore` find what was cut off or altered since. A damaged journal
/// is refused.
#[derive(Args)]
pub(crate) struct Backup {
    /// The directory of the journal.
    path: PathBuf,
    /// The directory to make.
    dest: PathBuf,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Backup {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        destination::outside_journals(&self.dest)?;
        let meter = Meter::new("Copying");
        let copied = backup::directory(&self.path, &self.dest, |it| meter.show(it.done, it.total));
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
            self.dest.display()
        ))?;
        let dest = quoted(&self.dest);
        screen.line(&format!(
            "recount restore --verify {dest} DEST brings it back"
        ))?;
        Ok(Exit::Ok)
    }
}
