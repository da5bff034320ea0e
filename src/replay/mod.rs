//! Telling a session again from its journal alone.
//!
//! Every observation is decided again by the rules of its time, and the decisions are compared with those on record.
//! Nothing runs: no tool, no provider, no closure. `replay` does not know how a session was served.

use crate::ledger::{Error, Ledger};
use crate::session::{Decision, Event, Fact, Seq, Session, SessionId, decide, evolve};

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
    /// Its body, as JSON text.
    pub body: String,
}

/// Decides every observation of `session` again and compares.
///
/// # Errors
/// Whatever keeps the journal from being read; a divergence is a result, not an error.
pub async fn verify(ledger: &Ledger, session: SessionId) -> Result<Report, Error> {
    let mut report = Report {
        session,
        observations: 0,
        decisions: 0,
        diverged: None,
    };
    let mut state = Session::new(session);
    let mut next = Seq(1);
    loop {
        let facts = ledger.facts(session, next, PAGE).await?;
        let Some(last) = facts.last() else { break };
        next = last.seq.next();
        for fact in &facts {
            let due = if state.head == Seq(0) {
                None
            } else {
                decide(&state)
            };
            if let Some(diverged) = compare(fact, due.as_ref()) {
                report.diverged = Some(diverged);
                return Ok(report);
            }
            match fact.event {
                Event::Observed(_) => report.observations += 1,
                Event::Decided(_) => report.decisions += 1,
            }
            ledger.provide(&mut state, fact).await?;
            state = evolve(state, fact);
        }
    }
    if state.head == Seq(0) {
        return Err(Error::UnknownSession { session });
    }
    // The stream may end only where nothing more follows: a batch is atomic.
    report.diverged = decide(&state).map(|due| Diverged {
        seq: next,
        recorded: None,
        derived: Some(said(&due.into())),
    });
    Ok(report)
}

/// Compares a fact with the decision that is due before it.
fn compare(fact: &Fact, due: Option<&Decision>) -> Option<Diverged> {
    let agrees = match (&fact.event, due) {
        (Event::Observed(_), None) => true,
        (Event::Decided(recorded), Some(due)) => {
            said(&Event::Decided(recorded.clone())) == said(&Event::Decided(due.clone()))
        }
        (Event::Observed(_), Some(_)) | (Event::Decided(_), None) => false,
    };
    (!agrees).then(|| Diverged {
        seq: fact.seq,
        recorded: Some(said(&fact.event)),
        derived: due.map(|due| said(&Event::Decided(due.clone()))),
    })
}

fn said(event: &Event) -> Said {
    // An event of ours always writes itself; an empty body would show as a difference.
    Said {
        kind: event.kind(),
        body: event.body().unwrap_or_default(),
    }
}

impl From<Decision> for Event {
    fn from(decision: Decision) -> Event {
        Event::Decided(decision)
    }
}
