//! Translation of a session's facts to ADK events.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::event::{Actions, Call, Content, Event, Part, Spoken};
use super::translated_calls::{CardEnd, Withheld};
use crate::session::{
    Decision, Fact, Json, Observation, ResponseIssued, Seq, Session, SessionId, Speaker,
    StateChanged, evolve,
};

/// Translates the facts of one session, in order from the first.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    pub(super) session: Session,
    /// The first record of the current turn.
    pub(super) turn: Seq,
    turn_over: bool,
    /// The model's text since the last event that showed it.
    said: String,
    /// The model's call ids that are in use towards the client.
    pub(super) shown: BTreeSet<String>,
    /// The open calls, each as it was shown and with its turn.
    pub(super) calls: BTreeMap<Seq, (Call, Seq)>,
    /// Responses of the engine that wait for a hook.
    pub(super) withheld: BTreeMap<Seq, Withheld>,
    /// The `response_supplied` records that were shown and not yet sent to the model.
    pub(super) supplied: BTreeSet<Seq>,
}

impl Translation {
    pub(crate) fn new(session: SessionId) -> Translation {
        Translation {
            session: Session::new(session),
            turn: Seq(1),
            turn_over: false,
            said: String::new(),
            shown: BTreeSet::new(),
            calls: BTreeMap::new(),
            withheld: BTreeMap::new(),
            supplied: BTreeSet::new(),
        }
    }

    /// The session, folded up to the last translated fact. Objects that a fact names must be in its
    /// library before that fact is translated.
    pub(crate) fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// The record that holds a fact's response, if the fact only refers to it.
    pub(crate) fn refers_to(fact: &Fact) -> Option<Seq> {
        match &fact.event {
            crate::session::Event::Decided(Decision::ResponseIssued(ResponseIssued {
                response: None,
                of,
                ..
            })) => *of,
            crate::session::Event::Decided(_) | crate::session::Event::Observed(_) => None,
        }
    }

    /// Returns the events for one fact. `referred` is the response in the record to which the fact
    /// [refers](Translation::refers_to).
    pub(crate) fn translate(&mut self, fact: &Fact, referred: Option<Json>) -> Vec<Event> {
        let id = self.session.id;
        let before = std::mem::replace(&mut self.session, Session::new(id));
        self.session = evolve(before, fact);
        let mut events = match &fact.event {
            crate::session::Event::Observed(it) => self.observed(fact, it),
            crate::session::Event::Decided(it) => self.decided(fact, it, referred),
        };
        events.extend(self.released(fact));
        for (event, number) in events.iter_mut().zip(0..) {
            event.id = self.name("event", fact.seq, number);
        }
        events
    }

    fn observed(&mut self, fact: &Fact, observation: &Observation) -> Vec<Event> {
        if let Observation::UserTextSent(it) = observation {
            let mut events: Vec<Event> = self.spoken(fact).into_iter().collect();
            self.turn_over = true;
            self.begin_turn(fact.seq);
            events.push(self.says(fact, "user", Part::Text(it.text.clone())));
            events
        } else if let Observation::ModelOutputReceived(it) = observation {
            self.begin_turn(fact.seq);
            self.said.push_str(&it.text);
            Vec::new()
        } else if let Observation::TranscriptReceived(it) = observation {
            self.begin_turn(fact.seq);
            let spoken = Some(Spoken {
                text: it.text.clone(),
            });
            let mut event = match it.speaker {
                Speaker::User => self.event(fact, "user"),
                Speaker::Model => self.by_agent(fact),
            };
            match it.speaker {
                Speaker::User => event.input_transcription = spoken,
                Speaker::Model => event.output_transcription = spoken,
            }
            vec![event]
        } else if let Observation::TurnCompleted(_) = observation {
            let mut event = self.spoken(fact).unwrap_or_else(|| self.by_agent(fact));
            event.turn_complete = true;
            self.turn_over = true;
            vec![event]
        } else if let Observation::TurnInterrupted(_) = observation {
            let mut event = self.spoken(fact).unwrap_or_else(|| self.by_agent(fact));
            event.interrupted = true;
            vec![event]
        } else if let Observation::FunctionCallReceived(it) = observation {
            let mut events: Vec<Event> = self.spoken(fact).into_iter().collect();
            events.extend(self.called(fact, it));
            events
        } else if let Observation::ConfirmationAnswered(it) = observation {
            self.confirmed(fact, it).into_iter().collect()
        } else if let Observation::ResponseSupplied(it) = observation {
            self.answered(fact, it).into_iter().collect()
        } else if let Observation::HookAnswered(it) = observation {
            self.reworded(fact, it).into_iter().collect()
        } else if let Observation::StateChanged(it) = observation {
            vec![self.written(fact, it)]
        } else {
            Vec::new()
        }
    }

    fn decided(&mut self, fact: &Fact, decision: &Decision, referred: Option<Json>) -> Vec<Event> {
        let events = match decision {
            Decision::ResponseIssued(it) => [self.issued(fact, it, referred), None],
            Decision::CallCancelled(it) => [self.cancelled(fact, it), None],
            Decision::ConfirmationRequested(it) => [self.asked(fact, it), None],
            Decision::ConfirmationExpired(it) => {
                let end = match it.goes_on {
                    true => CardEnd::AllowedUnanswered,
                    false => CardEnd::Expired,
                };
                let ended = self.unanswered(fact, it.call, it.request, end);
                [ended, None]
            }
            Decision::ConfirmationWithdrawn(it) => {
                let why = CardEnd::Withdrawn(it.reason);
                [self.unanswered(fact, it.call, it.request, why), None]
            }
            Decision::ConfirmationReopened(it) => {
                let (call, anew) = (it.question.call, &it.question);
                let ended = self.unanswered(fact, call, it.request, CardEnd::Superseded);
                [ended, self.asked(fact, anew)]
            }
            Decision::PolicyDecided(_)
            | Decision::GateWaived(_)
            | Decision::LeaveUsed(_)
            | Decision::CallReady(_)
            | Decision::ResultReused(_)
            | Decision::OutcomeReconciled(_)
            | Decision::CallStarted(_)
            | Decision::BackgroundSpawned(_)
            | Decision::RetryScheduled(_)
            | Decision::DeliveryChosen(_)
            | Decision::PhaseEntered(_) => [None, None],
        };
        events.into_iter().flatten().collect()
    }

    fn written(&self, fact: &Fact, it: &StateChanged) -> Event {
        let mut event = self.by_agent(fact);
        let written = it.changes.iter().cloned();
        event.actions.state_delta = written.map(|it| (it.key, it.value)).collect();
        event
    }

    /// The model's text since the last event that showed it, as an event.
    fn spoken(&mut self, fact: &Fact) -> Option<Event> {
        let said = std::mem::take(&mut self.said);
        (!said.is_empty()).then(|| self.says(fact, &self.agent(), Part::Text(said)))
    }

    pub(super) fn says(&self, fact: &Fact, author: &str, part: Part) -> Event {
        let mut event = self.event(fact, author);
        event.content = Some(Content {
            role: if author == "user" { "user" } else { "model" },
            parts: vec![part],
        });
        event
    }

    pub(super) fn by_agent(&self, fact: &Fact) -> Event {
        self.event(fact, &self.agent())
    }

    fn event(&self, fact: &Fact, author: &str) -> Event {
        Event {
            id: String::new(),
            timestamp: seconds(fact.at.0),
            invocation_id: self.invocation(self.turn),
            author: author.to_owned(),
            content: None,
            long_running_tool_ids: None,
            actions: Actions::default(),
            turn_complete: false,
            interrupted: false,
            input_transcription: None,
            output_transcription: None,
        }
    }

    /// Starts a new turn if the previous one is over.
    pub(super) fn begin_turn(&mut self, seq: Seq) {
        if std::mem::take(&mut self.turn_over) {
            self.turn = seq;
        }
    }

    pub(super) fn agent(&self) -> String {
        self.session.agent.clone().unwrap_or_default()
    }

    pub(super) fn invocation(&self, turn: Seq) -> String {
        format!("e-{}", self.name("invocation", turn, 0))
    }

    /// Returns a name that each process derives from the same inputs.
    fn name(&self, what: &str, seq: Seq, number: u32) -> String {
        let name = format!("adk-{what}:{seq}:{number}");
        Uuid::new_v5(&self.session.id.0, name.as_bytes()).to_string()
    }
}

/// Converts microseconds to seconds. A double is exact to the microsecond for the next two
/// centuries.
fn seconds(us: i64) -> f64 {
    let whole = us.div_euclid(1_000_000);
    let rest = us.rem_euclid(1_000_000);
    // Both numbers are far below 2^53.
    whole as f64 + rest as f64 / 1e6
}
