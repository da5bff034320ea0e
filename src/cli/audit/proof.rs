//! Whether what is told can be trusted: the verdict of `verify` and of `replay` over the whole journal.

use recount_journal::verify::Report as Verified;
use uuid::Uuid;

use crate::cli::count::count;
use crate::cli::failure::{Exit, Failure};
use crate::cli::progress::Meter;
use crate::ledger::{Error, Ledger};
use crate::replay;
use crate::session::{Seq, SessionId};

/// How many sessions are read at a time.
const PAGE: usize = 1024;

/// What verifying and replaying a journal came to.
pub(super) struct Proof {
    pub(super) verified: Verified,
    /// How many decisions followed again, in how many sessions.
    pub(super) decisions: u64,
    pub(super) sessions: u64,
    /// Where something else followed than is on record.
    pub(super) diverged: Vec<(SessionId, Seq)>,
    /// The sessions that could not be decided again: sealed without their key, or unreadable.
    pub(super) untold: u64,
}

impl Proof {
    /// Decides everything again that can be read.
    pub(super) async fn of(ledger: &Ledger, verified: Verified) -> Result<Proof, Failure> {
        let mut proof = Proof {
            verified,
            decisions: 0,
            sessions: 0,
            diverged: Vec::new(),
            untold: 0,
        };
        let meter = Meter::new("Deciding again");
        let (mut done, mut after): (u64, Option<Uuid>) = (0, None);
        loop {
            let page = ledger.journal().sessions(after, PAGE).await?;
            let Some((last, _)) = page.last() else {
                return Ok(proof);
            };
            after = Some(*last);
            for (session, _) in page {
                match replay::verify(ledger, SessionId(session)).await {
                    Ok(report) => {
                        proof.sessions += 1;
                        proof.decisions += report.decisions;
                        let diverged = report.diverged.map(|it| (report.session, it.seq));
                        proof.diverged.extend(diverged);
                    }
                    Err(Error::Journal(error)) => return Err(error.into()),
                    Err(_) => proof.untold += 1,
                }
                done += 1;
                meter.show(done, proof.verified.sessions);
            }
        }
    }

    /// Whether nothing speaks against what is on record.
    pub(super) fn holds(&self) -> bool {
        self.verified.is_sound() && self.diverged.is_empty()
    }

    /// How the program ends because of it.
    pub(super) fn exit(&self) -> Option<Exit> {
        match (self.verified.is_sound(), self.diverged.is_empty()) {
            (false, _) => Some(Exit::Damaged),
            (true, false) => Some(Exit::Diverged),
            (true, true) => None,
        }
    }

    /// Both verdicts, a sentence each.
    pub(super) fn in_words(&self) -> [String; 2] {
        [self.verified_in_words(), self.replayed_in_words()]
    }

    pub(super) fn verified_in_words(&self) -> String {
        let read = format!(
            "{} in {}",
            count(self.verified.records, "record"),
            count(self.verified.sessions, "session")
        );
        if self.verified.is_sound() {
            format!("The records are what was written: every hash and every chain holds, {read}.")
        } else {
            let found = count(self.verified.findings.len(), "finding");
            format!("The records are not what was written: {found}, {read}.")
        }
    }

    pub(super) fn replayed_in_words(&self) -> String {
        let decisions = count(self.decisions, "decision");
        let sessions = count(self.sessions, "session");
        let untold = match self.untold {
            0 => String::new(),
            number => format!(" {} could not be decided again.", count(number, "session")),
        };
        if self.diverged.is_empty() {
            format!(
                "Every decision follows again from what was observed: {decisions} in {sessions}.{untold}"
            )
        } else {
            let diverged = count(self.diverged.len(), "session");
            format!("In {diverged} of {sessions} something else follows than is on record.{untold}")
        }
    }
}
