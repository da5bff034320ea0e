//! Batches in which only calls are received or responses sent.
//!
//! They are most of the records of a session with many open calls. Such a batch changes only the
//! effects of the calls and responses that it names, so the others are skipped. After any other
//! batch, all owed effects are compared with those in flight.

use crate::engine::task::session_task::SessionTask;
use crate::session::{Effect, Event, Observation, Seq, owed_about};

impl SessionTask {
    /// Returns the effects that the last batch newly owes, if it is of this kind. Drops those it
    /// settled.
    pub(super) fn owed_by_arrivals(&mut self) -> Option<Vec<Effect>> {
        let first = self.stream.latest.first()?.fact.seq;
        let session = &self.stream.session;
        if !self.running.performer.knows_all_before(first)
            || session.closed
            || session.closing.is_some()
        {
            return None;
        }
        let (mut calls, mut issued, mut sent) = (Vec::new(), Vec::new(), Vec::new());
        for recorded in &self.stream.latest {
            let fact = &recorded.fact;
            match &fact.event {
                Event::Observed(Observation::FunctionCallReceived(it)) if it.parent.is_none() => {
                    // A call delivered again moves an earlier call to this connection.
                    let is_new = session.calls.contains_key(&fact.seq)
                        || session.settled.contains_key(&fact.seq);
                    if !is_new {
                        return None;
                    }
                    calls.push(fact.seq);
                }
                Event::Observed(Observation::ResponsesSent(it)) => sent.extend(&it.responses),
                Event::Observed(_) => return None,
                Event::Decided(decision) => {
                    let of_batch = calls.binary_search(&decision.call()?);
                    of_batch.ok()?;
                    issued.push(fact.seq);
                }
            }
        }
        let is_unsent =
            |response: &Seq| session.deliveries.get(response).is_some_and(|it| !it.sent);
        if sent.iter().any(is_unsent) {
            return None;
        }
        let owed = owed_about(session, &calls, &issued);
        sent.into_iter()
            .for_each(|response| self.running.performer.sent(response));
        Some(owed)
    }
}
