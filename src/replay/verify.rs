//! Every observation decided again, every decision compared with the one on record.

use super::report::{Diverged, Report, Said};
use crate::ledger::{Entry, Error, Ledger};
use crate::session::{
    Causes, Decision, Event, Fact, Seq, Session, SessionId, decide, evolve_in_place,
};

/// How many records are read at a time.
const PAGE: usize = 1024;

/// How many records the chain of causes names at most: a story of retries and questions anew may be
/// long.
const CAUSES_MAX: usize = 64;

/// Decides every observation of `session` again and compares.
///
/// Nothing but the journal is asked, so the report is the same on every machine, scheduler and
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
/// Whatever keeps the journal from being read, such as [`Error::Sealed`] where the session is
/// sealed and its key is not here; a divergence is a result, not an error.
pub async fn verify(ledger: &Ledger, session: SessionId) -> Result<Report, Error> {
    verify_by(ledger, session, decide, |_| ()).await
}

/// As [`verify`], by other rules than `decide`, and telling after each page how many records were
/// read.
pub async fn verify_by(
    ledger: &Ledger,
    session: SessionId,
    rules: impl Fn(&Session) -> Option<Decision>,
    told: impl Fn(u64),
) -> Result<Report, Error> {
    let mut retelling = Retelling {
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
        let next = retelling.state.head.next();
        let entries = ledger.entries(session, next, PAGE).await?;
        if entries.is_empty() {
            break;
        }
        for entry in &entries {
            let told = match retelling.compare(entry) {
                // Whatever is the decision that follows is of a kind that is known, so that is
                // asked last.
                Err(_) if ledger.passes_over(entry) => {
                    retelling.state.head = entry.seq;
                    continue;
                }
                told => told?,
            };
            match told {
                Told::Decided => report.decisions += 1,
                Told::Observed(fact) => {
                    report.observations += 1;
                    ledger.provide(&mut retelling.state, &fact).await?;
                    retelling.fold(&fact);
                }
                Told::Parted(parted) => {
                    report.diverged = Some(retelling.diverged(ledger, parted).await?);
                    return Ok(report);
                }
            }
        }
        told(report.observations + report.decisions);
    }
    if retelling.state.head == Seq(0) {
        return Err(Error::UnknownSession { session });
    }
    // The stream may end only where nothing more follows: a batch is atomic.
    if let Some(due) = retelling.due() {
        let parted = Parted {
            recorded: None,
            derived: Some(due.said()),
        };
        report.diverged = Some(retelling.diverged(ledger, parted).await?);
    }
    Ok(report)
}

/// A session that is told again, as far as it agreed.
struct Retelling<R> {
    rules: R,
    state: Session,
    causes: Causes,
    /// The body of the decision that follows, in room that is used again.
    written: Vec<u8>,
}

/// The decision that follows.
struct Due {
    event: Event,
    cause: Option<Seq>,
}

impl Due {
    fn said(&self) -> Said {
        // An event of ours always writes itself; an empty body shows as a difference.
        let body = self.event.body().unwrap_or_default();
        Said::new(&self.event, body, self.cause)
    }
}

/// What a record turned out to be.
enum Told {
    /// The decision that follows; it is folded.
    Decided,
    /// Something that the world did, where nothing follows; to be folded.
    Observed(Fact),
    /// Something else than what follows.
    Parted(Parted),
}

/// The two sides of a divergence.
struct Parted {
    recorded: Option<Said>,
    derived: Option<Said>,
}

impl<R: Fn(&Session) -> Option<Decision>> Retelling<R> {
    /// Whether the next record is what follows.
    fn compare(&mut self, entry: &Entry) -> Result<Told, Error> {
        let Some(due) = self.due() else {
            let fact = entry.fact()?;
            return Ok(match &fact.event {
                Event::Observed(_) => Told::Observed(fact),
                Event::Decided(_) => Told::Parted(Parted {
                    recorded: Some(recorded(&fact, entry)?),
                    derived: None,
                }),
            });
        };
        // What is the same byte for byte need not be read: it is the decision that is at hand.
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
                return Ok(Told::Decided);
            }
        }
        Ok(Told::Parted(Parted {
            recorded: Some(recorded(&entry.fact()?, entry)?),
            derived: Some(due.said()),
        }))
    }

    /// What follows next.
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

    async fn diverged(self, ledger: &Ledger, parted: Parted) -> Result<Diverged, Error> {
        let side = parted.derived.as_ref().or(parted.recorded.as_ref());
        let cause = side.and_then(|it| it.cause);
        Ok(Diverged {
            seq: self.state.head.next(),
            causes: chain(ledger, self.state.id, self.state.head, cause).await?,
            recorded: parted.recorded,
            derived: parted.derived,
            before: Box::new(self.state),
        })
    }
}

/// The records that led to something, from the first cause to the last, as far as they agreed.
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
        // A record that names itself or a later one as its cause was never written by us.
        cause = fact.cause.filter(|before| *before < seq);
        chain.push(fact);
    }
    chain.reverse();
    Ok(chain)
}

fn recorded(fact: &Fact, entry: &Entry) -> Result<Said, Error> {
    Ok(Said::new(&fact.event, entry.body()?.to_owned(), fact.cause))
}
