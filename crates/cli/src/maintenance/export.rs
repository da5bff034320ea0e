//! `recount export`: writes the records as JSON lines, exactly as they are stored, or spans.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use recount_journal::{Trailer, export};

use super::spans::{Exported, Format, SpanOptions};
use crate::failures::{Exit, Failure};
use crate::files::{Compressing, Compression, Force, WholeFile, destination};
use crate::journal::{Keys, ids, opening};
use crate::terminal::{Screen, Tone};
use recount::ledger::Ledger;
use recount::session::SessionId;
use recount_telling::count;

/// Writes the records as JSON lines, exactly as they are stored, with a trailer.
///
/// The file can be verified with SHA-256 alone. Every object precedes the first record that names
/// it. The trailer is the last line: a file without it is incomplete.
///
/// With --format otlp it writes OpenTelemetry spans instead, as `recount serve` sends them to a
/// collector: the same ids and times. docs/traces.md describes them.
#[derive(Args)]
pub(crate) struct Export {
    /// The directory of the journal, or an export of it.
    path: PathBuf,
    /// The session to export, all by default: its id, or a unique beginning of it.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// The file to write, which appears when it is complete; `-` is standard output, the default. A
    /// name that ends with .gz or .zst compresses it.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The form.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    spans: SpanOptions,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    force: Force,
}

impl Export {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        // The records are copied as they are, sealed or not.
        let none = Keys::default();
        let keys = match self.format {
            Format::Records => &none,
            Format::Otlp => &self.keys,
        };
        let ledger = opening::looking(&self.path, keys, screen)?;
        if self.format == Format::Records && self.spans.is_given() {
            let what = "--with and --service-name are only for --format otlp";
            return Err(Failure::new("bad-request", what).exit(Exit::Usage));
        }
        let session = match &self.session {
            Some(text) => Some(ids::session(&ledger, text).await?),
            None => None,
        };
        let out = self.out.as_deref();
        let out = out.filter(|it| !destination::is_standard(it));
        if self.format == Format::Otlp {
            self.write_spans(&ledger, session, out, screen).await?;
            return Ok(Exit::Ok);
        }
        match out {
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

    async fn write_spans(
        &self,
        ledger: &Ledger,
        session: Option<SessionId>,
        out: Option<&Path>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let Some(path) = out else {
            let written = self.spans.write(ledger, session, screen.writer()).await?;
            note_sealed(&written);
            return Ok(());
        };
        let mut file = WholeFile::create(path, self.force)?;
        let mut out = Compressing::new(Compression::of_name(path), file.writer());
        let written = self.spans.write(ledger, session, &mut out).await?;
        out.finish().map_err(failed(path))?;
        file.finish()?;
        note_sealed(&written);
        let (spans, sessions) = (
            count(written.spans, "span"),
            count(written.sessions, "session"),
        );
        let line = format!("Exported {spans} of {sessions} to {}", path.display());
        screen.toned(Tone::Good, &line)
    }
}

/// Says on standard error which sessions are missing.
fn note_sealed(written: &Exported) {
    if written.sealed > 0 {
        let sealed = count(written.sealed, "sealed session");
        eprintln!("note: {sealed} left out, because the keys are not here (--keys DIR)");
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
    let mut out = Compressing::new(Compression::of_name(path), file.writer());
    let trailer = write(ledger, session, &mut out).await?;
    out.finish().map_err(failed(path))?;
    file.finish()?;
    Ok(trailer)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::io(format!("write {}", path.display()), &error)
}
