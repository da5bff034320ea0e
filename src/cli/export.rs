//! `recount export`: the records as JSON lines, exactly as they are stored, with a trailer.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use recount_journal::{Trailer, export};

use super::count::count;
use super::failure::{Exit, Failure};
use super::screen::Screen;
use super::{ids, opening};
use crate::ledger::Ledger;
use crate::session::SessionId;

/// Writes records as JSON lines, exactly as stored, with a trailer.
///
/// They can be verified with SHA-256 and nothing else.
///
/// Every record stands there as its exact bytes, every object before the record that names it, and a trailer last:
/// a file without it is incomplete.
#[derive(Args)]
pub(super) struct Export {
    /// The directory of the journal.
    path: PathBuf,
    /// Only this session: its id, or a unique beginning of it.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// The file to write, which appears when it is complete; standard output without it.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Export {
    pub(super) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = opening::reading(&self.path)?;
        let session = match &self.session {
            Some(text) => Some(ids::session(&ledger, text).await?),
            None => None,
        };
        match &self.out {
            None => drop(write(&ledger, session, screen.writer()).await?),
            Some(path) => {
                let trailer = write_file(&ledger, session, path).await?;
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

/// Writes beside the file and renames, so that half an export never has the final name.
async fn write_file(
    ledger: &Ledger,
    session: Option<SessionId>,
    path: &Path,
) -> Result<Trailer, Failure> {
    let name = path.file_name().ok_or_else(|| {
        let what = format!("expected a file to write, found {}", path.display());
        Failure::new("not-a-file", what).exit(Exit::Usage)
    })?;
    let mut draft_name = name.to_owned();
    draft_name.push(format!(".{}.part", std::process::id()));
    let draft = path.with_file_name(draft_name);
    let failed = |error: std::io::Error| Failure::io(format!("write {}", path.display()), &error);
    let written = async {
        let mut out = BufWriter::new(File::create_new(&draft).map_err(failed)?);
        let trailer = write(ledger, session, &mut out).await?;
        let file = out
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        fs::rename(&draft, path).map_err(failed)?;
        // The name is on the disk only when its directory is.
        let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
        let directory = File::open(directory.unwrap_or(Path::new("."))).map_err(failed)?;
        directory.sync_all().map_err(failed)?;
        Ok(trailer)
    }
    .await;
    if written.is_err() {
        // It may never have come to be.
        let _ = fs::remove_file(&draft);
    }
    written
}
