//! The check that a journal continues a checkpoint, or an export, that was kept elsewhere.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use clap::Args;
use recount_evidence::{Checkpoint, KeptTree, Leaves, Note, PublicKey};
use recount_journal::tree::Frontier;
use recount_journal::verify::{Finding, Report};
use recount_journal::{Hash, Journal, Trailer};
use serde::Deserialize;

use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, opening, verdict};
use crate::terminal::Screen;
use recount_telling::{count, one_line};

/// The maximum length of a trailer or a note, in bytes.
const TAIL_MAX: u64 = 64 << 20;

/// The maximum length of a checkpoint's file, in bytes.
const NOTE_MAX: u64 = 1 << 20;

/// The number of records that are read at a time.
const PAGE: usize = 1_000;

/// The options with a beginning that was kept elsewhere.
#[derive(Args)]
pub(crate) struct Since {
    /// A checkpoint of this journal that was kept elsewhere, or an older export of it.
    ///
    /// The journal must still begin with the records of that time, unaltered.
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// A public key that must have signed, or a file with some; may be given several times.
    ///
    /// `recount checkpoint key` prints it. Keep it where it cannot be exchanged together with the
    /// journal.
    #[arg(long = "public-key", value_name = "KEY")]
    public_keys: Vec<String>,
}

/// A beginning of a journal that was kept elsewhere.
#[derive(Debug)]
pub(crate) struct Beginning {
    /// The number of records.
    pub(crate) records: u64,
    /// Its name in the verdict.
    pub(crate) what: String,
    /// The names of the known keys that signed it.
    pub(crate) signed_by: Vec<String>,
}

impl Beginning {
    /// The verdict about a journal that begins so. What came later is not anchored.
    pub(super) fn headline(&self, kind: &str, report: &Report) -> String {
        let signed = match self.signed_by.is_empty() {
            true => "whose signatures were not checked".to_owned(),
            false => format!("signed by {}", self.signed_by.join(", ")),
        };
        let later = report.records.saturating_sub(self.records);
        let later = match later {
            0 => String::new(),
            later => format!(
                "; {} came later and are not anchored",
                count(later, "record")
            ),
        };
        let what = &self.what;
        let read = verdict::counts(report);
        one_line(&format!(
            "Sound {kind}, anchored to {what}, {signed}{later}: {read}"
        ))
        .into_owned()
    }
}

enum Kept {
    Checkpoint(Checkpoint, Vec<String>),
    Trailer(Trailer),
}

#[derive(Deserialize)]
struct TrailerLine {
    trailer: Trailer,
}

impl Since {
    /// The known public keys.
    pub(super) fn known(&self) -> Result<Vec<PublicKey>, Failure> {
        known_keys(&self.public_keys)
    }

    /// The checkpoint, for what only a checkpoint can anchor.
    pub(super) fn note(&self) -> Result<Option<Note>, Failure> {
        self.since.as_deref().map(checkpoint_in).transpose()
    }

    /// Compares a sound journal or export with the beginning, if one was given. A difference
    /// becomes a finding of the report.
    pub(super) async fn held_against(
        &self,
        at: &Location,
        report: &mut Report,
        screen: &Screen,
    ) -> Result<Option<Beginning>, Failure> {
        let Some(since) = &self.since else {
            return Ok(None);
        };
        let kept = self.read(since)?;
        if !report.is_sound() {
            return Ok(None);
        }
        if report.size.is_none() && !matches!(&kept, Kept::Trailer(it) if it.size.is_none()) {
            let what = "expected a journal, or an export of all of it in format 2, to compare with \
                        a checkpoint";
            let failure = Failure::new("bad-checkpoint", what).exit(Exit::Usage);
            return Err(failure.advice("`recount export JOURNAL` writes one"));
        }
        let ledger = opening::looking(at, &Keys::default(), screen)?;
        let journal = &**ledger.journal();
        let (beginning, expected, found) = match kept {
            Kept::Checkpoint(checkpoint, signed_by) => {
                let found = leaves(at, journal).await?.root_at(checkpoint.size);
                let beginning = Beginning {
                    records: checkpoint.size,
                    what: format!(
                        "the checkpoint of {} of {}",
                        count(checkpoint.size, "record"),
                        checkpoint.origin
                    ),
                    signed_by,
                };
                (beginning, checkpoint.root, found)
            }
            Kept::Trailer(trailer) => {
                let beginning = Beginning {
                    records: trailer.records,
                    what: format!("the export of {}", count(trailer.records, "record")),
                    signed_by: Vec::new(),
                };
                let found = match trailer.size {
                    Some(size) => leaves(at, journal).await?.root_at(size),
                    None => root_by_stream(journal, &trailer).await?,
                };
                (beginning, trailer.root, found)
            }
        };
        if found == Some(expected) {
            report.anchor = Some(expected);
            return Ok(Some(beginning));
        }
        let what = match found {
            None => format!(
                "expected the records of {}, found only {}: records were taken away",
                beginning.what,
                count(report.records, "record")
            ),
            Some(_) => format!(
                "the journal does not begin with {}: records were altered, taken away or put in",
                beginning.what
            ),
        };
        report.findings.push(Finding {
            session: None,
            seq: None,
            what,
        });
        Ok(None)
    }

    fn read(&self, path: &Path) -> Result<Kept, Failure> {
        let wrong = |what: String| {
            let what = format!("{}: {what}", path.display());
            Failure::new("bad-checkpoint", what).exit(Exit::Usage)
        };
        if let Some(trailer) = trailer(path)? {
            return Ok(Kept::Trailer(trailer));
        }
        let note: Note = text(path, NOTE_MAX)?
            .parse()
            .map_err(|error| wrong(format!("{error}; an export is read, too")))?;
        let checkpoint = Checkpoint::of(&note).map_err(|error| wrong(error.to_string()))?;
        let known = self.known()?;
        if known.is_empty() {
            return Ok(Kept::Checkpoint(checkpoint, Vec::new()));
        }
        let signed = note.signed_by(&known).map_err(|error| {
            let what = format!("{}: {error}", path.display());
            Failure::new("forged-checkpoint", what).exit(Exit::Damaged)
        })?;
        Ok(Kept::Checkpoint(checkpoint, signed))
    }
}

/// The checkpoint in a file. Its signatures are not checked.
pub(crate) fn checkpoint_in(path: &Path) -> Result<Note, Failure> {
    let wrong = |what: String| {
        let what = format!("{}: {what}", path.display());
        Failure::new("bad-checkpoint", what).exit(Exit::Usage)
    };
    let note: Note = text(path, NOTE_MAX)?
        .parse()
        .map_err(|it| wrong(format!("{it}")))?;
    Checkpoint::of(&note).map_err(|it| wrong(it.to_string()))?;
    Ok(note)
}

/// The leaves of a journal or of an export. Only a directory keeps them.
pub(crate) async fn leaves(at: &Location, journal: &dyn Journal) -> Result<Leaves, Failure> {
    match at.path().filter(|_| !at.is_export()) {
        Some(directory) => Ok(KeptTree::leaves(directory, journal).await?),
        None => Ok(Leaves::of(journal).await?),
    }
}

/// The public keys that options give, each a key or the name of a file with some.
pub(crate) fn known_keys(given: &[String]) -> Result<Vec<PublicKey>, Failure> {
    let mut known = Vec::new();
    for given in given {
        let texts = match given.parse::<PublicKey>() {
            Ok(key) => {
                known.push(key);
                continue;
            }
            Err(error) if !Path::new(given).exists() => {
                let what = format!("--public-key: {error}");
                return Err(Failure::new("bad-key", what).exit(Exit::Usage));
            }
            Err(_) => text(Path::new(given), NOTE_MAX)?,
        };
        for line in texts.lines().filter(|line| !line.trim().is_empty()) {
            let wrong =
                |error| Failure::new("bad-key", format!("{given}: {error}")).exit(Exit::Usage);
            known.push(line.parse::<PublicKey>().map_err(wrong)?);
        }
    }
    Ok(known)
}

/// The root over the streams in the order of their ids, each up to its head in the trailer, as a
/// file of format 1 or of one session has it. `None` if a stream is shorter.
async fn root_by_stream(journal: &dyn Journal, trailer: &Trailer) -> Result<Option<Hash>, Failure> {
    let mut tree = Frontier::default();
    for (session, head) in &trailer.heads {
        let mut next = 1;
        while next <= head.seq {
            let left = usize::try_from(head.seq + 1 - next).unwrap_or(PAGE);
            let page = journal.read(*session, next, left.min(PAGE)).await?;
            if page.is_empty() {
                return Ok(None);
            }
            next += page.len() as u64;
            tree.extend(page.iter().map(recount_journal::Line::leaf));
        }
    }
    Ok(Some(tree.root()))
}

/// The trailer of an export, from its last line. `None` if the file is no export.
fn trailer(path: &Path) -> Result<Option<Trailer>, Failure> {
    let failed = |error| Failure::io(format!("read {}", path.display()), &error);
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_MAX)))
        .map_err(failed)?;
    let mut tail = Vec::new();
    file.take(TAIL_MAX).read_to_end(&mut tail).map_err(failed)?;
    let tail = tail.strip_suffix(b"\n").unwrap_or(&tail);
    let last = tail.rsplit(|byte| *byte == b'\n').next().unwrap_or(tail);
    let line = serde_json::from_slice::<TrailerLine>(last);
    Ok(line.ok().map(|it| it.trailer))
}

fn text(path: &Path, max: u64) -> Result<String, Failure> {
    let read = recount_text::files::given_file::text(path, max);
    read.map_err(|error| Failure::io(format!("read {}", path.display()), &error))
}
