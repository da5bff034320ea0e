//! The story of a session in a journal.

use serde_json::value::RawValue;

use super::change::in_order;
use super::story::{Place, Story, StoryBuilder};
use crate::ledger::{Error, Ledger};
use crate::replay::Tree;
use crate::session::{
    Author, Decision, Event, Fact, Json, Observation, Seq, Session, SessionId, SessionOpened,
    Speaker, StateChanged, evolve,
};

/// The number of records in one read.
const PAGE: usize = 1024;

/// The precision of a comparison: whether times and ids count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exactness {
    /// Times and ids do not count: two runs of the same conversation are equal.
    #[default]
    Meaning,
    /// Every record counts, also those about runners and connections: with its time, its cause, and
    /// all fields of its body. The session's own id, and the hash chain that contains it, do not
    /// count.
    Record,
}

/// Reads the story of a session.
///
/// # Errors
/// An error of the journal. [`Error::UnknownSession`] if the journal has no record of the session.
pub async fn told(
    ledger: &Ledger,
    session: SessionId,
    exactness: Exactness,
) -> Result<Story, Error> {
    let mut fold = StoryFold {
        exactness,
        builder: StoryBuilder::default(),
    };
    read(ledger, session, |state, fact| fold.apply(state, fact)).await?;
    Ok(fold.builder.story())
}

/// Reads a session. `see` receives each fact with the session state after it.
pub(super) async fn read(
    ledger: &Ledger,
    session: SessionId,
    mut see: impl FnMut(&Session, &Fact),
) -> Result<(), Error> {
    let mut state = Session::new(session);
    loop {
        let facts = ledger.facts(session, state.head.next(), PAGE).await?;
        if facts.is_empty() {
            break;
        }
        for fact in &facts {
            ledger.provide(&mut state, fact).await?;
            state = evolve(state, fact);
            see(&state, fact);
        }
    }
    if state.head == Seq(0) {
        return Err(Error::UnknownSession { session });
    }
    Ok(())
}

/// The policy of a tool, as it is compared.
pub(super) fn policy_of(session: &Session, tool: &str) -> Json {
    Json::of_serialized(&session.terms.policies.of(tool))
}

/// The fold of a session into a story.
struct StoryFold {
    exactness: Exactness,
    builder: StoryBuilder,
}

impl StoryFold {
    fn apply(&mut self, session: &Session, fact: &Fact) {
        match &fact.event {
            Event::Decided(Decision::PhaseEntered(it)) => {
                self.exactly(fact);
                self.builder.enter(&it.phase);
            }
            Event::Decided(decision) => {
                if let Some(call) = decision.call() {
                    let line = self.line(fact);
                    self.builder.decide(fact.seq.0, call.0, line);
                } else {
                    self.exactly(fact);
                }
            }
            Event::Observed(observation) => self.observe(session, fact, observation),
        }
    }

    fn observe(&mut self, session: &Session, fact: &Fact, observation: &Observation) {
        match observation {
            Observation::FunctionCallReceived(it) => {
                let tool = it.name.as_deref().unwrap_or_default();
                // Arguments that are no object are compared as their original text.
                let malformed = it.malformed_args.as_ref();
                let malformed = malformed.map(|it| Json::of(&it.text.as_str().into()));
                let args = it.args.clone().or(malformed);
                let args = args.unwrap_or_else(Json::empty_object);
                let (place, policy) = (Place::Seq(fact.seq), policy_of(session, tool));
                self.builder.call(fact.seq.0, place, tool, args, policy);
                match self.exactness {
                    Exactness::Meaning => {}
                    Exactness::Record => self.reported(fact, fact.seq),
                }
            }
            Observation::UserTextSent(it) => {
                self.exactly(fact);
                self.builder.say(Speaker::User, &it.text);
            }
            Observation::TranscriptReceived(it) => {
                self.exactly(fact);
                self.builder.say(it.speaker, &it.text);
            }
            Observation::ModelOutputReceived(it) => {
                self.exactly(fact);
                self.builder.say(Speaker::Model, &it.text);
            }
            Observation::TurnCompleted(_) => {
                self.exactly(fact);
                self.builder.end_turn(false);
            }
            Observation::TurnInterrupted(_) => {
                self.exactly(fact);
                self.builder.end_turn(true);
            }
            Observation::SessionOpened(it) => {
                self.opened(it);
                self.exactly(fact);
            }
            Observation::RunnerAttached(it) => {
                self.builder.known_by("rules", &it.rules.to_string());
                self.exactly(fact);
            }
            Observation::Connected(it) => {
                self.builder.known_by("model", &it.model);
                self.exactly(fact);
            }
            Observation::SessionClosed(it) => {
                self.builder.known_by("closed", &it.reason);
                self.exactly(fact);
            }
            Observation::Paused(_)
            | Observation::Unpaused(_)
            | Observation::StateChanged(StateChanged {
                author: Author::Program(_) | Author::Hook(_),
                ..
            }) => {
                let line = self.line(fact);
                self.builder.add_event(Place::Seq(fact.seq), line);
            }
            Observation::StateChanged(_)
            | Observation::HookAnswered(_)
            | Observation::ToolReturned(_)
            | Observation::ToolYielded(_)
            | Observation::ToolPaused(_)
            | Observation::ToolAsked(_)
            | Observation::ToolEventEmitted(_)
            | Observation::LlmAsked(_)
            | Observation::LlmReplied(_)
            | Observation::ConfirmationAnswered(_)
            | Observation::ApprovalGiven(_)
            | Observation::AnswerRefused(_)
            | Observation::LeaveRevoked(_)
            | Observation::ResponseSupplied(_)
            | Observation::OutcomeFound(_)
            | Observation::CallClaimed(_)
            | Observation::ClaimEnded(_)
            | Observation::DeadlinePassed(_)
            | Observation::OperatorCancelled(_) => {
                let about = observation.about();
                match about.filter(|it| self.builder.is_of_call(it.0)) {
                    Some(about) => self.reported(fact, about),
                    None => self.exactly(fact),
                }
            }
            // Runners, renewals and connections differ from run to run. The effect of a
            // cancellation by the model shows in the decisions about the calls.
            Observation::RunnerDetached(_)
            | Observation::RunnerDraining(_)
            | Observation::LeaseRenewed(_)
            | Observation::CatalogChanged(_)
            | Observation::Disconnected(_)
            | Observation::GoAwayReceived(_)
            | Observation::SwitchPlanned(_)
            | Observation::ReconnectScheduled(_)
            | Observation::ConnectFailed(_)
            | Observation::ReconnectsExhausted(_)
            | Observation::HistorySent(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::CallCancellationReceived(_)
            | Observation::ResponsesSent(_)
            | Observation::InstructionSent(_)
            | Observation::MediaCounted(_)
            | Observation::UsageReported(_)
            | Observation::FrameRejected(_) => self.exactly(fact),
        }
    }

    /// Adds a report about a record of a call.
    fn reported(&mut self, fact: &Fact, about: Seq) {
        let line = self.line(fact);
        self.builder.report(fact.seq.0, about.0, line);
    }

    /// Adds the whole record as an event if ids count. Used for records that are not part of the
    /// story, or only in other words.
    fn exactly(&mut self, fact: &Fact) {
        match self.exactness {
            Exactness::Meaning => {}
            Exactness::Record => {
                let line = self.line(fact);
                self.builder.add_event(Place::Seq(fact.seq), line);
            }
        }
    }

    fn opened(&mut self, opened: &SessionOpened) {
        let builder = &mut self.builder;
        builder.known_by("agent", &opened.agent);
        builder.known_by("rules", &opened.rules.to_string());
        match self.exactness {
            Exactness::Meaning => {}
            Exactness::Record => {
                builder.known_by("program", &opened.program);
                let names = [
                    ("external_id", &opened.external_id),
                    ("on_behalf_of", &opened.on_behalf_of),
                ];
                for (field, name) in names {
                    name.iter().for_each(|name| builder.known_by(field, name));
                }
                for (label, value) in &opened.labels {
                    builder.known_by(&format!("labels/{label}"), value);
                }
            }
        }
    }

    fn line(&self, fact: &Fact) -> String {
        let event = &fact.event;
        // An event of this library always serializes.
        let body = event.body().unwrap_or_default();
        match self.exactness {
            Exactness::Record => {
                let cause = fact.cause.map(|it| format!(" cause={it}"));
                let (kind, at, cause) = (event.kind(), fact.at.0, cause.unwrap_or_default());
                format!("{kind} at_us={at}{cause} {body}")
            }
            Exactness::Meaning => {
                let meant = match Json::parse(&body).map(|it| in_order(&it)) {
                    Ok(body) => without_names(body.raw()),
                    // A body that is too deep for the canonical order is compared as it is.
                    Err(_) => match RawValue::from_string(body) {
                        Ok(body) => without_names(&body),
                        Err(error) => error.to_string(),
                    },
                };
                format!("{} {meant}", event.kind())
            }
        }
    }
}

/// The fields of recorded events that hold records, connections or runners, or hashes of data that
/// is compared itself.
const NAMES: [&str; 14] = [
    "claim",
    "call",
    "leave",
    "of",
    "request",
    "unanswered",
    "asked",
    "runner",
    "epoch",
    "policies",
    "args_sha256",
    "contract",
    "contract_before",
    "declaration",
];

/// The fields whose value is an object of this library. Other objects belong to a tool or a person.
const OURS: [&str; 11] = [
    "lease",
    "allow_for",
    "route",
    "question",
    "deadline",
    "run",
    "retry",
    "confirmation",
    "inputs",
    "author",
    "tool",
];

/// The body of an event without times and references.
fn without_names(body: &RawValue) -> String {
    let Tree::Members(fields) = Tree::of(body) else {
        return body.get().to_owned();
    };
    let counts = |name: &str| !NAMES.contains(&name) && !name.ends_with("_us");
    let kept = fields.iter().filter(|(name, _)| counts(name));
    let written = kept.map(|(name, value)| {
        let value = if OURS.contains(&name.as_str()) {
            without_names(value)
        } else {
            value.get().to_owned()
        };
        format!("{name:?}:{value}")
    });
    format!("{{{}}}", written.collect::<Vec<_>>().join(","))
}
