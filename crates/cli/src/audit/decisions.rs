//! The command `recount audit decisions`: the calls of a journal, in the chosen format.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use recount_journal::Hash;

use super::asked::Asked;
use super::clock::Clock;
use super::csv;
use super::html;
use super::proof;
use super::proof::Proof;
use super::table;
use super::timelines::Timelines;
use crate::failures::{Exit, Failure};
use crate::files::{Force, WholeFile, destination};
use crate::journal::verified::verified;
use crate::journal::{Keys, Location, UnknownKinds, opening};
use crate::terminal::{Meter, Screen, Tone};
use recount::audit::{Filter, Report, Row, Unread, decisions};
use recount::engine::SystemClock;
use recount::ledger::Ledger;
use recount_telling::{count, one_line};

/// Reports for auditors about a whole journal.
#[derive(Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    about: About,
}

#[derive(Subcommand)]
enum About {
    Decisions(Box<Decisions>),
    Clock(Clock),
}

/// Shows for every call who or what allowed it, its arguments, and its outcome.
///
/// Includes calls that ran without a person's approval and the rule that allowed them, denials,
/// expired requests, unknown outcomes, and the sessions that cannot be shown. Nothing is decided
/// again and nothing runs.
#[derive(Args)]
struct Decisions {
    /// The journal or a backup of it: a directory or postgres://…, or an export.
    path: Location,
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    unknown: UnknownKinds,
    #[command(flatten)]
    form: Form,
    /// A root that was kept elsewhere, which the journal must still have; only with --html.
    #[arg(long, value_name = "HEX", requires = "html")]
    root: Option<Hash>,
    #[command(flatten)]
    force: Force,
    /// Shows long lines in full, and below each call its requests for approval, the pauses that
    /// held it and the clients that ran it.
    #[arg(long)]
    full: bool,
}

/// The format of the report.
#[derive(Args)]
#[group(multiple = false)]
struct Form {
    /// Prints JSON lines: each call, the sessions not shown, and the totals.
    #[arg(long)]
    json: bool,
    /// Prints CSV for spreadsheets, one line for each call.
    #[arg(long)]
    csv: bool,
    /// Writes an HTML report, with the verdicts of verify and replay at the top.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Audit {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        match self.about {
            About::Decisions(it) => it.run(screen).await,
            About::Clock(it) => it.run(screen).await,
        }
    }
}

impl Decisions {
    async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let filter = self.asked.filter()?;
        if let Some(file) = &self.form.html {
            return self.write(file, &filter, screen).await;
        }
        let (_, report) = self.read(&filter, screen).await?;
        if self.form.json {
            in_json(&report, screen)?;
        } else if self.form.csv {
            csv::print(&report, screen)?;
        } else {
            table::print(&report, self.full, screen)?;
        }
        let notes = report.strangers.iter().map(ToString::to_string);
        for note in notes.map(|it| format!("note: {}", one_line(&it))) {
            if self.form.json || self.form.csv {
                // Without a reader of standard error the output still shows that no call matches.
                let _ = writeln!(std::io::stderr(), "{note}");
            } else {
                screen.toned(Tone::Quiet, &note)?;
            }
        }
        let unreadable = report.unread.iter().any(|it| it.why == Unread::Unreadable);
        Ok(if unreadable { Exit::Damaged } else { Exit::Ok })
    }

    async fn read(&self, filter: &Filter, screen: &Screen) -> Result<(Ledger, Report), Failure> {
        let ledger = opening::looking(&self.path, &self.keys, screen);
        let ledger = ledger.map_err(|failure| with_advice(&self.path, failure))?;
        let ledger = self.unknown.of(ledger, screen);
        let meter = Meter::new("Reading the sessions");
        let report = decisions(&ledger, filter, |done, total| meter.show(done, total)).await?;
        Ok((ledger, report))
    }

    /// Writes the HTML report. The report about a damaged journal has the damage alone.
    async fn write(
        &self,
        file: &Path,
        filter: &Filter,
        screen: &mut Screen,
    ) -> Result<Exit, Failure> {
        if !destination::is_standard(file) {
            destination::check_vacant(file, self.force)?;
        }
        // Verifying locks the journal, so it comes before the journal is opened.
        let verified = verified(&self.path, screen).await?;
        let verified = match self.root {
            Some(root) => verified.against(root),
            None => verified,
        };
        let head = html::Head {
            journal: match self.path.path() {
                Some(path) => screen.beside.named(path),
                None => self.path.to_string(),
            },
            asked: self.asked.in_words(),
            written_at: SystemClock::shared().now(),
        };
        let proved = async {
            let (ledger, report) = self.read(filter, screen).await?;
            let proof = Proof::of(&ledger, verified.clone()).await?;
            let timelines = Timelines::of(&ledger, &report).await?;
            Ok::<_, Failure>((proof, report, timelines))
        };
        let (document, written, words, exit) = match proved.await {
            Ok((proof, report, timelines)) => (
                html::document(&head, &proof, &report, &timelines),
                of(&report),
                words(&proof, &report),
                proof.exit(),
            ),
            Err(failure) if !verified.is_sound() => (
                html::of_damaged(&head, &verified, &failure.what),
                "no call, because the journal cannot be read".to_owned(),
                vec![proof::verified_in_words(&verified)],
                Exit::Damaged,
            ),
            Err(failure) => return Err(failure),
        };
        if destination::is_standard(file) {
            screen
                .writer()
                .write_all(document.as_bytes())
                .map_err(|error| Failure::io("write the report", &error))?;
            return Ok(exit);
        }
        let mut out = WholeFile::create(file, self.force)?;
        out.write(document.as_bytes())?;
        out.finish()?;
        let name = file.display().to_string();
        screen.line(&format!("Wrote {}: {written}", one_line(&name)))?;
        for (tone, sentence) in words {
            screen.toned(tone, &sentence)?;
        }
        Ok(exit)
    }
}

/// The failure to open a journal, with advice if it is damaged.
fn with_advice(at: &Location, failure: Failure) -> Failure {
    if failure.exit != Exit::Damaged {
        return failure;
    }
    if at.is_export() {
        let path = at.quoted();
        return failure.advice(format!(
            "no call of a damaged export is shown: `recount verify {path}` lists all findings, \
             --html FILE writes them as a report"
        ));
    }
    failure.advice(
        "no call of a damaged journal is shown: `recount verify PATH` lists the damage, \
         --html FILE writes it as a report, `recount repair PATH` recovers what it can",
    )
}

/// The lines below the name of a written report.
fn words(proof: &Proof, report: &Report) -> Vec<(Tone, String)> {
    let strangers = report.strangers.iter();
    let notes = strangers.map(|it| (Tone::Quiet, format!("note: {}", one_line(&it.to_string()))));
    proof.in_words().into_iter().chain(notes).collect()
}

fn of(report: &Report) -> String {
    let calls = count(report.totals.calls, "call");
    format!("{calls} of {}", count(report.sessions, "session"))
}

fn in_json(report: &Report, screen: &mut Screen) -> Result<(), Failure> {
    let calls = report.calls.iter().map(Row::Call);
    let unread = report.unread.iter().map(Row::Unread);
    let catalogs = report.catalogs.iter().map(Row::Catalog);
    let notes = report.notes.iter().map(Row::Note);
    let totals = std::iter::once(Row::Totals(&report.totals));
    let rest = catalogs.chain(notes).chain(totals);
    let mut rows = calls.chain(unread).chain(rest);
    rows.try_for_each(|row| screen.json(&row))
}
