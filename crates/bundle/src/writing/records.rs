//! The file `records.jsonl`: the whole tree of the journal, with the records in scope.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use recount::ledger::{Error, Ledger, objects_named};
use recount::session::{Seq, SessionId};
use recount_journal::tree::node_of;
use recount_journal::{ExportWriter, Hash, Line, Trailer};
use uuid::Uuid;

use crate::contents::{Contents, SessionContents};

/// The trailer of the file, and the leaf index of each wanted record.
pub(super) struct Placed {
    pub(super) trailer: Trailer,
    pub(super) indexes: BTreeMap<(SessionId, Seq), (u64, Line)>,
    /// The objects that the shown records name.
    pub(super) objects: BTreeSet<Hash>,
}

/// Writes the records in the order of the log: those in scope as lines or withheld, the other ones
/// as the roots of subtrees.
///
/// No subtree spans a size in `boundaries`, so a reader can compute the root at that size. `wanted`
/// are the records whose leaf indexes are returned.
pub(super) async fn write_records(
    ledger: &Ledger,
    contents: &Contents,
    boundaries: &BTreeSet<u64>,
    wanted: &BTreeSet<(SessionId, Seq)>,
    out: &mut (impl Write + Send),
    mut progress: impl FnMut(u64, u64),
) -> Result<Placed, Error> {
    let journal = ledger.journal();
    let sessions = contents.sessions.iter().map(|it| (it.id.0, it));
    let sessions: BTreeMap<Uuid, &SessionContents> = sessions.collect();
    let mut writer = ExportWriter::new(out);
    let mut omitted = Omitted::default();
    let (mut indexes, mut objects) = (BTreeMap::new(), BTreeSet::new());
    let (mut leaf, mut position) = (0, 0);
    writer.at(0)?;
    while leaf < contents.extent.size {
        let commit = journal.follow(position).await?;
        position = commit.position;
        for (stream, lines) in &commit.appends {
            let session = sessions.get(stream);
            for line in lines {
                if boundaries.contains(&leaf) {
                    omitted.write(&mut writer)?;
                }
                if session.is_none() && !stream.is_nil() {
                    omitted.push(leaf, line.leaf());
                } else {
                    omitted.write(&mut writer)?;
                    let seq = seq_of(*stream, line)?;
                    let place = (SessionId(*stream), seq);
                    if session.is_some_and(|it| !contents.shows(it, seq)) {
                        writer.withheld(line, "null")?;
                    } else if let Some(body) = contents.redacted.get(&place) {
                        writer.withheld(line, body)?;
                    } else {
                        shown(ledger, line, &mut writer, &mut objects).await?;
                    }
                    if wanted.contains(&place) {
                        indexes.insert(place, (leaf, line.clone()));
                    }
                }
                leaf += 1;
            }
        }
        progress(leaf, contents.extent.size);
    }
    omitted.write(&mut writer)?;
    let trailer = writer.finish()?;
    Ok(Placed {
        trailer,
        indexes,
        objects,
    })
}

/// Writes a record behind the objects that it names for the first time.
async fn shown<W: Write>(
    ledger: &Ledger,
    line: &Line,
    writer: &mut ExportWriter<W>,
    objects: &mut BTreeSet<Hash>,
) -> Result<(), Error> {
    let named = line.record().map(|it| objects_named(&it));
    for hash in named.unwrap_or_default() {
        if !writer.has_object(hash)
            && let Some(bytes) = ledger.journal().object(hash).await?
        {
            writer.object(hash, &bytes)?;
            objects.insert(hash);
        }
    }
    Ok(writer.record(line)?)
}

fn seq_of(stream: Uuid, line: &Line) -> Result<Seq, Error> {
    let record = line.record().map_err(|source| Error::Malformed {
        session: SessionId(stream),
        seq: Seq(0),
        source,
    })?;
    Ok(Seq(record.seq))
}

/// The leaves since the last line that are not shown, as the roots of full subtrees.
#[derive(Default)]
struct Omitted(Vec<Subtree>);

struct Subtree {
    /// The index of its first leaf, a multiple of their number.
    first: u64,
    leaves: u64,
    root: Hash,
}

impl Omitted {
    fn push(&mut self, index: u64, leaf: Hash) {
        let mut last = Subtree {
            first: index,
            leaves: 1,
            root: leaf,
        };
        while let Some(left) = self
            .0
            .pop_if(|left| left.leaves == last.leaves && left.first.is_multiple_of(2 * last.leaves))
        {
            last = Subtree {
                first: left.first,
                leaves: 2 * left.leaves,
                root: node_of(&[left.root, last.root], 0, 2).unwrap_or(last.root),
            };
        }
        self.0.push(last);
    }

    fn write<W: Write>(&mut self, writer: &mut ExportWriter<W>) -> Result<(), Error> {
        for subtree in self.0.drain(..) {
            writer.subtree(subtree.leaves, subtree.root)?;
        }
        Ok(())
    }
}
