//! `recount prove`: a proof that a record is in a journal, which needs nothing of it.

use std::path::PathBuf;

use clap::Args;
use recount_evidence::{LogProof, on_record};
use recount_journal::Hash;

use super::checkpoint::{none_on_record, show};
use super::since::leaves;
use crate::failures::{Exit, Failure};
use crate::files::{Force, WholeFile, destination};
use crate::journal::{Keys, Location, ids, opening};
use crate::terminal::Screen;
use recount_telling::count;

/// Writes a proof that a record is in the journal.
///
/// The file has the record, its place, and a signed checkpoint of the journal. SHA-256 and the
/// public key are enough to check it, with `recount verify FILE --public-key KEY` or another
/// program: its format is that of c2sp.org/tlog-proof. A sealed record is in it as it is stored.
#[derive(Args)]
pub(crate) struct Prove {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    /// The session: its id, or a unique beginning of it.
    session: String,
    /// The number of the record in its session.
    seq: u64,
    /// The file to write, for example answer.tlog-proof; `-` is standard output, the default.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    force: Force,
}

impl Prove {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = opening::looking(&self.path, &self.keys, screen)?;
        let session = ids::session(&ledger, &self.session).await?;
        let journal = &**ledger.journal();
        let line = journal
            .read(session.0, self.seq, 1)
            .await?
            .into_iter()
            .next();
        let Some(line) = line.filter(|_| self.seq > 0) else {
            let last = journal.head(session.0).await?.map_or(0, |head| head.seq);
            let what = format!("expected a record from 1 to {last}, found {}", self.seq);
            return Err(Failure::new("unknown-record", what).exit(Exit::Usage));
        };
        let leaves = leaves(&self.path, journal).await?;
        let index = leaves.index_of(Hash::of_line(line.bytes()));
        let signed = on_record(journal).await?;
        // The last checkpoint whose tree has the record.
        let Some(last) = signed.into_iter().next_back() else {
            return Err(none_on_record());
        };
        let tree = last.checkpoint.tree();
        if leaves.root_at(tree.0) != Some(tree.1) {
            let what = format!(
                "the checkpoint of {} on record is not one of these records",
                count(tree.0, "record")
            );
            let failure = Failure::new("other-tree", what).exit(Exit::Damaged);
            return Err(failure.advice("an export of one session has not the tree of its journal"));
        }
        let path = index.and_then(|index| Some((index, leaves.inclusion(index, tree.0)?)));
        let Some((index, path)) = path else {
            let what = "the record is newer than the last checkpoint on record";
            let advice = "make a checkpoint: `recount checkpoint make JOURNAL --key FILE`";
            return Err(Failure::new("no-checkpoint", what).advice(advice));
        };
        let proof = LogProof {
            line: line.bytes().to_vec(),
            index,
            path,
            checkpoint: last.note,
        };
        let text = proof.to_string();
        match self
            .out
            .as_deref()
            .filter(|it| !destination::is_standard(it))
        {
            None => show(&text, screen)?,
            Some(path) => {
                let mut file = WholeFile::create(path, self.force)?;
                file.write(text.as_bytes())?;
                file.finish()?;
                screen.line(&format!(
                    "Proved record {} of session {session}: leaf {index} of {}, in {}",
                    self.seq,
                    count(tree.0, "record"),
                    path.display()
                ))?;
            }
        }
        Ok(Exit::Ok)
    }
}
