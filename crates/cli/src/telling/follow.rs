//! A timeline of a session that is served: each event is printed once, in order, when it is
//! recorded.

use super::timeline::{Fit, Timeline};
use crate::failures::Failure;
use crate::terminal::{COLUMNS, Screen};
use recount::engine::{LiveHandle, Updates};
use recount::ledger::Ledger;
use recount::session::{Event, Fact, Observation, Seq, Session, SessionId};

/// The number of records that are read at a time.
const PAGE: usize = 512;

/// Prints the events of one session as they are recorded.
///
/// The events are read from the journal. The engine's updates only say when to read, so no event
/// can be missed.
pub(crate) struct Follower {
    ledger: Ledger,
    session: SessionId,
    updates: Updates,
    timeline: Timeline,
    /// The last record that was printed or skipped.
    shown: Seq,
    /// The number of turns that the model has ended.
    pub(crate) turns: u64,
}

impl Follower {
    /// A follower of the session of `live`, from the record after `shown` on.
    pub(crate) async fn new(
        live: &LiveHandle,
        shown: Seq,
        screen: &Screen,
    ) -> Result<Follower, Failure> {
        let (ledger, session) = (live.engine().ledger().clone(), live.session_id());
        let mut timeline = Timeline::new(screen.palette, Fit::Wrap(COLUMNS));
        let mut learned = Seq(0);
        while learned < shown {
            let facts = ledger.facts(session, learned.next(), PAGE).await?;
            let Some(last) = facts.last() else { break };
            learned = last.seq;
            facts
                .iter()
                .filter(|fact| fact.seq <= shown)
                .for_each(|fact| timeline.learn(fact));
        }
        Ok(Follower {
            updates: live.subscribe(),
            ledger,
            session,
            timeline,
            shown,
            turns: 0,
        })
    }

    /// Prints and returns the events that were recorded since the last call.
    pub(crate) async fn show_new(&mut self, screen: &mut Screen) -> Result<Vec<Fact>, Failure> {
        let mut new = Vec::new();
        loop {
            let facts = self
                .ledger
                .facts(self.session, self.shown.next(), PAGE)
                .await?;
            if facts.is_empty() {
                screen.flush()?;
                return Ok(new);
            }
            for fact in facts {
                screen.line(&self.timeline.event(&fact))?;
                self.shown = fact.seq;
                if let Event::Observed(Observation::TurnCompleted(_)) = fact.event {
                    self.turns += 1;
                }
                new.push(fact);
            }
        }
    }

    /// Waits for a record after the printed ones.
    ///
    /// Updates of printed records are skipped. Reading the session for each of them would take
    /// time with the square of their number.
    ///
    /// # Errors
    /// The reason why the session is no longer served.
    pub(crate) async fn wake(&mut self, live: &LiveHandle) -> Result<(), Failure> {
        loop {
            match self.updates.next().await {
                Some(recorded) if recorded.fact.seq <= self.shown => {}
                Some(_) => return Ok(()),
                None => {
                    live.session().await?;
                    return Ok(());
                }
            }
        }
    }

    /// Prints events until `reached` returns true for the session and the number of turns.
    pub(crate) async fn until(
        &mut self,
        live: &LiveHandle,
        screen: &mut Screen,
        reached: impl Fn(&Session, u64) -> bool,
    ) -> Result<Session, Failure> {
        loop {
            self.show_new(screen).await?;
            let session = live.session().await?;
            if session.head == self.shown && reached(&session, self.turns) {
                return Ok(session);
            }
            if session.head == self.shown {
                self.wake(live).await?;
            }
        }
    }

    /// The last record that was printed.
    pub(crate) fn shown(&self) -> Seq {
        self.shown
    }
}

/// True if no call runs and every response was sent to the model.
pub(crate) fn is_calm(session: &Session) -> bool {
    !session.calls.values().any(|call| call.phase.is_running())
        && session.deliveries.values().all(|delivery| delivery.sent)
}
