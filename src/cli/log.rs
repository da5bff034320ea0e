//! `recount log`: one session as a timeline.

use std::path::PathBuf;

use clap::Args;

use super::failure::{Exit, Failure};
use super::keys::Keys;
use super::screen::{COLUMNS, Screen};
use super::timeline::{Fit, Timeline};
use super::{ids, opening};
use crate::ledger;
use crate::session::{Seq, Timestamp};

/// How many records are read at a time.
const PAGE: usize = 1024;

/// Tells a session as a timeline, one line an event.
#[derive(Args)]
pub(super) struct Log {
    /// The directory of the journal.
    path: PathBuf,
    /// The id of the session, or a unique beginning of it.
    session: String,
    #[command(flatten)]
    keys: Keys,
    /// Cuts nothing.
    #[arg(long)]
    full: bool,
    /// Prints JSON lines: the records exactly as they are stored.
    #[arg(long)]
    json: bool,
}

impl Log {
    pub(super) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = self.keys.of(opening::reading(&self.path)?)?;
        let session = ids::session(&ledger, &self.session).await?;
        let fit = if self.full {
            Fit::Full
        } else {
            Fit::Cut(COLUMNS)
        };
        let mut timeline = Timeline::new(screen.palette, fit);
        let mut seq = Seq(1);
        loop {
            let entries = ledger.entries(session, seq, PAGE).await?;
            if entries.is_empty() {
                return Ok(Exit::Ok);
            }
            for entry in entries {
                if self.json {
                    screen.bytes(entry.line.bytes())?;
                } else {
                    let told = match entry.fact() {
                        Ok(fact) => timeline.tell(&fact),
                        // What a newer version wrote, and what is sealed, is shown as far as it can be read.
                        Err(ledger::Error::Unreadable { .. }) => {
                            let record = entry.record()?;
                            let at = Timestamp(record.at_us);
                            timeline.tell_unknown(seq, at, record.kind, entry.body()?)
                        }
                        Err(ledger::Error::Sealed { .. }) => {
                            let record = entry.record()?;
                            let at = Timestamp(record.at_us);
                            timeline.tell_sealed(seq, at, &record.actor.kind, record.kind)
                        }
                        Err(error) => return Err(error.into()),
                    };
                    screen.line(&told)?;
                }
                seq = seq.next();
            }
        }
    }
}
