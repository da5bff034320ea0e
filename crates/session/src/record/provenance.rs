//! The origin of observations: the actor, the record they are about, and the live connection.

use super::observation::{Author, Deadline, Observation, Speaker};
use crate::values::actor::{ActedAs, Actor, ActorKind};
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// The origin of an observation.
pub(crate) struct Provenance<'a> {
    /// The kind of party that caused it.
    pub(crate) actor: ActorKind,
    /// The named party, if there is one.
    pub(crate) by: Option<&'a Actor>,
    /// The record that the observation is about.
    pub(crate) about: Option<Seq>,
    /// The connection on which the server showed that it is alive. Traffic after a send proves that
    /// the send arrived.
    pub(crate) heard_on: Option<Seq>,
}

impl<'a> Provenance<'a> {
    fn of(actor: ActorKind) -> Provenance<'a> {
        Provenance {
            actor,
            by: None,
            about: None,
            heard_on: None,
        }
    }

    fn heard(actor: ActorKind, epoch: Seq) -> Provenance<'a> {
        Provenance {
            heard_on: Some(epoch),
            ..Provenance::of(actor)
        }
    }

    fn by(actor: &'a Actor) -> Provenance<'a> {
        let kind = match actor.acted_as {
            Some(ActedAs::Program(_)) => ActorKind::Program,
            Some(ActedAs::Person) | None => ActorKind::Person,
        };
        Provenance {
            by: Some(actor),
            ..Provenance::of(kind)
        }
    }

    fn about(self, record: Seq) -> Provenance<'a> {
        Provenance {
            about: Some(record),
            ..self
        }
    }
}

impl Observation {
    /// Returns the kind of party that caused the observation.
    ///
    /// ```
    /// use recount_session::{Actor, ActorKind, Observation, SessionClosed};
    ///
    /// let by = Actor::embedder("ada");
    /// let closed = SessionClosed { by: by.clone(), reason: "done".into() };
    /// let closed = Observation::SessionClosed(closed);
    /// assert_eq!((closed.actor(), closed.by()), (ActorKind::Person, Some(&by)));
    /// ```
    pub fn actor(&self) -> ActorKind {
        self.provenance().actor
    }

    /// Returns the named party that caused the observation, if there is one.
    pub fn by(&self) -> Option<&Actor> {
        self.provenance().by
    }

    /// Returns the record that the observation is about.
    #[doc(hidden)]
    #[must_use]
    pub fn about(&self) -> Option<Seq> {
        self.provenance().about
    }

    /// Returns the origin of the observation.
    pub(crate) fn provenance(&self) -> Provenance<'_> {
        use ActorKind::{Clock, Engine, Model, Tool, User};
        match self {
            Observation::SessionOpened(_)
            | Observation::RunnerAttached(_)
            | Observation::RunnerDetached(_)
            | Observation::RunnerDraining(_)
            | Observation::CatalogChanged(_)
            | Observation::ReconnectScheduled(_)
            | Observation::ConnectFailed(_)
            | Observation::ReconnectsExhausted(_)
            | Observation::Connected(_)
            | Observation::MediaCounted(_) => Provenance::of(Engine),
            Observation::Disconnected(it) => Provenance::of(Engine).about(it.epoch),
            Observation::SwitchPlanned(it) => Provenance::of(Engine).about(it.epoch),
            Observation::HistorySent(it) => Provenance::of(Engine).about(it.epoch),
            Observation::ResponsesSent(it) => Provenance {
                about: it.responses.first().copied(),
                ..Provenance::of(Engine)
            },
            Observation::GoAwayReceived(it) => Provenance::heard(Model, it.epoch),
            Observation::ResumptionHandleReceived(it) => Provenance::heard(Model, it.epoch),
            Observation::FunctionCallReceived(it) => match (&it.by, it.parent) {
                (Some(program), _) => Provenance::by(program),
                (None, Some(agent)) => Provenance::of(Model).about(agent),
                (None, None) => Provenance::heard(Model, it.epoch),
            },
            Observation::LlmAsked(it) => Provenance::of(Engine).about(it.call),
            Observation::LlmReplied(it) => Provenance::of(Model).about(it.call),
            Observation::CallCancellationReceived(it) => Provenance::heard(Model, it.epoch),
            Observation::ModelOutputReceived(it) => Provenance::heard(Model, it.epoch),
            Observation::TurnCompleted(it) => Provenance::heard(Model, it.epoch),
            Observation::TurnInterrupted(it) => Provenance::heard(Model, it.epoch),
            Observation::UsageReported(it) => Provenance::heard(Model, it.epoch),
            Observation::FrameRejected(it) => Provenance::heard(Engine, it.epoch),
            Observation::TranscriptReceived(it) => match it.speaker {
                Speaker::User => Provenance::heard(User, it.epoch),
                Speaker::Model => Provenance::heard(Model, it.epoch),
            },
            Observation::UserTextSent(_) => Provenance::of(User),
            Observation::InstructionSent(it) => Provenance::of(Engine).about(it.phase),
            Observation::HookAnswered(it) => match &it.by {
                Some(program) => Provenance::by(program),
                None => Provenance::of(Engine),
            }
            .about(it.of.unwrap_or(it.call)),
            Observation::ToolReturned(it) => Provenance::of(Tool).about(it.call),
            Observation::ToolYielded(it) => Provenance::of(Tool).about(it.call),
            Observation::ToolPaused(it) => Provenance::of(Tool).about(it.call),
            Observation::ToolAsked(it) => Provenance::of(Tool).about(it.call),
            Observation::ToolEventEmitted(it) => Provenance::of(Tool).about(it.call),
            Observation::StateChanged(it) => match &it.author {
                Author::Tool { call, .. } => Provenance::of(Tool).about(*call),
                Author::Hook(_) => Provenance::of(Engine),
                Author::Program(actor) => Provenance::by(actor),
            },
            Observation::ConfirmationAnswered(it) => Provenance::by(&it.by).about(it.request),
            Observation::ApprovalGiven(it) => Provenance::by(&it.by).about(it.request),
            Observation::AnswerRefused(it) => Provenance::by(&it.by).about(it.request),
            Observation::LeaveRevoked(it) => Provenance::by(&it.by).about(it.leave),
            Observation::ResponseSupplied(it) => Provenance::by(&it.by).about(it.call),
            Observation::OutcomeFound(it) => Provenance::by(&it.by).about(it.call),
            Observation::OperatorCancelled(it) => Provenance::by(&it.by).about(it.call),
            Observation::CallClaimed(it) => Provenance::by(&it.by).about(it.call),
            Observation::LeaseRenewed(it) => Provenance::by(&it.by).about(it.call),
            Observation::ClaimEnded(it) => Provenance::by(&it.by).about(it.call),
            Observation::SessionClosed(it) => Provenance::by(&it.by),
            Observation::Paused(it) => Provenance::by(&it.by),
            Observation::Unpaused(it) => Provenance::by(&it.by),
            Observation::DeadlinePassed(it) => Provenance::of(Clock).about(match it.deadline {
                Deadline::Run { call, .. }
                | Deadline::Retry { call, .. }
                | Deadline::Lease { call, .. }
                | Deadline::Acknowledgement { call } => call,
                Deadline::Confirmation { request, .. } => request,
            }),
        }
    }

    /// Returns the hashes of the objects that must be loaded before the observation can be folded.
    pub fn objects(&self) -> Vec<ObjectHash> {
        let named = self.terms_named();
        named.map_or_else(Vec::new, |(catalog, policies)| vec![catalog, policies])
    }

    /// Returns the hashes of the catalog and of the policies that apply from this record on, if the
    /// observation names them.
    pub fn terms_named(&self) -> Option<(ObjectHash, ObjectHash)> {
        if let Observation::RunnerAttached(it) = self {
            Some((it.catalog, it.policies))
        } else if let Observation::CatalogChanged(it) = self {
            Some((it.catalog, it.policies))
        } else {
            None
        }
    }

    /// Returns the number of the rules that decide from this record on, or that a program must know
    /// to read it, if the observation names one.
    pub fn rules(&self) -> Option<u32> {
        if let Observation::SessionOpened(it) = self {
            Some(it.rules)
        } else if let Observation::RunnerAttached(it) = self {
            Some(it.rules)
        } else if let Observation::CallClaimed(it) = self {
            Some(it.rules)
        } else if let Observation::LeaseRenewed(it) = self {
            Some(it.rules)
        } else if let Observation::Paused(it) = self {
            Some(it.rules)
        } else if let Observation::Unpaused(it) = self {
            Some(it.rules)
        } else if let Observation::ClaimEnded(it) = self {
            Some(it.rules)
        } else if let Observation::LeaveRevoked(it) = self {
            Some(it.rules)
        } else if let Observation::CatalogChanged(it) = self {
            Some(it.rules)
        } else {
            None
        }
    }
}
