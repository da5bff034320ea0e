//! What of a session is compared: its turns, its calls, and what was decided and reported about each.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::change::in_order;
use crate::ledger::{Error, Ledger};
use crate::replay::Tree;
use crate::session::{
    Decision, Event, Fact, Json, Observation, Seq, Session, SessionId, SessionOpened, Speaker,
    evolve,
};

/// How many records are read at a time.
const PAGE: usize = 1024;

/// Whether times and ids count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exactness {
    /// Two runs of the same conversation are the same.
    #[default]
    Meaning,
    /// Every field counts that is on record.
    Record,
}

/// A session as it is compared with another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// What the session as a whole is known by: `agent`, `model`, `rules`, and `closed`, the reason of its close. Where ids count, also `program`,
    /// `external_id`, `on_behalf_of`, and each label, as `labels/channel`.
    pub about: BTreeMap<String, String>,
    /// The turns, in their order; the last one may not have ended.
    pub turns: Vec<Turn>,
    /// The calls of all turns, in the order in which they came.
    pub calls: Vec<CallTold>,
}

/// What was said until the model had ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// What the user wrote, and what was heard of the user.
    pub user: String,
    /// What the model wrote, and what was heard of it.
    pub model: String,
    /// The phases that were entered.
    pub phases: Vec<String>,
    /// Whether the user cut it short.
    pub interrupted: bool,
}

/// A call, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTold {
    /// Its record.
    pub seq: Seq,
    /// Its turn, from 0.
    pub turn: usize,
    /// The tool.
    pub tool: String,
    /// The arguments, as they are on record.
    pub args: Json,
    /// The policy of the tool that held when the call came.
    pub policy: Json,
    /// What the engine decided, a kind and a body each.
    pub decisions: Vec<String>,
    /// What the tool, the clock and persons reported, a kind and a body each.
    pub reports: Vec<String>,
}

/// Reads a session as it is compared.
///
/// # Errors
/// Whatever keeps the journal from being read; [`Error::UnknownSession`] where it has no record of the session.
pub async fn told(
    ledger: &Ledger,
    session: SessionId,
    exactness: Exactness,
) -> Result<Story, Error> {
    let mut telling = Telling::new(exactness);
    let mut state = Session::new(session);
    loop {
        let facts = ledger.facts(session, state.head.next(), PAGE).await?;
        if facts.is_empty() {
            break;
        }
        for fact in &facts {
            ledger.provide(&mut state, fact).await?;
            state = evolve(state, fact);
            telling.hear(&state, fact);
        }
    }
    if state.head == Seq(0) {
        return Err(Error::UnknownSession { session });
    }
    Ok(telling.story())
}

/// A story as it grows.
struct Telling {
    exactness: Exactness,
    session: BTreeMap<String, String>,
    turns: Vec<Turn>,
    turn: Turn,
    /// Whether anything has happened in the turn.
    begun: bool,
    calls: BTreeMap<Seq, CallTold>,
    /// The call that a record is about.
    about: BTreeMap<Seq, Seq>,
}

impl Telling {
    fn new(exactness: Exactness) -> Telling {
        Telling {
            exactness,
            session: BTreeMap::new(),
            turns: Vec::new(),
            turn: Turn::default(),
            begun: false,
            calls: BTreeMap::new(),
            about: BTreeMap::new(),
        }
    }

    fn hear(&mut self, session: &Session, fact: &Fact) {
        match &fact.event {
            Event::Decided(Decision::PhaseEntered(it)) => {
                self.begun = true;
                self.turn.phases.push(it.phase.clone());
            }
            Event::Decided(decision) => {
                if let Some(call) = decision.call() {
                    self.about.insert(fact.seq, call);
                    let line = self.line(&fact.event);
                    if let Some(call) = self.calls.get_mut(&call) {
                        call.decisions.push(line);
                    }
                }
            }
            Event::Observed(observation) => self.observe(session, fact, observation),
        }
    }

    fn observe(&mut self, session: &Session, fact: &Fact, observation: &Observation) {
        if let Observation::FunctionCallReceived(it) = observation {
            self.begun = true;
            let tool = it.name.clone().unwrap_or_default();
            let policy = session.terms.policies.of(&tool);
            let call = CallTold {
                seq: fact.seq,
                turn: self.turns.len(),
                policy: Json::of_serialized(&policy),
                tool,
                args: it.args.clone().unwrap_or_else(Json::empty_object),
                decisions: Vec::new(),
                reports: Vec::new(),
            };
            self.calls.insert(fact.seq, call);
        } else if let Observation::UserTextSent(it) = observation {
            self.said(Speaker::User, &it.text);
        } else if let Observation::TranscriptReceived(it) = observation {
            self.said(it.speaker, &it.text);
        } else if let Observation::ModelOutputReceived(it) = observation {
            self.said(Speaker::Model, &it.text);
        } else if let Observation::TurnCompleted(_) = observation {
            self.end_turn(false);
        } else if let Observation::TurnInterrupted(_) = observation {
            self.end_turn(true);
        } else if let Observation::SessionOpened(it) = observation {
            self.opened(it);
        } else if let Observation::RunnerAttached(it) = observation {
            self.known_by("rules", &it.rules.to_string());
        } else if let Observation::Connected(it) = observation {
            self.known_by("model", &it.model);
        } else if let Observation::SessionClosed(it) = observation {
            self.known_by("closed", &it.reason);
        } else if let Observation::ResponsesSent(_) = observation {
            // When something left is no part of the story.
        } else if let Some(about) = observation.provenance().about {
            let call = self.about.get(&about).copied().unwrap_or(about);
            let line = self.line(&fact.event);
            if let Some(call) = self.calls.get_mut(&call) {
                self.about.insert(fact.seq, call.seq);
                call.reports.push(line);
            }
        }
    }

    fn opened(&mut self, opened: &SessionOpened) {
        self.known_by("agent", &opened.agent);
        self.known_by("rules", &opened.rules.to_string());
        match self.exactness {
            Exactness::Meaning => {}
            Exactness::Record => {
                self.known_by("program", &opened.program);
                let names = [
                    ("external_id", &opened.external_id),
                    ("on_behalf_of", &opened.on_behalf_of),
                ];
                for (field, name) in names {
                    name.iter().for_each(|name| self.known_by(field, name));
                }
                for (label, value) in &opened.labels {
                    self.known_by(&format!("labels/{label}"), value);
                }
            }
        }
    }

    fn known_by(&mut self, field: &str, value: &str) {
        self.session.insert(field.to_owned(), value.to_owned());
    }

    fn said(&mut self, speaker: Speaker, text: &str) {
        self.begun = true;
        match speaker {
            Speaker::User => self.turn.user.push_str(text),
            Speaker::Model => self.turn.model.push_str(text),
        }
    }

    fn end_turn(&mut self, interrupted: bool) {
        // A turn that was cut short is told to have ended, too.
        if !std::mem::take(&mut self.begun) {
            return;
        }
        let turn = std::mem::take(&mut self.turn);
        self.turns.push(Turn {
            interrupted,
            ..turn
        });
    }

    fn story(mut self) -> Story {
        self.end_turn(false);
        Story {
            about: self.session,
            turns: self.turns,
            calls: self.calls.into_values().collect(),
        }
    }

    fn line(&self, event: &Event) -> String {
        // An event of ours always writes itself.
        let body = event.body().unwrap_or_default();
        match self.exactness {
            Exactness::Record => format!("{} {body}", event.kind()),
            Exactness::Meaning => {
                let body = Json::parse(&body).map(|it| in_order(&it));
                let meant = body.map(|it| without_names(it.raw()));
                format!("{} {}", event.kind(), meant.unwrap_or_default())
            }
        }
    }
}

/// The fields of our own events that name records, connections, runners and hashes of what is compared by itself.
const NAMES: [&str; 11] = [
    "call",
    "of",
    "request",
    "asked",
    "runner",
    "epoch",
    "policies",
    "args_sha256",
    "contract",
    "contract_before",
    "declaration",
];

/// The fields whose content is an object of ours; what others hold is a tool's, or a person's.
const OURS: [&str; 9] = [
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

/// The body of an event without times and names.
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
