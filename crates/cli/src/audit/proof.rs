//! The verdicts of `verify` and `replay` over the whole journal.

use recount_journal::verify::{Integrity, Report as Verified};

use crate::failures::{Exit, Failure};
use crate::journal::verdict;
use crate::terminal::{Meter, Tone};
use recount::ledger::{Error, Ledger};
use recount::replay;
use recount::session::{Seq, SessionId};
use recount_telling::count;

/// The results of verifying and replaying a journal.
pub(super) struct Proof {
    pub(super) verified: Verified,
    /// The number of decisions that were made again.
    pub(super) decisions: u64,
    /// The number of sessions that were replayed.
    pub(super) sessions: u64,
    /// The sessions that diverged, each with the seq of the first difference.
    pub(super) diverged: Vec<(SessionId, Seq)>,
    /// The number of sessions that are sealed and whose key is not here.
    pub(super) sealed: u64,
    /// The number of erased sessions.
    pub(super) erased: u64,
    /// The number of sessions that cannot be read for another reason.
    pub(super) unreadable: u64,
}

/// The result of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replayed {
    /// Every session was replayed, with the same decisions.
    Same,
    /// At least one session diverged.
    Diverged,
    /// No session diverged, but some could not be replayed.
    Partly,
}

impl Proof {
    /// Replays every session that can be read.
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

    /// The exit code, as that of `verify` and `replay`.
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

    /// The sentences about both verdicts.
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
        let mut rest = String::new();
        if self.erased > 0 {
            let number = count(self.erased, "session");
            rest.push_str(&format!(" {number} erased, which cannot be replayed."));
        }
        if self.sealed > 0 {
            let number = count(self.sealed, "session");
            rest.push_str(&format!(
                " {number} could not be replayed: sealed, and the key is not here."
            ));
        }
        if self.unreadable > 0 {
            let number = count(self.unreadable, "session");
            rest.push_str(&format!(" {number} could not be replayed: not readable."));
        }
        match self.replayed() {
            Replayed::Same => format!(
                "Every decision was made again, with the same result: \
                 {decisions} in {sessions}.{rest}"
            ),
            Replayed::Diverged => {
                let diverged = count(self.diverged.len(), "session");
                format!("The decisions of {diverged} of {sessions} differ from the record.{rest}")
            }
            Replayed::Partly => format!(
                "Only {decisions} in {sessions} could be made again, with the same result.{rest}"
            ),
        }
    }
}

/// The sentences about the verdict of `verify`.
pub(super) fn verified_in_words(verified: &Verified) -> (Tone, String) {
    let read = verdict::counts(verified);
    match verified.integrity() {
        Integrity::Anchored => (
            Tone::Good,
            format!("The records match the given root: {read}."),
        ),
        Integrity::Consistent => (
            Tone::Good,
            format!(
                "Every hash and every chain holds: {read}. No root that was kept elsewhere was \
                 given, so recomputed hashes would not be noticed."
            ),
        ),
        Integrity::Damaged => {
            let found = count(verified.findings.len(), "finding");
            let words = format!("The records were damaged or altered: {found} in {read}.");
            (Tone::Bad, words)
        }
    }
}
