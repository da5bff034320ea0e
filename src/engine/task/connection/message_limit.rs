//! The calls of a message beyond its limit, recorded in several batches.

use crate::engine::connection::message_limit::{Rest, mark};
use crate::engine::error::Error;
use crate::engine::task::session_task::SessionTask;
use crate::session::{Observation, Seq};

impl SessionTask {
    /// Splits off the observations from the first call beyond the limit. They are recorded in their
    /// own batches.
    pub(in crate::engine) fn split_off_rest(
        &mut self,
        epoch: Seq,
        observations: &mut Vec<Observation>,
    ) {
        let max = self.stream.session.terms.policies.calls_per_message_max;
        if let Some(first) = mark(max, observations) {
            self.connections.rest = Rest {
                epoch: Some(epoch),
                waiting: observations.split_off(first).into(),
            };
        }
    }

    /// Records the next batch of observations beyond the limit.
    pub(in crate::engine) async fn record_rest(&mut self) -> Result<(), Error> {
        let mut next = self.connections.rest.next(self.stream.session.connection);
        if next.is_empty() {
            return Ok(());
        }
        self.seal_secrets(&mut next).await?;
        self.record(next).await?;
        self.order_heard();
        Ok(())
    }
}
