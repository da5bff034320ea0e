//! `recount log`: one session as a timeline.

use std::path::PathBuf;

use clap::Args;
use recount_journal::Record;

use super::failure::{Exit, Failure};
use super::screen::{COLUMNS, Screen};
use super::timeline::{Fit, Timeline};
use super::{ids, opening};
use crate::ledger::{self, fact_of};
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
    /// Cuts nothing.
    #[arg(long)]
    full: bool,
    /// Prints JSON lines: the records exactly as they are stored.
    #[arg(long)]
    json: bool,
}

impl Log {
    pub(super) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = opening::reading(&self.path)?;
        let session = ids::session(&ledger, &self.session).await?;
        let fit = if self.full {
            Fit::Full
        } else {
            Fit::Cut(COLUMNS)
        };
        let mut timeline = Timeline::new(screen.palette, fit);
        let mut seq = Seq(1);
        loop {
            let lines = ledger.journal().read(session.0, seq.0, PAGE).await?;
            if lines.is_empty() {
                return Ok(Exit::Ok);
            }
            for line in lines {
                if self.json {
                    screen.bytes(line.bytes())?;
                } else {
                    let told = match fact_of(session, seq, line.bytes()) {
                        Ok(fact) => timeline.tell(&fact),
                        // What a newer version wrote is shown as it stands.
                        Err(error @ ledger::Error::Unreadable { .. }) => {
                            let record = Record::parse(line.bytes()).map_err(|_| error)?;
                            let at = Timestamp(record.at_us);
                            timeline.tell_unknown(seq, at, record.kind, record.body.get())
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
