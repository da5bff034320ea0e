//! `recount evidence`: an evidence bundle, what an auditor needs of a journal.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use recount_bundle::{Contents, Disclose, Request, Sample, Scope, WriteError, Written, WrittenBy};
use recount_journal::{Hash, Journal};
use uuid::Uuid;

use super::asked;
use super::stated::{Stated, add_reads};
use crate::failures::{Exit, Failure};
use crate::files::destination;
use crate::journal::{Keys, Location, UnknownKinds, ids, opening};
use crate::maintenance::{known_keys, leaves, redaction};
use crate::terminal::{Meter, Screen, Tone};
use recount::audit::LabelFilter;
use recount::engine::{PROGRAM, SystemClock};
use recount::ledger::Ledger;
use recount_telling::{count, one_line, quoted, shown};

/// Writes an evidence bundle: what an auditor needs of a journal, to check without this program.
///
/// It has the records in scope and the tree that proves them, checkpoints and proofs, the policies
/// and contracts as they stood, a page to read, and verify.py. `recount verify BUNDLE` checks it,
/// too. Sessions are in scope as a whole; of a repeated option any value matches, but every --label
/// must.
#[derive(Args)]
pub(crate) struct Evidence {
    /// The journal or a backup of it: a directory or postgres://…, or an export of the whole
    /// journal.
    path: Location,
    /// The directory to write, or a file whose name ends with .zip. It appears when it is complete.
    #[arg(long, value_name = "DIR|FILE.zip")]
    out: PathBuf,
    #[command(flatten)]
    scope: ScopeOptions,
    /// The records to show whole: none, those about approvals, or all. Of other records in scope
    /// the bundle has the envelope.
    #[arg(long, value_name = "none|approvals|all", default_value_t)]
    disclose: Disclose,
    /// Shows only a sample of so many calls, of those that --disclose would show.
    #[arg(
        long,
        value_name = "COUNT",
        requires = "seed",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    sample: Option<u64>,
    /// The seed of the sample, which the auditor should choose.
    #[arg(long, value_name = "TEXT", requires = "sample")]
    seed: Option<String>,
    /// A public key to put into the bundle, or a file with some; may be given several times.
    #[arg(long = "public-key", value_name = "KEY")]
    public_keys: Vec<String>,
    /// Takes out the fields that a file names: a JSON Pointer on each line, such as /response for
    /// results or /text for what was said, each looked for at every depth.
    ///
    /// The hash of each record and all its other bytes remain, so a short value can be guessed and
    /// the guess be confirmed.
    #[arg(long, value_name = "FILE")]
    redact: Option<PathBuf>,
    #[command(flatten)]
    stated: Stated,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    unknown: UnknownKinds,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

/// The options that choose sessions.
#[derive(Args)]
struct ScopeOptions {
    /// Selects a session: its id, or a unique beginning of it.
    #[arg(long, value_name = "SESSION")]
    session: Vec<String>,
    /// Selects sessions with a record from this time on: 2026-11-01, in the zone of --tz, or
    /// 2026-11-01T09:30:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Selects sessions with a record up to this time; a date includes the whole day.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Selects sessions of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Vec<String>,
    /// Selects sessions with a call to this tool.
    #[arg(long, value_name = "NAME")]
    tool: Vec<String>,
    /// Selects sessions with this label.
    #[arg(long, value_name = "NAME[=VALUE]")]
    label: Vec<String>,
}

impl ScopeOptions {
    async fn scope(&self, ledger: &Ledger) -> Result<Scope, Failure> {
        let (since, until) = asked::range(
            ("--since", self.since.as_deref()),
            ("--until", self.until.as_deref()),
        )?;
        let mut scope = Scope {
            sessions: Vec::new(),
            since,
            until,
            agents: self.agent.clone(),
            tools: self.tool.clone(),
            labels: self.label.iter().map(|it| LabelFilter::parse(it)).collect(),
        };
        for text in &self.session {
            scope.sessions.push(ids::session(ledger, text).await?);
        }
        Ok(scope)
    }
}

impl Evidence {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        destination::outside_journals(&self.out)?;
        if destination::is_standard(&self.out) {
            let what = "expected a directory or a file that ends with .zip for --out, found -";
            return Err(Failure::new("bad-request", what).exit(Exit::Usage));
        }
        if self.sample.is_some() && self.disclose == Disclose::None {
            let what = "expected --disclose approvals or all with --sample, found none";
            return Err(Failure::new("bad-request", what).exit(Exit::Usage));
        }
        let public_keys = known_keys(&self.public_keys)?;
        let ledger = opening::looking(&self.path, &self.keys, screen)?;
        let ledger = self.unknown.of(ledger, screen);
        let journal = &**ledger.journal();
        self.is_whole(journal).await?;
        let leaves = leaves(&self.path, journal).await?;
        let sample = self.sample.zip(self.seed.clone());
        let request = Request {
            scope: self.scope.scope(&ledger).await?,
            disclose: self.disclose,
            sample: sample.map(|(count, seed)| Sample { count, seed }),
            redacted: Vec::new(),
            public_keys,
            written_by: WrittenBy {
                program: PROGRAM.to_owned(),
                sha256: own_hash().ok(),
            },
            written_at: SystemClock::shared().now(),
        };
        let meter = Meter::new("Reading the sessions");
        let progress = |done, total| meter.show(done, total);
        let mut contents = Contents::read(&ledger, request, &leaves, progress).await?;
        self.stated.add(&self.path, &mut contents, &leaves)?;
        add_reads(&self.path, &mut contents, screen).await?;
        drop(meter);
        if let Some(file) = &self.redact {
            let mut redaction = redaction(file, &ledger, None).await?;
            contents.redact(&ledger, &mut redaction).await?;
        }
        let meter = Meter::new("Writing the bundle");
        let progress = |done, total| meter.show(done, total);
        let written = recount_bundle::write(&ledger, &contents, &leaves, &self.out, progress).await;
        drop(meter);
        let written = written.map_err(|error| failed(error, &self.out))?;
        if self.json {
            screen.json(&written)?;
        } else {
            self.show(&contents, &written, screen)?;
        }
        Ok(Exit::Ok)
    }

    /// Refuses an export of one session. Every journal records its opening, and only an export of
    /// the whole journal has that.
    async fn is_whole(&self, journal: &dyn Journal) -> Result<(), Failure> {
        if !self.path.is_export() || journal.head(Uuid::nil()).await?.is_some() {
            return Ok(());
        }
        let what = format!(
            "expected a journal or an export of a whole journal, found at {} an export without \
             the journal's own records",
            self.path.shown()
        );
        let failure = Failure::new("partial-export", what).exit(Exit::Usage);
        Err(failure.advice("`recount export JOURNAL` writes a whole journal"))
    }

    fn show(
        &self,
        contents: &Contents,
        written: &Written,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let line = format!(
            "Wrote {}: {} of {}, {}, {} shown whole",
            shown(&self.out),
            count(written.calls, "call"),
            count(written.sessions, "session"),
            count(written.records, "record"),
            written.disclosed
        );
        screen.toned(Tone::Good, &one_line(&line))?;
        screen.line(&format!("manifest {}", written.manifest))?;
        let mut notes = Vec::new();
        if written.sessions == 0 {
            notes.push("no session is in scope, so the bundle has none".to_owned());
        }
        let unread = contents.sessions.iter().filter(|it| it.unread.is_some());
        match unread.count() {
            0 => {}
            unread => notes.push(format!(
                "{} cannot be read, so it is not known whether they belong to the scope; \
                 they are in it",
                count(unread, "session")
            )),
        }
        if written.checkpoints_of_another_tree > 0 {
            notes.push(format!(
                "{} on record sign another tree: the journal was imported, or rewritten",
                count(written.checkpoints_of_another_tree, "checkpoint")
            ));
        }
        notes.push(match written.checkpoint {
            None => "the journal has no signed checkpoint, so nothing anchors the bundle: \
                     `recount checkpoint make` makes one"
                .to_owned(),
            Some(size) if size < written.size => {
                let later = count(written.size - size, "record");
                format!("{later} came after the last checkpoint and are not anchored by it")
            }
            Some(_) => String::new(),
        });
        notes.push(format!("`recount verify {}` checks it", quoted(&self.out)));
        for note in notes.iter().filter(|it| !it.is_empty()) {
            screen.toned(Tone::Quiet, &format!("note: {}", one_line(note)))?;
        }
        Ok(())
    }
}

/// The SHA-256 of the file of this program.
fn own_hash() -> io::Result<Hash> {
    let file = File::open(std::env::current_exe()?)?;
    Ok(recount_bundle::sha256(file)?.0)
}

fn failed(error: WriteError, out: &Path) -> Failure {
    let what = error.to_string();
    match error {
        WriteError::Ledger(error) => error.into(),
        WriteError::Io(error) => Failure::io(format!("write {}", shown(out)), &error),
        _ => Failure::new("occupied", what).advice("give another name; nothing was changed"),
    }
}
