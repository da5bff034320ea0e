//! `recount import`: makes a journal from an export.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use recount_journal::seal::KeyStore;
use recount_journal::{self as journal, Imported};
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::files::destination;
use crate::journal::{Database, Keys, Location, exported};
use crate::terminal::Screen;
use recount::ledger;
use recount_telling::count;

/// Makes a new journal from an exported file: the same records and objects, byte for byte.
///
/// The file is verified. A damaged or incomplete file is refused, and nothing is created. Open
/// requests of the sessions can be answered in the new journal. The first command that opens it
/// builds its index. A database gets the records one append after another, so it takes longer.
#[derive(Args)]
pub(crate) struct Import {
    /// The exported file, of a journal or of one session; it may be compressed with gzip or zstd.
    file: PathBuf,
    /// The directory to create, or postgres://… of a database without records.
    dest: Location,
    #[command(flatten)]
    keys: Keys,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let keys = self.keys.opened()?;
        let imported = match &self.dest {
            Location::Path(directory) => {
                destination::outside_journals(directory)?;
                let content = exported::content(&self.file, "Importing")?;
                ledger::import(content, directory, keys.as_deref())?
            }
            Location::Database(database) => {
                import_into(&self.file, database, keys.as_deref()).await?
            }
        };
        // A database has no id of its own.
        let id = self.dest.path().map(|_| imported.journal);
        if self.json {
            screen.json(&json!({
                "journal": id,
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
            self.dest
        ))?;
        screen.line(&format!("root {}", imported.root))?;
        Ok(Exit::Ok)
    }
}

/// Imports into a database. The file is read twice: nothing is written before it is verified.
async fn import_into(
    file: &Path,
    database: &Database,
    keys: Option<&dyn KeyStore>,
) -> Result<Imported, Failure> {
    let mut doing = ["Importing", "Verifying the export"].into_iter().rev();
    let mut failure = None;
    let open = || {
        let content = exported::content(file, doing.next().unwrap_or("Importing"));
        content.map_err(|it| {
            let source = io::Error::other(it.what.clone());
            failure = Some(it);
            journal::Error::io("open the export")(source).into()
        })
    };
    let journal = database.made()?;
    let imported = ledger::import_into(open, &*journal, keys);
    let records = journal.position().await;
    // Also after a failure, which is reported rather than that of the close.
    let closed = journal.close().await;
    match (imported, failure, records) {
        (Ok(imported), _, _) => {
            closed?;
            Ok(imported)
        }
        (Err(_), Some(failure), _) => Err(failure),
        (Err(ledger::Error::Journal(journal::Error::Occupied { .. })), None, _) => {
            let what = format!("expected a database without records at {database}, found some");
            let failure = Failure::new("occupied", what);
            Err(failure.advice("give another database or ?schema=NAME; nothing was changed"))
        }
        (Err(error), None, Ok(0)) => Err(error.into()),
        (Err(error), None, Ok(_) | Err(_)) => {
            let failure = Failure::from(error);
            let advice = "the database has a part of the export: drop its schema, and import again";
            Err(failure.advice(advice))
        }
    }
}
