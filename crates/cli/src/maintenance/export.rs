//! `recount export`: writes the records as JSON lines, exactly as they are stored, or spans.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use recount_journal::{Line, Trailer, export_shown};

use super::spans::{Exported, Format, SpanOptions};
use crate::failures::{Exit, Failure};
use crate::files::{Compressing, Compression, Force, WholeFile, destination};
use crate::journal::{Keys, Location, ids, opening};
use crate::terminal::{Screen, Tone};
use recount::fixture::{self, RecordRedaction};
use recount::ledger::{self, Ledger};
use recount::session::SessionId;
use recount_telling::{count, one_line};
use recount_text::files::given_file;

/// The maximum length of a file of a redaction, in bytes.
const REDACTION_MAX: u64 = 1 << 20;

/// Writes the records as JSON lines, exactly as they are stored, with a trailer.
///
/// The file can be verified with SHA-256 alone. Every object precedes the first record that names
/// it. The trailer is the last line: a file without it is incomplete.
///
/// With --format otlp it writes OpenTelemetry spans instead, as `recount serve` sends them to a
/// collector: the same ids and times. docs/traces.md describes them.
#[derive(Args)]
pub(crate) struct Export {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
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
    /// Takes out the fields that a file names: a JSON Pointer on each line, such as /response for
    /// results or /text for what was said, each looked for at every depth.
    ///
    /// A record with such a field is withheld: the file has its hash, and the rest of its body. So
    /// the file can be verified like the whole one, but not imported.
    ///
    /// The hash of each record and all its other bytes remain, so a short value can be guessed and
    /// the guess be confirmed.
    #[arg(long, value_name = "FILE")]
    redact: Option<PathBuf>,
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
        let keys = match (self.format, &self.redact) {
            (Format::Records, None) => &none,
            (Format::Records, Some(_)) | (Format::Otlp, _) => &self.keys,
        };
        if self.format == Format::Otlp && self.redact.is_some() {
            let what = "--redact is only for --format records";
            return Err(Failure::new("bad-request", what).exit(Exit::Usage));
        }
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
        let mut redaction = match &self.redact {
            Some(file) => Some(redaction(file, &ledger, session).await?),
            None => None,
        };
        match out {
            None => {
                let out = screen.writer();
                drop(write(&ledger, session, redaction.as_mut(), out).await?);
            }
            Some(path) => {
                let redaction = redaction.as_mut();
                let trailer = write_file(&ledger, session, redaction, path, self.force).await?;
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

/// The redaction that a file names, with the values of all sessions. Sealed sessions without a key
/// stay sealed, so nothing of them is known.
pub(crate) async fn redaction(
    file: &Path,
    ledger: &Ledger,
    session: Option<SessionId>,
) -> Result<RecordRedaction, Failure> {
    let text = given_file::text(file, REDACTION_MAX);
    let text = text.map_err(|error| Failure::io(format!("read {}", file.display()), &error))?;
    let wrong = |error: fixture::Error| {
        let what = format!("{}: {error}", file.display());
        Failure::new("bad-request", what).exit(Exit::Usage)
    };
    let mut redaction = RecordRedaction::of(&text).map_err(wrong)?;
    let sessions = match session {
        Some(session) => vec![session],
        None => ledger.sessions().await?.iter().map(|it| it.id).collect(),
    };
    for session in sessions {
        match redaction.learn(ledger, session).await {
            Err(fixture::Error::Ledger(ledger::Error::Sealed { .. })) => {}
            learned => learned?,
        }
    }
    for (pointer, times) in redaction.met() {
        let pointer = one_line(pointer);
        match times {
            0 => eprintln!("warning: there is no value at {pointer}, so nothing was redacted"),
            times => eprintln!("note: redacted in {}: {pointer}", count(*times, "place")),
        }
    }
    Ok(redaction)
}

async fn write(
    ledger: &Ledger,
    session: Option<SessionId>,
    mut redaction: Option<&mut RecordRedaction>,
    out: &mut (impl Write + Send),
) -> Result<Trailer, Failure> {
    let session = session.map(|it| it.0);
    let shown = |line: &Line| redaction.as_mut()?.shown(line);
    Ok(export_shown(ledger.journal().as_ref(), session, out, shown).await?)
}

/// Writes an export to a file, which gets its name when it is complete.
async fn write_file(
    ledger: &Ledger,
    session: Option<SessionId>,
    redaction: Option<&mut RecordRedaction>,
    path: &Path,
    force: Force,
) -> Result<Trailer, Failure> {
    let mut file = WholeFile::create(path, force)?;
    let mut out = Compressing::new(Compression::of_name(path), file.writer());
    let trailer = write(ledger, session, redaction, &mut out).await?;
    out.finish().map_err(failed(path))?;
    file.finish()?;
    Ok(trailer)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::io(format!("write {}", path.display()), &error)
}
