//! Statements of the caller of `recount evidence` about a journal.

use std::path::PathBuf;

use clap::Args;
use recount_bundle::Contents;
use recount_evidence::{Checkpoint, Leaves};
use recount_reads::on_record;

use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, access_path, opening};
use crate::maintenance::checkpoint_in;
use crate::terminal::Screen;
use recount_telling::count;

/// The options that fill in the first page of a bundle.
#[derive(Args)]
pub(super) struct Stated {
    /// An earlier checkpoint of this journal that was kept elsewhere, which the journal must
    /// continue. The page then says that it is anchored.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// The place where the keys that sign checkpoints live, which the page quotes.
    #[arg(long, value_name = "TEXT")]
    keys_live: Option<String>,
}

/// Adds the reads of the access journal beside the directory of a journal, if there is one. With a
/// database, each node has its own, which is not known here.
pub(super) async fn add_reads(
    at: &Location,
    contents: &mut Contents,
    screen: &Screen,
) -> Result<(), Failure> {
    let Some(path) = at.path().filter(|_| !at.is_export()) else {
        return Ok(());
    };
    let beside = access_path(path);
    if !beside.exists() {
        return Ok(());
    }
    let beside = Location::Path(beside);
    let ledger = opening::looking(&beside, &Keys::default(), screen)?;
    contents.add_reads(on_record(&**ledger.journal()).await?);
    Ok(())
}

impl Stated {
    /// Fills in what is known about the journal.
    ///
    /// If the bundle gets public keys, one of them must have signed the checkpoint.
    pub(super) fn add(
        &self,
        at: &Location,
        contents: &mut Contents,
        leaves: &Leaves,
    ) -> Result<(), Failure> {
        let name = match at {
            Location::Path(path) => path.file_name().map(|it| it.to_string_lossy().into_owned()),
            Location::Database(database) => Some(database.to_string()),
        };
        contents.statements.journal = name;
        contents.statements.keys_live.clone_from(&self.keys_live);
        let Some(file) = &self.checkpoint else {
            return Ok(());
        };
        let damaged = |code, what: String| {
            let what = format!("{}: {what}", file.display());
            Failure::new(code, what).exit(Exit::Damaged)
        };
        let note = checkpoint_in(file)?;
        let known = &contents.request.public_keys;
        if !known.is_empty() {
            let signed = note.signed_by(known);
            signed.map_err(|error| damaged("forged-checkpoint", error.to_string()))?;
        }
        let checkpoint =
            Checkpoint::of(&note).map_err(|error| damaged("bad-checkpoint", error.to_string()))?;
        if contents.anchor(&checkpoint, leaves) {
            return Ok(());
        }
        let records = count(checkpoint.size, "record");
        let what = format!("the journal does not begin with the {records} of this checkpoint");
        Err(damaged("other-tree", what))
    }
}
