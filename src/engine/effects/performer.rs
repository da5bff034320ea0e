//! Effects in flight: started, and not yet settled by a record.
//!
//! After every batch it gets the owed effects. New ones are started, and those no longer owed are
//! stopped. So the tool of a cancelled call is aborted, because its run is no longer owed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::beginning::Beginning;
use super::slots::RunSlot;
use crate::session::{Deadline, Effect, Seq, Start, Timestamp};

/// The effects in flight.
#[derive(Default)]
pub(in crate::engine) struct Performer {
    in_flight: BTreeMap<Effect, InFlight>,
    /// The deadlines of the effects in flight.
    due: BTreeSet<(Timestamp, Deadline)>,
    /// The last record up to which the owed effects are known.
    until: Seq,
}

/// The way to stop an effect in flight.
pub(in crate::engine) enum InFlight {
    /// Handled elsewhere: by an approver, or by the socket's writer.
    Left,
    /// A run whose time was over before it could begin. Its tool never begins.
    Overdue,
    /// The session's timer is set to its deadline or earlier.
    Timed,
    /// A task for several effects. It ends with the last of them.
    Together(Arc<AbortOnDropHandle<()>>),
    /// A task for this effect.
    Task {
        task: AbortHandle,
        /// Fires before the abort, so that a tool can pass the cancellation on.
        cancelled: CancellationToken,
    },
    /// The run of a tool.
    Run {
        task: AbortHandle,
        cancelled: CancellationToken,
        beginning: Beginning,
        slot: RunSlot,
    },
}

impl InFlight {
    /// Spawns a task.
    pub(in crate::engine) fn begin(
        cancelled: CancellationToken,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> InFlight {
        let task = tokio::spawn(work).abort_handle();
        InFlight::Task { task, cancelled }
    }
}

impl Performer {
    /// Stops effects that are no longer owed, and returns those to start.
    pub(in crate::engine) fn reconcile(&mut self, owed: Vec<Effect>) -> Vec<Effect> {
        let still: BTreeSet<&Effect> = owed.iter().collect();
        self.in_flight.retain(|effect, in_flight| {
            let stays = still.contains(effect);
            if !stays {
                in_flight.stop();
                if let Effect::ArmTimer { deadline, due_us } = effect {
                    self.due.remove(&(*due_us, *deadline));
                }
            }
            stays
        });
        owed.into_iter()
            .filter(|effect| !self.in_flight.contains_key(effect))
            .collect()
    }

    /// True if the owed effects are known up to the record before this one.
    pub(in crate::engine) fn knows_all_before(&self, seq: Seq) -> bool {
        self.until.next() == seq
    }

    /// Notes that the owed effects are known up to this record.
    pub(in crate::engine) fn note_all_until(&mut self, seq: Seq) {
        self.until = seq;
    }

    /// Drops a response that was written.
    pub(in crate::engine) fn sent(&mut self, response: Seq) {
        let of = |least: bool| {
            let bound = Seq(if least { 0 } else { u64::MAX });
            Effect::SendResponse {
                response,
                call: bound,
                epoch: bound,
                as_conversation: !least,
            }
        };
        let written = self.in_flight.range(of(true)..=of(false));
        for effect in written
            .map(|(effect, _)| effect.clone())
            .collect::<Vec<_>>()
        {
            self.in_flight.remove(&effect);
        }
    }

    /// Notes that `effect` was started.
    pub(in crate::engine) fn begun(&mut self, effect: Effect, in_flight: InFlight) {
        if let Effect::ArmTimer { deadline, due_us } = &effect {
            self.due.insert((*due_us, *deadline));
        }
        self.in_flight.insert(effect, in_flight);
    }

    /// Takes back the starts whose tools have not begun, so that they never will.
    pub(in crate::engine) fn take_back(&self, owed: &[Effect]) -> Vec<Start> {
        let started = owed.iter().filter_map(|effect| {
            let Effect::RunTool { call, attempt, .. } = effect else {
                return None;
            };
            let (call, attempt) = (*call, *attempt);
            let never = match self.in_flight.get(effect) {
                Some(InFlight::Run { beginning, .. }) => beginning.take_back(),
                Some(InFlight::Overdue) => true,
                Some(
                    InFlight::Left
                    | InFlight::Timed
                    | InFlight::Together(_)
                    | InFlight::Task { .. },
                ) => false,
                // The start is recorded, but not yet handled.
                None => true,
            };
            never.then_some(Start { call, attempt })
        });
        started.collect()
    }

    /// True if the tool that `effect` runs has begun.
    pub(in crate::engine) fn has_begun(&self, effect: &Effect) -> bool {
        match self.in_flight.get(effect) {
            Some(InFlight::Run { beginning, .. }) => beginning.has_begun(),
            Some(
                InFlight::Left
                | InFlight::Overdue
                | InFlight::Timed
                | InFlight::Together(_)
                | InFlight::Task { .. },
            )
            | None => false,
        }
    }

    /// Returns the earliest deadline of the effects in flight.
    pub(in crate::engine) fn first_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(due, _)| *due)
    }

    /// True if a task is running, or a deadline is set that cannot be left to the engine's alarm.
    pub(in crate::engine) fn is_busy(&self) -> bool {
        let own = self.in_flight.iter();
        let own = own.filter(|(effect, _)| due_of(effect).is_none());
        own.map(|(_, in_flight)| in_flight).any(|it| match it {
            InFlight::Left | InFlight::Overdue => false,
            InFlight::Timed => true,
            InFlight::Together(task) => !task.is_finished(),
            InFlight::Task { task, .. } | InFlight::Run { task, .. } => !task.is_finished(),
        })
    }
}

impl InFlight {
    fn stop(&self) {
        match self {
            InFlight::Left | InFlight::Overdue | InFlight::Timed | InFlight::Together(_) => {}
            InFlight::Task { task, cancelled } => {
                cancelled.cancel();
                task.abort();
            }
            InFlight::Run {
                task,
                cancelled,
                slot,
                ..
            } => {
                cancelled.cancel();
                task.abort();
                slot.release();
            }
        }
    }
}

impl Drop for Performer {
    /// Stops all effects, so that none outlives the session's task.
    fn drop(&mut self) {
        self.in_flight.values().for_each(InFlight::stop);
    }
}

/// Returns the due time of an effect for which the session needs no task meanwhile.
pub(in crate::engine) fn due_of(effect: &Effect) -> Option<Timestamp> {
    match effect {
        Effect::ArmTimer {
            deadline: Deadline::Confirmation { .. } | Deadline::Lease { .. },
            due_us,
        } => Some(*due_us),
        // The others belong to a call that runs or soon will, or to the live connection: without
        // it, no call is acknowledged.
        Effect::ArmTimer {
            deadline:
                Deadline::Run { .. } | Deadline::Retry { .. } | Deadline::Acknowledgement { .. },
            ..
        }
        | Effect::RunTool { .. }
        | Effect::AskHook { .. }
        | Effect::AskConfirmation { .. }
        | Effect::SendResponse { .. }
        | Effect::SendInstruction { .. }
        | Effect::CloseSession { .. }
        | Effect::Connect => None,
    }
}
