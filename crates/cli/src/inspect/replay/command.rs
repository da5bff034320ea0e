//! `recount replay`: decides every recorded observation again and compares the decisions.

use std::path::PathBuf;

use clap::Args;
use recount_journal::Head;
use serde_json::json;

use super::divergence::{self, WHAT_IT_MEANS};
use super::unread::{Unread, all_open};
use super::what_if;
use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, UnknownKinds, ids};
use crate::terminal::{Meter, Screen, Tone};
use recount::ledger::{Error, Ledger};
use recount::replay::{self, Report};
use recount::session::{SessionId, decide};
use recount_telling::{count, one_line};

/// The number of divergences that are shown with both sides and the state. Further ones have a
/// line.
const SHOWN_IN_FULL: u64 = 10;

/// The reach of a replay.
const NOT_VERIFIED: &str =
    "note: a replay does not check hashes; `recount verify` checks whether records were altered";

/// Decides every session again and shows the first divergence of each.
///
/// No tool runs and no code of the service is needed: its answers are recorded. Every decision of
/// this program is compared with the recorded one, byte for byte. At a divergence it shows the
/// causes and the state before, and exits with 5.
#[derive(Args)]
pub(crate) struct Replay {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    /// The session to replay, all by default: its id, or a unique beginning of it.
    #[arg(conflicts_with = "all")]
    session: Option<String>,
    /// All sessions, which is the default.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    unknown: UnknownKinds,
    /// Decides by the policies in this file, and shows the calls that would change; see
    /// `recount policy`.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Prints JSON lines, one for each session; with --policy one for each call, and the totals.
    #[arg(long)]
    json: bool,
}

impl Replay {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = self.unknown.looking(&self.path, &self.keys, screen)?;
        if let Some(file) = &self.policy {
            return what_if::run(&ledger, self.session.as_deref(), file, self.json, screen).await;
        }
        let sessions = match &self.session {
            Some(text) => vec![one(&ledger, text).await?],
            None => ledger.session_heads().await?,
        };
        let tally = self.replay(&ledger, &sessions, screen).await?;
        if !self.json {
            tally.show(screen)?;
        }
        tally.end()
    }

    async fn replay(
        &self,
        ledger: &Ledger,
        sessions: &[(SessionId, Head)],
        screen: &mut Screen,
    ) -> Result<Tally, Failure> {
        let (meter, mut before) = (Meter::new("Replaying"), 0);
        let records: u64 = sessions.iter().map(|(_, head)| head.seq).sum();
        let mut tally = Tally::of(sessions.len());
        let erasures = ledger.erasures().await?;
        let is_erased = |session| erasures.get(&session).is_some_and(|it| it.erased.is_some());
        for (session, head) in sessions {
            let progress = |read| meter.show(before + read, records);
            let report = replay::verify_by(ledger, *session, decide, progress).await;
            before += head.seq;
            match report {
                Ok(report) => {
                    tally.records += head.seq;
                    self.show(&report, &mut tally, screen)?;
                }
                // An erased session cannot be replayed, on purpose.
                Err(Error::Sealed { session }) if self.session.is_none() && is_erased(session) => {
                    tally.erased += 1;
                    if self.json {
                        let row = json!({"session": session, "sealed": true, "erased": true});
                        screen.json(&row)?;
                    }
                }
                // A sealed session was not replayed, so there is no result for it.
                Err(Error::Sealed { session }) => {
                    tally.sealed.push(session);
                    if self.json {
                        screen.json(&json!({"session": session, "sealed": true}))?;
                    }
                }
                // Nor is there one for an unreadable session. The others are replayed.
                Err(error) if self.session.is_none() => {
                    let unread = &mut tally.unread;
                    unread.show(*session, error.into(), self.json, screen)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(tally)
    }

    /// Shows the result of one session.
    fn show(&self, report: &Report, tally: &mut Tally, screen: &mut Screen) -> Result<(), Failure> {
        tally.observations += report.observations;
        tally.decisions += report.decisions;
        tally.diverged += u64::from(report.diverged.is_some());
        if self.json {
            return screen.json(report);
        }
        let Some(difference) = &report.diverged else {
            return Ok(());
        };
        if tally.diverged > SHOWN_IN_FULL {
            let line = divergence::in_a_line(report.session, difference);
            return screen.toned(Tone::Heading, &one_line(&line));
        }
        for (tone, line) in divergence::lines(report.session, difference, screen.palette) {
            screen.toned(tone, &line)?;
        }
        screen.line("")
    }
}

/// The outcome of a replay of several sessions.
struct Tally {
    sessions: usize,
    records: u64,
    observations: u64,
    decisions: u64,
    diverged: u64,
    erased: usize,
    sealed: Vec<SessionId>,
    unread: Unread,
}

impl Tally {
    /// The tally of this number of sessions, before any was replayed.
    fn of(sessions: usize) -> Tally {
        Tally {
            sessions,
            records: 0,
            observations: 0,
            decisions: 0,
            diverged: 0,
            erased: 0,
            sealed: Vec::new(),
            unread: Unread::of(sessions),
        }
    }

    /// The number of sessions that were replayed.
    fn replayed(&self) -> usize {
        self.sessions - (self.sealed.len() + self.unread.len() + self.erased)
    }

    fn show(&self, screen: &mut Screen) -> Result<(), Failure> {
        let counts = format!(
            "{}, {}, {}, {}",
            count(self.replayed(), "session"),
            count(self.records, "record"),
            count(self.observations, "observation"),
            count(self.decisions, "decision")
        );
        if self.sessions == 0 {
            screen.line("Nothing to replay: the journal has no session")?;
        } else if self.diverged == 0 && self.replayed() > 0 {
            let same = format!("Replay matches the record: {counts}");
            screen.toned(Tone::Good, &same)?;
        } else if self.diverged > 0 {
            screen.toned(
                Tone::Bad,
                &format!("{} diverged of {counts}", self.diverged),
            )?;
            if self.diverged > SHOWN_IN_FULL {
                screen.line(&format!(
                    "The first {SHOWN_IN_FULL} are shown in full; `recount replay PATH SESSION` \
                     shows another one."
                ))?;
            }
            screen.line(WHAT_IT_MEANS)?;
        }
        if self.replayed() > 0 {
            screen.toned(Tone::Quiet, NOT_VERIFIED)?;
        }
        if self.erased > 0 {
            let erased = count(self.erased, "session");
            let text = format!("Not replayed, because erased: {erased}");
            screen.toned(Tone::Quiet, &text)?;
        }
        Ok(())
    }

    /// The end of the program. A divergence comes before sessions that were not replayed.
    fn end(self) -> Result<Exit, Failure> {
        if self.diverged > 0 {
            return Ok(Exit::Diverged);
        }
        self.unread.end("replayed")?;
        all_open(&self.sealed, "replayed")?;
        Ok(Exit::Ok)
    }
}

async fn one(ledger: &Ledger, text: &str) -> Result<(SessionId, Head), Failure> {
    let session = ids::session(ledger, text).await?;
    match ledger.journal().head(session.0).await? {
        Some(head) => Ok((session, head)),
        None => Err(Error::UnknownSession { session }.into()),
    }
}
