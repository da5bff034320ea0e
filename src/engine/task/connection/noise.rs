//! Messages that change nothing, left off the record.

use std::collections::BTreeSet;

use crate::engine::connection::noise::says;
use crate::engine::task::session_task::SessionTask;
use crate::session::{FrameRejected, Observation, Scope, Seq, Session};

/// The number of such observations of one connection that go on record; a real service sends a
/// few, and one that sends them without end must not fill the journal.
const RECORDED_MAX: u32 = 64;

impl SessionTask {
    /// Takes such observations out, once there were many, and says so once.
    ///
    /// They are frames that cannot be read, cancellations of calls that are unknown, ends of turns
    /// in which nothing was said, and, where the connection is left already, further words that it
    /// will end.
    pub(super) fn drop_noise(&mut self, epoch: Seq, observations: &mut Vec<Observation>) {
        let leaves = self.stream.session.leaving.is_some() || self.agent.reconnects.is_never();
        let (mut ends, mut has_content) = (0, false);
        let mut is_interrupted = self.connections.reconnecting.noise.is_interrupted;
        let noise = observations.iter().map(|it| {
            if let Observation::CallCancellationReceived(it) = it {
                return !is_known(&it.ids, observations, &self.stream.session, epoch);
            }
            if ends_turn(it) {
                ends += 1;
                let interrupts = matches!(it, Observation::TurnInterrupted(_));
                let is_repeated = std::mem::replace(&mut is_interrupted, interrupts)
                    && interrupts
                    && self.connections.media.is_turn_empty(epoch, ends - 1);
                return !has_content && (is_repeated || self.is_empty_turn(epoch, ends - 1));
            }
            has_content |= says(it);
            is_interrupted &= !says(it);
            let is_go_away = matches!(it, Observation::GoAwayReceived(_));
            matches!(it, Observation::FrameRejected(_)) || (leaves && is_go_away)
        });
        let noise: Vec<bool> = noise.collect();
        self.connections.reconnecting.noise.is_interrupted = is_interrupted;
        if !noise.contains(&true) {
            return;
        }
        let mut noise = noise.into_iter();
        let (mut ends, mut dropped) = (0, Vec::new());
        let count = &mut self.connections.reconnecting.noise.count;
        observations.retain_mut(|observation| {
            let is_end = ends_turn(observation);
            ends += usize::from(is_end);
            if noise.next() != Some(true) {
                return true;
            }
            *count = count.saturating_add(1);
            if is_end && *count >= RECORDED_MAX {
                dropped.push(ends - 1);
            }
            if *count == RECORDED_MAX {
                let problem =
                    format!("the last of {RECORDED_MAX} on record that change nothing; more came");
                *observation = FrameRejected { epoch, problem }.into();
            }
            *count <= RECORDED_MAX
        });
        // What is not on record takes no count of the turns that are.
        for end in dropped.into_iter().rev() {
            self.connections.media.drop_turn(epoch, end);
        }
    }

    /// True if the turn that ends now has neither words nor media, and nothing waits for its end.
    fn is_empty_turn(&self, epoch: Seq, ends_before: usize) -> bool {
        let session = &self.stream.session;
        let waits_for_end = session.turn_open
            || session.deliveries.values().any(|it| it.sent)
            || session
                .state
                .keys()
                .any(|key| Scope::of(key).0 == Scope::Turn);
        !waits_for_end
            && self.running.turn.said.is_empty()
            && self.connections.media.is_turn_empty(epoch, ends_before)
    }
}

/// True for the end of a turn, which may be empty.
fn ends_turn(observation: &Observation) -> bool {
    matches!(
        observation,
        Observation::TurnCompleted(_) | Observation::TurnInterrupted(_)
    )
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
