//! `recount export`: writes the records as JSON lines, exactly as they are stored.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use recount_journal::{Trailer, export};

use crate::failures::{Exit, Failure};
use crate::files::{Force, WholeFile, destination};
use crate::journal::{ids, opening};
use crate::terminal::Screen;
use crate::text::count;
use recount::ledger::Ledger;
use recount::session::SessionId;

/// Writes the records as JSON lines, exactly as they are stored, with a trailer.
///
/// The file can be verified with SHA-256 alone. Every object precedes the first record that names
/// it. The trailer is the last line: a file without it is incomplete.
#[derive(Args)]
pub(crate) struct Export {
    /// The directory of the journal.
    path: PathBuf,
    /// The session to export, all by default: its id, or a unique beginning of it.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// The file to write, which appears when it is complete; `-` is standard output, the default.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

impl Export {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = opening::looking(&self.path, screen)?;
        let session = match &self.session {
            Some(text) => Some(ids::session(&ledger, text).await?),
            None => None,
        };
        match self
            .out
            .as_deref()
            .filter(|it| !destination::is_standard(it))
        {
            None => drop(write(&ledger, session, screen.writer()).await?),
            Some(path) => {
                let trailer = write_file(&ledger, session, path, self.force).await?;
                let records = count(trailer.records, "record");
                let objects = count(trailer.objects, "object");
                screen.line(&format!(
                    "Exported {records} and {objects} to {}",
                    path.display()
                ))?;
                screen.line(&format!("root {}", trailer.root))?;
            }
        }
        Ok(Exit::Ok)
    }
}

async fn write(
    ledger: &Ledger,
    session: Option<SessionId>,
    out: &mut (impl Write + Send),
) -> Result<Trailer, Failure> {
    Ok(export(ledger.journal().as_ref(), session.map(|it| it.0), out).await?)
}

/// Writes an export to a file, which gets its name when it is complete.
async fn write_file(
    ledger: &Ledger,
    session: Option<SessionId>,
    path: &Path,
    force: Force,
) -> Result<Trailer, Failure> {
    let mut file = WholeFile::create(path, force)?;
    let trailer = write(ledger, session, file.writer()).await?;
    file.finish()?;
    Ok(trailer)
}
