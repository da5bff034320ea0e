//! The observations in a frame of the model: parsed from it or, in a play, taken from the fixture.

use std::sync::Arc;

use super::prepared::Prepared;
use crate::live::incoming::{self, Heard};
use crate::live::streamed::Streamed;
use crate::session::{Json, Observation, Seq};

/// Returns the recorded observation of a frame whose text was not recorded.
pub(crate) type HeardAs = Arc<dyn Fn(&str) -> Option<Observation> + Send + Sync>;

impl Prepared {
    /// Returns the observations in one frame of the connection `epoch`; see [`incoming::heard`].
    pub(in crate::engine) fn heard(
        &self,
        epoch: Seq,
        frame: &str,
        depth_max: usize,
        streamed: &mut Streamed,
    ) -> Heard {
        let recorded = self.heard_as.as_ref().and_then(|it| it(frame));
        if let Some(recorded) = recorded {
            return Heard {
                observations: vec![of_connection(epoch, recorded)],
                handle: None,
            };
        }
        let check = |name: &str, args: &Json| self.dispatcher.check_text(name, args, &[]).err();
        incoming::heard(epoch, frame, depth_max, &check, streamed)
    }
}

/// Returns the observation with the epoch of this connection.
fn of_connection(epoch: Seq, mut observation: Observation) -> Observation {
    if let Observation::FunctionCallReceived(it) = &mut observation {
        it.epoch = epoch;
    } else if let Observation::FrameRejected(it) = &mut observation {
        it.epoch = epoch;
    }
    observation
}
