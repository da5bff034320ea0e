//! Whether what is told can be trusted: the verdict of `verify` and of `replay` over the whole
//! journal.

use recount_journal::verify::{Integrity, Report as Verified};

use crate::failures::{Exit, Failure};
use crate::journal::verdict;
use crate::terminal::{Meter, Tone};
use crate::text::count;
use recount::ledger::{Error, Ledger};
use recount::replay;
use recount::session::{Seq, SessionId};

/// What verifying and replaying a journal came to.
pub(super) struct Proof {
    pub(super) verified: Verified,
    /// How many decisions followed again, in how many sessions.
    pub(super) decisions: u64,
    pub(super) sessions: u64,
    /// Where something else followed than is on record.
    pub(super) diverged: Vec<(SessionId, Seq)>,
    /// The sessions that could not be decided again, because they are sealed and their key is not
    /// here.
    pub(super) sealed: u64,
    /// Those that were erased, which nobody will ever decide again.
    pub(super) erased: u64,
    /// Those that cannot be read for another reason.
    pub(super) unreadable: u64,
}

/// How a replay came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replayed {
    /// All sessions were decided again, to the same decisions.
    Same,
    /// Of those that could be, some came to other decisions.
    Diverged,
    /// Nothing speaks against what is on record, and some sessions were not asked.
    Partly,
}

impl Proof {
    /// Decides everything again that can be read.
    pub(super) async fn of(ledger: &Ledger, verified: Verified) -> Result<Proof, Failure> {
        let mut proof = Proof {
            verified,
            decisions: 0,
            sessions: 0,
            diverged: Vec::new(),
            sealed: 0,
            erased: 0,
            unreadable: 0,
        };
        let erasures = ledger.erasures().await?;
        let is_erased = |session| erasures.get(&session).is_some_and(|it| it.erased.is_some());
        let meter = Meter::new("Deciding again");
        let (mut done, mut pages) = (0_u64, ledger.session_pages());
        while let Some(page) = pages.next().await? {
            for (session, _) in page {
                match replay::verify(ledger, session).await {
                    Ok(report) => {
                        proof.sessions += 1;
                        proof.decisions += report.decisions;
                        let diverged = report.diverged.map(|it| (report.session, it.seq));
                        proof.diverged.extend(diverged);
                    }
                    Err(Error::Journal(error)) => return Err(error.into()),
                    Err(Error::Sealed { session }) if is_erased(session) => proof.erased += 1,
                    Err(error) => {
                        let is_sealed = Failure::from(error).exit == Exit::Sealed;
                        proof.sealed += u64::from(is_sealed);
                        proof.unreadable += u64::from(!is_sealed);
                    }
                }
                done += 1;
                meter.show(done, proof.verified.sessions);
            }
        }
        Ok(proof)
    }

    pub(super) fn replayed(&self) -> Replayed {
        if !self.diverged.is_empty() {
            Replayed::Diverged
        } else if self.sealed + self.unreadable > 0 {
            Replayed::Partly
        } else {
            Replayed::Same
        }
    }

    /// How the program ends because of it: as `verify` and `replay` do.
    pub(super) fn exit(&self) -> Exit {
        if !self.verified.is_sound() || self.unreadable > 0 {
            return Exit::Damaged;
        }
        match self.replayed() {
            Replayed::Same => Exit::Ok,
            Replayed::Diverged => Exit::Diverged,
            Replayed::Partly => Exit::Sealed,
        }
    }

    /// Both verdicts, a sentence each.
    pub(super) fn in_words(&self) -> [(Tone, String); 2] {
        let replayed = match self.replayed() {
            Replayed::Same => Tone::Good,
            Replayed::Diverged => Tone::Bad,
            Replayed::Partly => Tone::Ask,
        };
        [
            verified_in_words(&self.verified),
            (replayed, self.replayed_in_words()),
        ]
    }

    pub(super) fn replayed_in_words(&self) -> String {
        let decisions = count(self.decisions, "decision");
        let sessions = count(self.sessions, "session");
        let mut untold = String::new();
        if self.erased > 0 {
            let number = count(self.erased, "session");
            untold.push_str(&format!(" {number} erased, which nobody can decide again."));
        }
        if self.sealed > 0 {
            let number = count(self.sealed, "session");
            untold.push_str(&format!(
                " {number} could not be decided again: sealed, and the key is not here."
            ));
        }
        if self.unreadable > 0 {
            let number = count(self.unreadable, "session");
            untold.push_str(&format!(
                " {number} could not be decided again: not readable."
            ));
        }
        match self.replayed() {
            Replayed::Same => format!(
                "Every decision follows again from what was observed: {decisions} in {sessions}.{untold}"
            ),
            Replayed::Diverged => {
                let diverged = count(self.diverged.len(), "session");
                format!(
                    "In {diverged} of {sessions} something else follows than is on record.{untold}"
                )
            }
            Replayed::Partly => format!(
                "Only {decisions} in {sessions} could be decided again, to the same.{untold}"
            ),
        }
    }
}

/// The verdict of verifying, in a sentence or two.
pub(super) fn verified_in_words(verified: &Verified) -> (Tone, String) {
    let read = verdict::counts(verified);
    match verified.integrity() {
        Integrity::Anchored => (
            Tone::Good,
            format!("The records are those that the root that was given was taken of: {read}."),
        ),
        Integrity::Consistent => (
            Tone::Good,
            format!(
                "Every hash and every chain holds: {read}. No root that was kept elsewhere was given, \
                 so a rewrite of all of them alike would not show."
            ),
        ),
        Integrity::Damaged => {
            let found = count(verified.findings.len(), "finding");
            let words = format!("The records are not what was written: {found} in {read}.");
            (Tone::Bad, words)
        }
    }
}
