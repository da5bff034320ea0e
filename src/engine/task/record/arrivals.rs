//! Batches in which calls arrive or responses were written, and nothing else happens.
//!
//! They are most of what a session of many open calls records. Such a batch changes what is owed
//! for the calls and the responses that it names, so the others are not looked at. After every
//! other batch all that is owed is compared with what is in flight.

use crate::engine::task::session_task::SessionTask;
use crate::session::{Effect, Event, Observation, Seq, owed_about};

impl SessionTask {
    /// The effects that the last batch newly owes, if it is of this kind; those it settled are
    /// dropped.
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
