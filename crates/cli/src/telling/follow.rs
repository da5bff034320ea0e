//! Following a session while it is served: every event told once, in order, as soon as it is on
//! record.

use super::timeline::{Fit, Timeline};
use crate::failures::Failure;
use crate::terminal::{COLUMNS, Screen};
use recount::engine::{LiveHandle, Updates};
use recount::ledger::Ledger;
use recount::session::{Event, Fact, Observation, Seq, Session, SessionId};

/// How many records are read at a time.
const PAGE: usize = 512;

/// Tells one session as it goes on.
///
/// What is told comes from the journal; the engine's updates only say when to look, so none can be
/// missed.
pub(crate) struct Follower {
    ledger: Ledger,
    session: SessionId,
    updates: Updates,
    timeline: Timeline,
    /// The last record that was told or is not to be told.
    told: Seq,
    /// How often the model has ended its turn.
    pub(crate) turns: u64,
}

impl Follower {
    /// Follows the session of `live` from the record after `told` on.
    pub(crate) async fn new(
        live: &LiveHandle,
        told: Seq,
        screen: &Screen,
    ) -> Result<Follower, Failure> {
        let (ledger, session) = (live.engine().ledger().clone(), live.session_id());
        let mut timeline = Timeline::new(screen.palette, Fit::Wrap(COLUMNS));
        let mut learned = Seq(0);
        while learned < told {
            let facts = ledger.facts(session, learned.next(), PAGE).await?;
            let Some(last) = facts.last() else { break };
            learned = last.seq;
            facts
                .iter()
                .filter(|fact| fact.seq <= told)
                .for_each(|fact| timeline.learn(fact));
        }
        Ok(Follower {
            updates: live.subscribe(),
            ledger,
            session,
            timeline,
            told,
            turns: 0,
        })
    }

    /// Tells everything that is on record and was not told, and returns it.
    pub(crate) async fn tell(&mut self, screen: &mut Screen) -> Result<Vec<Fact>, Failure> {
        let mut told = Vec::new();
        loop {
            let facts = self
                .ledger
                .facts(self.session, self.told.next(), PAGE)
                .await?;
            if facts.is_empty() {
                screen.flush()?;
                return Ok(told);
            }
            for fact in facts {
                screen.line(&self.timeline.tell(&fact))?;
                self.told = fact.seq;
                if let Event::Observed(Observation::TurnCompleted(_)) = fact.event {
                    self.turns += 1;
                }
                told.push(fact);
            }
        }
    }

    /// Waits for a record behind those that were told. Each of those has an update, too, and
    /// looking at the session for each would take time with the square of their number.
    ///
    /// # Errors
    /// An error that says why the session is not served any more, if nothing can happen.
    pub(crate) async fn wake(&mut self, live: &LiveHandle) -> Result<(), Failure> {
        loop {
            match self.updates.next().await {
                Some(recorded) if recorded.fact.seq <= self.told => {}
                Some(_) => return Ok(()),
                None => {
                    live.session().await?;
                    return Ok(());
                }
            }
        }
    }

    /// Tells what happens until `reached` says of the session, and of the number of turns, that it
    /// is there.
    pub(crate) async fn until(
        &mut self,
        live: &LiveHandle,
        screen: &mut Screen,
        reached: impl Fn(&Session, u64) -> bool,
    ) -> Result<Session, Failure> {
        loop {
            self.tell(screen).await?;
            let session = live.session().await?;
            if session.head == self.told && reached(&session, self.turns) {
                return Ok(session);
            }
            if session.head == self.told {
                self.wake(live).await?;
            }
        }
    }

    /// The last record that was told.
    pub(crate) fn told(&self) -> Seq {
        self.told
    }
}

/// Whether nothing runs and everything that the model is to hear was sent.
pub(crate) fn is_calm(session: &Session) -> bool {
    !session.calls.values().any(|call| call.phase.is_running())
        && session.deliveries.values().all(|delivery| delivery.sent)
}
