//! Messages that a service repeats on one connection and that change nothing.

use std::collections::BTreeSet;

use crate::session::{FrameRejected, Observation, Seq, Session};

/// The number of such observations of one connection that go on record; a real service sends a
/// few, and one that sends them without end must not fill the journal.
const RECORDED_MAX: u32 = 64;

/// The number of observations of one connection that changed nothing.
#[derive(Debug, Default)]
pub(super) struct Noise(u32);

impl Noise {
    /// Takes such observations out, once there were many, and says so once.
    ///
    /// They are frames that cannot be read, cancellations of calls that are unknown, and, where
    /// the connection `leaves` already, further words that it will end.
    pub(super) fn drop_from(
        &mut self,
        observations: &mut Vec<Observation>,
        session: &Session,
        epoch: Seq,
        leaves: bool,
    ) {
        let noise: Vec<bool> = observations
            .iter()
            .map(|it| {
                if let Observation::CallCancellationReceived(it) = it {
                    return !is_known(&it.ids, observations, session, epoch);
                }
                let is_go_away = matches!(it, Observation::GoAwayReceived(_));
                matches!(it, Observation::FrameRejected(_)) || (leaves && is_go_away)
            })
            .collect();
        let mut noise = noise.into_iter();
        observations.retain_mut(|observation| {
            if noise.next() != Some(true) {
                return true;
            }
            self.0 = self.0.saturating_add(1);
            if self.0 == RECORDED_MAX {
                let problem =
                    format!("the last of {RECORDED_MAX} on record that change nothing; more came");
                *observation = FrameRejected { epoch, problem }.into();
            }
            self.0 <= RECORDED_MAX
        });
    }
}

/// True if one of these ids names a call of the connection, or one that comes with it.
fn is_known(ids: &[String], beside: &[Observation], session: &Session, epoch: Seq) -> bool {
    let ids: BTreeSet<&String> = ids.iter().collect();
    let named = |id: &Option<String>| id.as_ref().is_some_and(|id| ids.contains(id));
    let mut calls = session.calls.values();
    let mut comes = beside.iter();
    calls.any(|it| it.epoch == epoch && named(&it.wire_id))
        || comes.any(|it| matches!(it, Observation::FunctionCallReceived(it) if named(&it.id)))
}
