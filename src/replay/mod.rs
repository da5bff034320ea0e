//! Telling a session again from its journal alone.
//!
//! Every observation is decided again by the rules of its time, and the decisions are compared with those on record.
//! Nothing runs: no tool, no provider, no closure. `replay` does not know how a session was served.

pub mod what_if;

use crate::ledger::{Entry, Error, Ledger};
use crate::session::{Causes, Decision, Event, Fact, Seq, Session, SessionId, decide, evolve};

/// How many records are read at a time.
const PAGE: usize = 1024;

/// What came of telling a session again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The session.
    pub session: SessionId,
    /// How many observations were decided again.
    pub observations: u64,
    /// How many decisions came out as recorded.
    pub decisions: u64,
    /// Where the two stories part, if they do.
    pub diverged: Option<Diverged>,
}

/// The first place where what is on record is not what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diverged {
    /// The place.
    pub seq: Seq,
    /// What stands there.
    pub recorded: Option<Said>,
    /// What follows from what stands before it; none where nothing more follows.
    pub derived: Option<Said>,
}

/// An event as the journal spells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its kind.
    pub kind: &'static str,
    /// Its body, as JSON text: on record, the exact bytes, opened where they are sealed.
    pub body: String,
    /// The record that directly led here.
    pub cause: Option<Seq>,
}

/// Decides every observation of `session` again and compares.
///
/// # Errors
/// Whatever keeps the journal from being read, such as [`Error::Sealed`] where the session is sealed and its key is not
/// here; a divergence is a result, not an error.
pub async fn verify(ledger: &Ledger, session: SessionId) -> Result<Report, Error> {
    let mut report = Report {
        session,
        observations: 0,
        decisions: 0,
        diverged: None,
    };
    let mut state = Session::new(session);
    let mut next = Seq(1);
    // The observation last read and what was decided since, which tells the causes.
    let mut batch: Vec<Fact> = Vec::new();
    let mut causes = Causes::default();
    loop {
        let entries = ledger.entries(session, next, PAGE).await?;
        if entries.is_empty() {
            break;
        }
        for entry in &entries {
            let fact = entry.fact()?;
            let due = if state.head == Seq(0) {
                None
            } else {
                due(&state, &batch, &mut causes)
            };
            if let Some(diverged) = compare(&fact, entry, due) {
                report.diverged = Some(diverged);
                return Ok(report);
            }
            match fact.event {
                Event::Observed(_) => {
                    report.observations += 1;
                    batch.clear();
                    causes = Causes::default();
                }
                Event::Decided(_) => report.decisions += 1,
            }
            ledger.provide(&mut state, &fact).await?;
            state = evolve(state, &fact);
            next = fact.seq.next();
            batch.push(fact);
        }
    }
    if state.head == Seq(0) {
        return Err(Error::UnknownSession { session });
    }
    // The stream may end only where nothing more follows: a batch is atomic.
    report.diverged = due(&state, &batch, &mut causes).map(|due| Diverged {
        seq: next,
        recorded: None,
        derived: Some(due),
    });
    Ok(report)
}

/// The decision that follows next, as it would stand on record.
fn due(state: &Session, batch: &[Fact], causes: &mut Causes) -> Option<Said> {
    let decision = decide(state)?;
    let cause = causes.of(&decision, batch);
    let event = Event::from(decision);
    Some(Said {
        kind: event.kind(),
        // An event of ours always writes itself; an empty body would show as a difference.
        body: event.body().unwrap_or_default(),
        cause,
    })
}

/// Compares a fact with the decision that is due before it, byte for byte.
fn compare(fact: &Fact, entry: &Entry, due: Option<Said>) -> Option<Diverged> {
    if let (Event::Observed(_), None) = (&fact.event, &due) {
        return None;
    }
    let recorded = Said {
        kind: fact.event.kind(),
        // The fact was read from this very body, so it is there.
        body: entry.body().unwrap_or_default().to_owned(),
        cause: fact.cause,
    };
    (Some(&recorded) != due.as_ref()).then_some(Diverged {
        seq: fact.seq,
        recorded: Some(recorded),
        derived: due,
    })
}

impl From<Decision> for Event {
    fn from(decision: Decision) -> Event {
        Event::Decided(decision)
    }
}
