//! The way for the progress that a run reports.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::engine::effects::of_progress::OfProgress;
use crate::engine::task::parts::Stream;
use crate::engine::telling::outcomes::Telling;
use crate::session::{Call, Phase};
use crate::tool::State;

/// The shortest time between two reports on record. A server may send any number, and each restarts
/// the time limit.
const INTERVAL: Duration = Duration::from_secs(1);

impl Stream {
    /// The reports of a run that begins now; none where its policy does not want to know.
    pub(super) fn progress_of(
        &self,
        call: &Call,
        telling: &Arc<Telling>,
        state: &State,
    ) -> Option<OfProgress> {
        let effect = self.session.terms.policies.of(&call.name).progress?;
        let Phase::Running { deadline, .. } = call.phase else {
            return None;
        };
        let left = deadline.map(|due| due.0.saturating_sub(self.session.at.0));
        let left = left.map(|us| Duration::from_micros(u64::try_from(us).unwrap_or_default()));
        Some(OfProgress {
            effect,
            is_for_model: !call.made_by_program && call.parent.is_none(),
            // Of a short limit no report may be left out that would have kept the run alive.
            every: left.map_or(INTERVAL, |left| INTERVAL.min(left / 4)),
            telling: telling.clone(),
            state: state.clone(),
            last: Mutex::default(),
        })
    }
}
