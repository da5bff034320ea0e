//! The export of a journal, or of one session, as JSON lines. SHA-256 is enough to verify them.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use uuid::Uuid;

use crate::records::export_lines::{ObjectLine, Trailer, TrailerHead, TrailerLine};
use crate::tree::Frontier;
use crate::{Error, Hash, Journal};

/// The number of records and sessions that are read at a time.
const PAGE: usize = 1_000;

/// Writes all streams in the order of their ids, the system stream first, or only one stream.
///
/// Each record is written as its exact bytes. Each object precedes the first record that names its
/// hash. The trailer is the last line.
///
/// ```
/// use recount_journal::{MemoryJournal, block_on, export, verify};
/// let mut file = Vec::new();
/// let trailer = block_on(export(&MemoryJournal::new(), None, &mut file))?;
/// assert_eq!(verify::export(&file[..])?.root, trailer.root);
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// The errors of reading the journal; [`Error::Io`] if the output cannot be written.
pub async fn export(
    journal: &dyn Journal,
    session: Option<Uuid>,
    out: &mut (impl Write + Send),
) -> Result<Trailer, Error> {
    let mut export = Export {
        journal,
        out,
        objects: HashSet::new(),
        heads: BTreeMap::new(),
        tree: Frontier::default(),
        records: 0,
    };
    if let Some(session) = session {
        export.stream(session).await?;
    } else {
        export.stream(Uuid::nil()).await?;
        let mut after = None;
        loop {
            let page = journal.sessions(after, PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            for (session, _) in page {
                export.stream(session).await?;
            }
        }
    }
    let Export {
        out,
        objects,
        heads,
        tree,
        records,
        ..
    } = export;
    let trailer = Trailer {
        records,
        objects: objects.len() as u64,
        heads,
        root: tree.root(),
    };
    let line = TrailerLine { trailer };
    write_line(out, &to_json(&line)?)?;
    out.flush().map_err(writing())?;
    Ok(line.trailer)
}

struct Export<'a, W> {
    journal: &'a dyn Journal,
    out: &'a mut W,
    objects: HashSet<Hash>,
    heads: BTreeMap<Uuid, TrailerHead>,
    tree: Frontier,
    records: u64,
}

impl<W: Write + Send> Export<'_, W> {
    async fn stream(&mut self, session: Uuid) -> Result<(), Error> {
        let mut seq = 0;
        // The predecessor hash in each record is not an object.
        let mut prev = Hash::ZERO;
        loop {
            let page = self.journal.read(session, seq + 1, PAGE).await?;
            if page.is_empty() {
                break;
            }
            for line in page {
                for hash in mentioned(line.bytes()) {
                    if hash != prev && !self.objects.contains(&hash) {
                        self.object(hash).await?;
                    }
                }
                write_line(self.out, line.bytes())?;
                seq += 1;
                prev = line.leaf();
                self.tree.push(prev);
                self.records += 1;
            }
        }
        if seq > 0 {
            self.heads.insert(session, TrailerHead { seq, hash: prev });
        }
        Ok(())
    }

    async fn object(&mut self, hash: Hash) -> Result<(), Error> {
        let Some(bytes) = self.journal.object(hash).await? else {
            return Ok(());
        };
        let (text, base64) = match str::from_utf8(&bytes) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(BASE64_STANDARD.encode(&bytes))),
        };
        write_line(
            self.out,
            &to_json(&ObjectLine {
                object: hash,
                text,
                base64,
            })?,
        )?;
        self.objects.insert(hash);
        Ok(())
    }
}

/// Iterates over all runs of exactly 64 lower-case hex digits.
fn mentioned(line: &[u8]) -> impl Iterator<Item = Hash> {
    let runs = line
        .split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        .filter(|run| run.len() == 64);
    runs.filter_map(|run| str::from_utf8(run).ok()?.parse().ok())
}

fn to_json(line: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(line).map_err(|error| writing()(error.into()))
}

fn write_line(out: &mut impl Write, line: &[u8]) -> Result<(), Error> {
    out.write_all(line)
        .and_then(|()| out.write_all(b"\n"))
        .map_err(writing())
}

fn writing() -> impl FnOnce(std::io::Error) -> Error {
    Error::io("write the export")
}
