//! Messages without effect, which are not recorded.

use std::collections::BTreeSet;

use crate::engine::connection::noise::says;
use crate::engine::task::session_task::SessionTask;
use crate::session::{FrameRejected, Observation, Scope, Seq, Session};

/// The maximum number of such observations recorded for one connection. A real service sends a few;
/// an endless stream of them must not fill the journal.
const RECORDED_MAX: u32 = 64;

impl SessionTask {
    /// Drops such observations once `RECORDED_MAX` are recorded, and records that once.
    ///
    /// They are: unreadable frames, cancellations of unknown calls, ends of empty turns, and
    /// repeated go-away messages on a connection that is already being left.
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
        // The media count of a dropped turn end must not go to a recorded one.
        for end in dropped.into_iter().rev() {
            self.connections.media.drop_turn(epoch, end);
        }
    }

    /// True if the turn that ends now has no text and no media, and nothing waits for its end.
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

/// True for an observation that ends a turn, possibly an empty one.
fn ends_turn(observation: &Observation) -> bool {
    matches!(
        observation,
        Observation::TurnCompleted(_) | Observation::TurnInterrupted(_)
    )
}

/// True if one of these ids names a call of the connection or of the same message.
fn is_known(ids: &[String], beside: &[Observation], session: &Session, epoch: Seq) -> bool {
    let ids: BTreeSet<&String> = ids.iter().collect();
    let named = |id: &Option<String>| id.as_ref().is_some_and(|id| ids.contains(id));
    let mut calls = session.calls.values();
    let mut comes = beside.iter();
    calls.any(|it| it.epoch == epoch && named(&it.wire_id))
        || comes.any(|it| matches!(it, Observation::FunctionCallReceived(it) if named(&it.id)))
}
