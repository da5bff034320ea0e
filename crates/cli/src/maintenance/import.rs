//! `recount import`: makes a journal from an export.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::files::destination;
use crate::journal::{Keys, exported};
use crate::terminal::Screen;
use recount::ledger;
use recount_telling::count;

/// Makes a new journal from an exported file: the same records and objects, byte for byte.
///
/// The file is verified. A damaged or incomplete file is refused, and nothing is created. Open
/// requests of the sessions can be answered in the new journal. The first command that opens it
/// builds its index.
#[derive(Args)]
pub(crate) struct Import {
    /// The exported file, of a journal or of one session; it may be compressed with gzip or zstd.
    file: PathBuf,
    /// The directory to create.
    dest: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        destination::outside_journals(&self.dest)?;
        let content = exported::content(&self.file, "Importing")?;
        let keys = self.keys.opened()?;
        let imported = ledger::import(content, &self.dest, keys.as_deref())?;
        if self.json {
            screen.json(&json!({
                "journal": imported.journal,
                "sessions": imported.sessions,
                "records": imported.records,
                "objects": imported.objects,
                "root": imported.root,
                "dest": self.dest,
            }))?;
            return Ok(Exit::Ok);
        }
        screen.line(&format!(
            "Imported {}, {}, {} to {}",
            count(imported.sessions, "session"),
            count(imported.records, "record"),
            count(imported.objects, "object"),
            self.dest.display()
        ))?;
        screen.line(&format!("root {}", imported.root))?;
        Ok(Exit::Ok)
    }
}
