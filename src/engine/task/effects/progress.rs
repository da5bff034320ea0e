//! The progress reports of a run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::engine::effects::progress_reporter::ProgressReporter;
use crate::engine::task::parts::Stream;
use crate::engine::telling::outcomes::Telling;
use crate::session::{Call, Phase};
use crate::tool::State;

/// The minimum time between two recorded reports. A server may send any number, and each restarts
/// the time limit.
const INTERVAL: Duration = Duration::from_secs(1);

impl Stream {
    /// Returns the reporter of a run that starts now, if the tool's policy uses progress.
    pub(super) fn progress_of(
        &self,
        call: &Call,
        telling: &Arc<Telling>,
        state: &State,
    ) -> Option<ProgressReporter> {
        let effect = self.session.terms.policies.of(&call.name).progress?;
        let Phase::Running { deadline, .. } = call.phase else {
            return None;
        };
        let left = deadline.map(|due| due.0.saturating_sub(self.session.at.0));
        let left = left.map(|us| Duration::from_micros(u64::try_from(us).unwrap_or_default()));
        Some(ProgressReporter {
            effect,
            is_for_model: !call.made_by_program && call.parent.is_none(),
            // With a short limit, no report that keeps the run alive may be skipped.
            every: left.map_or(INTERVAL, |left| INTERVAL.min(left / 4)),
            telling: telling.clone(),
            state: state.clone(),
            last: Mutex::default(),
        })
    }
}
