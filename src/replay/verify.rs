//! The verification of a session: each observation is decided again, and each decision compared
//! with the record.

use super::report::{Diverged, Report, Said};
use crate::ledger::{Entry, Error, Ledger};
use crate::session::{
    Causes, Decision, Event, Fact, Seq, Session, SessionId, decide, evolve_in_place,
};

/// The number of records in one read.
const PAGE: usize = 1024;

/// The maximum number of records in a chain of causes. A call with many retries and repeated
/// questions may have a long one.
const CAUSES_MAX: usize = 64;

/// Decides each observation of `session` again and compares the decisions with the record.
///
/// Only the journal is read, so the report is the same on every machine, with every scheduler and
/// number of threads.
///
/// ```
/// # use recount::ledger::Ledger;
/// # use recount::session::SessionId;
/// # async fn example(ledger: Ledger, session: SessionId) -> Result<(), recount::ledger::Error> {
/// let report = recount::replay::verify(&ledger, session).await?;
/// if let Some(diverged) = report.diverged {
///     println!("other than on record from {} on, because of {:?}", diverged.seq, diverged.causes);
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// An error of the journal, such as [`Error::Sealed`] if the session is sealed and its key is
/// missing. A divergence is a result, not an error.
pub async fn verify(ledger: &Ledger, session: SessionId) -> Result<Report, Error> {
    verify_by(ledger, session, decide, |_| ()).await
}

/// As [`verify`], with other rules than `decide`. Calls `told` after each page with the number of
/// records so far.
pub async fn verify_by(
    ledger: &Ledger,
    session: SessionId,
    rules: impl Fn(&Session) -> Option<Decision>,
    told: impl Fn(u64),
) -> Result<Report, Error> {
    let mut replay = Replay {
        rules,
        state: Session::new(session),
        causes: Causes::default(),
        written: Vec::new(),
    };
    let mut report = Report {
        session,
        observations: 0,
        decisions: 0,
        diverged: None,
    };
    loop {
        let next = replay.state.head.next();
        let entries = ledger.entries(session, next, PAGE).await?;
        if entries.is_empty() {
            break;
        }
        for entry in &entries {
            let told = match replay.compare(entry) {
                // The expected decision is always of a known kind. So an unknown kind is checked
                // last.
                Err(_) if ledger.passes_over(entry) => {
                    replay.state.head = entry.seq;
                    continue;
                }
                told => told?,
            };
            match told {
                Compared::Decided => report.decisions += 1,
                Compared::Observed(fact) => {
                    report.observations += 1;
                    ledger.provide(&mut replay.state, &fact).await?;
                    replay.fold(&fact);
                }
                Compared::Diverged(sides) => {
                    report.diverged = Some(replay.diverged(ledger, sides).await?);
                    return Ok(report);
                }
            }
        }
        told(report.observations + report.decisions);
    }
    if replay.state.head == Seq(0) {
        return Err(Error::UnknownSession { session });
    }
    // Batches are atomic, so a stream may end only when no decision is due.
    if let Some(due) = replay.due() {
        let sides = Sides {
            recorded: None,
            derived: Some(due.said()),
        };
        report.diverged = Some(replay.diverged(ledger, sides).await?);
    }
    Ok(report)
}

/// A replayed session, up to the last record that matched.
struct Replay<R> {
    rules: R,
    state: Session,
    causes: Causes,
    /// A reused buffer for the body of the expected decision.
    written: Vec<u8>,
}

/// The expected decision.
struct Due {
    event: Event,
    cause: Option<Seq>,
}

impl Due {
    fn said(&self) -> Said {
        // An event of this library always serializes. An empty body would show as a difference.
        let body = self.event.body().unwrap_or_default();
        Said::new(&self.event, body, self.cause)
    }
}

/// The comparison of one record.
enum Compared {
    /// The expected decision. It is already folded.
    Decided,
    /// An observation when no decision is due. It must still be folded.
    Observed(Fact),
    /// Any other record.
    Diverged(Sides),
}

/// The two sides of a divergence.
struct Sides {
    recorded: Option<Said>,
    derived: Option<Said>,
}

impl<R: Fn(&Session) -> Option<Decision>> Replay<R> {
    /// Compares the next record with the expected decision.
    fn compare(&mut self, entry: &Entry) -> Result<Compared, Error> {
        let Some(due) = self.due() else {
            let fact = entry.fact()?;
            return Ok(match &fact.event {
                Event::Observed(_) => Compared::Observed(fact),
                Event::Decided(_) => Compared::Diverged(Sides {
                    recorded: Some(recorded(&fact, entry)?),
                    derived: None,
                }),
            });
        };
        // Equal bytes need not be parsed. The record is the expected decision.
        if entry.kind() == due.event.kind() && entry.cause() == due.cause {
            self.written.clear();
            let written = due.event.write_body(&mut self.written);
            if written.is_ok() && entry.has_body(&self.written)? {
                self.fold(&Fact {
                    seq: entry.seq,
                    at: entry.at(),
                    cause: due.cause,
                    event: due.event,
                });
                return Ok(Compared::Decided);
            }
        }
        Ok(Compared::Diverged(Sides {
            recorded: Some(recorded(&entry.fact()?, entry)?),
            derived: Some(due.said()),
        }))
    }

    /// The decision that is due.
    fn due(&self) -> Option<Due> {
        if self.state.head == Seq(0) {
            return None;
        }
        let decision = (self.rules)(&self.state)?;
        Some(Due {
            cause: self.causes.of(&decision),
            event: Event::Decided(decision),
        })
    }

    fn fold(&mut self, fact: &Fact) {
        match &fact.event {
            Event::Observed(_) => self.causes = Causes::after(fact.seq),
            Event::Decided(decision) => self.causes.note(fact.seq, decision),
        }
        evolve_in_place(&mut self.state, fact);
    }

    async fn diverged(self, ledger: &Ledger, sides: Sides) -> Result<Diverged, Error> {
        let side = sides.derived.as_ref().or(sides.recorded.as_ref());
        let cause = side.and_then(|it| it.cause);
        Ok(Diverged {
            seq: self.state.head.next(),
            causes: chain(ledger, self.state.id, self.state.head, cause).await?,
            recorded: sides.recorded,
            derived: sides.derived,
            before: Box::new(self.state),
        })
    }
}

/// The records that led to an event, from the first cause to the last, up to `head`.
async fn chain(
    ledger: &Ledger,
    session: SessionId,
    head: Seq,
    mut cause: Option<Seq>,
) -> Result<Vec<Fact>, Error> {
    let mut chain = Vec::new();
    while let Some(seq) = cause.filter(|seq| Seq(0) < *seq && *seq <= head)
        && chain.len() < CAUSES_MAX
    {
        let Some(fact) = ledger.fact(session, seq).await? else {
            break;
        };
        // This library never writes a record whose cause is the record itself or a later one.
        cause = fact.cause.filter(|before| *before < seq);
        chain.push(fact);
    }
    chain.reverse();
    Ok(chain)
}

fn recorded(fact: &Fact, entry: &Entry) -> Result<Said, Error> {
    Ok(Said::new(&fact.event, entry.body()?.to_owned(), fact.cause))
}
