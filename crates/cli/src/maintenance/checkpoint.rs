//! `recount checkpoint`: keys, and the signed checkpoints of a journal.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use recount_evidence::{Checkpoints, Following, Note, PrivateKey, Signer, on_record};
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::files::{Force, WholeFile, destination};
use crate::journal::{Keys, Location, opening};
use crate::terminal::{Screen, Tone};
use recount::engine::SystemClock;
use recount::session::Timestamp;
use recount_telling::{age, count, one_line, shown};

/// The maximum length of the file of a key, in bytes.
const KEY_MAX: u64 = 64 << 10;

/// Makes keys, and signed checkpoints of a journal.
///
/// A checkpoint is the number of all records and the root of the tree over them, as signed text. A
/// copy of it elsewhere reveals any later change of these records: `recount verify --since`.
/// `serve` makes checkpoints by itself, with [checkpoints] in its configuration.
#[derive(Args)]
pub(crate) struct Checkpoint {
    #[command(subcommand)]
    doing: Doing,
}

#[derive(Subcommand)]
enum Doing {
    Key(Key),
    Make(Make),
    List(List),
    Files(Files),
}

/// Makes a key that signs, and prints the public one, with which others check.
#[derive(Args)]
struct Key {
    /// The name of the key, such as example.com/journal.
    name: String,
    /// The file for the private key. Only this user can read it.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Makes a checkpoint of a journal now, records it, and prints it.
#[derive(Args)]
struct Make {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    /// The file of a private key that signs; may be given several times.
    #[arg(long = "key", value_name = "FILE", required = true)]
    keys: Vec<PathBuf>,
    /// The name of the journal in the checkpoint; default: that of the first key.
    #[arg(long, value_name = "NAME")]
    origin: Option<String>,
    /// The file for a copy of the checkpoint.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

/// Lists the checkpoints on record, oldest first.
#[derive(Args)]
struct List {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    /// Prints the last checkpoint only, as its text.
    #[arg(long)]
    last: bool,
    /// Prints one JSON document a line.
    #[arg(long, conflicts_with = "last")]
    json: bool,
    #[command(flatten)]
    keys: Keys,
}

/// Writes the checkpoints on record and their time stamps as files, with the names that anchors
/// use.
///
/// `openssl ts -verify -in N.tsr -data N.checkpoint -CAfile CA.pem` checks a time stamp.
#[derive(Args)]
struct Files {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    /// The directory for the files, which is created.
    #[arg(long, value_name = "DIRECTORY")]
    out: PathBuf,
    #[command(flatten)]
    keys: Keys,
}

impl Checkpoint {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        match self.doing {
            Doing::Key(it) => it.run(screen),
            Doing::Make(it) => it.run(screen).await,
            Doing::List(it) => it.run(screen).await,
            Doing::Files(it) => it.run(screen).await,
        }
    }
}

impl Key {
    fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let key = PrivateKey::generate(&self.name)
            .map_err(|error| Failure::new("bad-key", error.to_string()).exit(Exit::Usage))?;
        let text = key.to_secret_text();
        let written = write_private(&self.out, text.as_bytes());
        written.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                let what = format!("{} exists already", shown(&self.out));
                let failure = Failure::new("occupied", what).exit(Exit::Usage);
                failure.advice("a key that has signed is needed for as long as its signatures")
            }
            _ => Failure::io(format!("write the key {}", shown(&self.out)), &error),
        })?;
        screen.line(&key.public().to_string())?;
        Ok(Exit::Ok)
    }
}

impl Make {
    async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut keys = Vec::new();
        for file in &self.keys {
            let text = recount_text::files::given_file::text(file, KEY_MAX);
            let text = text
                .map_err(|error| Failure::io(format!("read the key {}", file.display()), &error))?;
            let wrong = |error: recount_evidence::NotAKey| {
                Failure::new("bad-key", format!("{}: {error}", file.display())).exit(Exit::Usage)
            };
            keys.push(text.parse::<PrivateKey>().map_err(wrong)?);
        }
        let first = keys.first().map(|key| key.public().name().to_owned());
        let ledger = opening::writing(&self.path)?;
        let settings = Checkpoints {
            origin: self.origin.or(first).unwrap_or_default(),
            signers: keys.into_iter().map(Signer::Key).collect(),
            every_records: u64::MAX,
            every: Duration::MAX,
        };
        let journal = Arc::clone(ledger.journal());
        let clock = SystemClock::shared();
        let mut following = match self.path.path() {
            Some(directory) => Following::open(settings, directory, journal, clock).await?,
            None => Following::in_memory(settings, journal, clock).await?,
        };
        let note = following.finish().await?;
        ledger.journal().close().await?;
        let Some(note) = note else {
            return Err(Failure::new("checkpoint", "no checkpoint was made"));
        };
        if let Some(path) = self
            .out
            .as_deref()
            .filter(|it| !destination::is_standard(it))
        {
            let mut file = WholeFile::create(path, self.force)?;
            file.write(note.to_string().as_bytes())?;
            file.finish()?;
        }
        show(&note.to_string(), screen)?;
        Ok(Exit::Ok)
    }
}

impl List {
    async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = opening::looking(&self.path, &self.keys, screen)?;
        let found = on_record(&**ledger.journal()).await?;
        if self.last {
            let Some(last) = found.last() else {
                return Err(none_on_record());
            };
            show(&last.note.to_string(), screen)?;
            return Ok(Exit::Ok);
        }
        for it in &found {
            let signers = signers(&it.note);
            if self.json {
                screen.json(&json!({
                    "seq": it.seq,
                    "at": age::stamp(Timestamp(it.at_us)),
                    "origin": it.checkpoint.origin,
                    "size": it.checkpoint.size,
                    "root": it.checkpoint.root,
                    "signers": signers,
                    "note": it.note.to_string(),
                    "time_stamps": it.time_stamps.iter().map(|stamp| json!({
                        "anchor": stamp.anchor,
                        "time": stamp.time,
                    })).collect::<Vec<_>>(),
                }))?;
                continue;
            }
            let line = format!(
                "{}  {}  {}  signed by {}",
                age::moment(Timestamp(it.at_us)),
                count(it.checkpoint.size, "record"),
                one_line(&it.checkpoint.origin),
                one_line(&signers.join(", "))
            );
            screen.line(&line)?;
            for stamp in &it.time_stamps {
                let (time, anchor) = (one_line(&stamp.time), one_line(&stamp.anchor));
                let what = format!("    time stamp {time} of {anchor}, not checked");
                screen.toned(Tone::Quiet, &what)?;
            }
        }
        if found.is_empty() && !self.json {
            screen.toned(Tone::Quiet, "There are no checkpoints.")?;
        }
        Ok(Exit::Ok)
    }
}

impl Files {
    async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = opening::looking(&self.path, &self.keys, screen)?;
        let found = on_record(&**ledger.journal()).await?;
        let failed = |error| Failure::io(format!("write to {}", shown(&self.out)), &error);
        std::fs::create_dir_all(&self.out).map_err(failed)?;
        let mut stamps = 0;
        for it in &found {
            stamps += it.write_files(&self.out).map_err(failed)? as u64;
        }
        let (checkpoints, stamps) = (
            count(found.len() as u64, "checkpoint"),
            count(stamps, "time stamp"),
        );
        let what = format!("Wrote {checkpoints} and {stamps} to {}", shown(&self.out));
        screen.line(&what)?;
        Ok(Exit::Ok)
    }
}

/// The names of the keys that signed a note.
fn signers(note: &Note) -> Vec<String> {
    note.signatures().iter().map(|it| it.name.clone()).collect()
}

/// Writes a new file that only this user can read.
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Prints a text of several lines as it is.
pub(super) fn show(text: &str, screen: &mut Screen) -> Result<(), Failure> {
    text.lines().try_for_each(|line| screen.line(line))
}

/// The failure of a command that needs a checkpoint.
pub(super) fn none_on_record() -> Failure {
    Failure::new(
        "no-checkpoint",
        "expected a signed checkpoint on record, found none",
    )
    .advice(
        "`recount checkpoint make JOURNAL --key FILE` makes one; `recount checkpoint key NAME \
         --out FILE` makes the key",
    )
}
