//! The records of a session, as its pages read them.

use std::collections::BTreeMap;

use recount::ledger::{Entry, Ledger};
use recount::session::{Actor, ActorKind, Event, Fact, Observation, Seq, SessionId, Timestamp};
use recount_telling::{Names, Tone, acted, party, sentence};

use crate::problems::Problem;

/// The maximum number of records on a page. The older ones of a longer session are left out.
const RECORDS_MAX: u64 = 10_000;

/// The maximum size of these records, in bytes. A record has up to 3 MiB.
const BYTES_MAX: usize = 64 << 20;

/// The number of records in one read.
const READ: usize = 256;

/// The word for the party of a decision.
const ENGINE: &str = "engine";

/// The word for the party behind a call of the API, who may be a person or a program: the record
/// says which only if the client has said it.
const CLIENT: &str = "client";

/// The newest records of a session, oldest first.
pub(super) struct History {
    /// The records as facts, for the timeline. Without those that cannot be read.
    pub(super) facts: Vec<Fact>,
    pub(super) rows: Vec<Row>,
    /// The number of older records that are left out.
    pub(super) left_out: u64,
    /// True if a record is sealed, or of a kind that this version does not know.
    pub(super) has_unread: bool,
}

/// A record as a sentence.
pub(super) struct Row {
    pub(super) seq: Seq,
    pub(super) at: Timestamp,
    pub(super) kind: String,
    pub(super) who: &'static str,
    pub(super) text: String,
    pub(super) tone: Tone,
    /// The call that it is about.
    pub(super) call: Option<Seq>,
    /// The body as JSON. `None` if it is sealed.
    pub(super) body: Option<String>,
}

impl History {
    /// Reads the newest records up to `last`.
    pub(super) async fn read(
        ledger: &Ledger,
        session: SessionId,
        last: Seq,
    ) -> Result<History, Problem> {
        let left_out = last.0.saturating_sub(RECORDS_MAX);
        let mut history = History {
            facts: Vec::new(),
            rows: Vec::new(),
            left_out,
            has_unread: false,
        };
        let (mut telling, mut bytes) = (Telling::default(), 0);
        let mut next = Seq(left_out).next();
        while next <= last && bytes < BYTES_MAX {
            let entries = ledger.entries(session, next, READ).await?;
            let Some(end) = entries.last() else { break };
            next = end.seq.next();
            for entry in entries.iter().filter(|it| it.seq <= last) {
                bytes += entry.line.bytes().len();
                match entry.fact() {
                    Ok(fact) => {
                        history.rows.push(telling.row(&fact, entry));
                        history.facts.push(fact);
                    }
                    Err(_) => {
                        history.has_unread = true;
                        history.rows.push(unread(entry));
                    }
                }
            }
            // Other requests of the thread have their turn.
            tokio::task::yield_now().await;
        }
        Ok(history)
    }

    /// The kinds of the records, with their numbers.
    pub(super) fn kinds(&self) -> BTreeMap<&str, usize> {
        let mut kinds = BTreeMap::new();
        for row in &self.rows {
            *kinds.entry(row.kind.as_str()).or_default() += 1;
        }
        kinds
    }
}

/// The names and calls that earlier records have.
#[derive(Default)]
struct Telling {
    names: Names,
    /// The call of each record that is about one.
    calls: BTreeMap<Seq, Seq>,
}

impl Telling {
    fn row(&mut self, fact: &Fact, entry: &Entry) -> Row {
        self.names.learn(fact);
        let said = sentence(&fact.event, &self.names);
        let call = self.call_of(fact);
        if let Some(call) = call {
            self.calls.insert(fact.seq, call);
        }
        let caller = caller(&fact.event);
        let who = match &fact.event {
            Event::Observed(_) if caller.is_some_and(|it| it.acted_as.is_none()) => CLIENT,
            Event::Observed(observation) => party(observation.actor()),
            Event::Decided(_) => ENGINE,
        };
        let text = match caller {
            Some(by) => format!("{} {}", acted("", by).trim_start(), said.text),
            None => said.text,
        };
        Row {
            seq: fact.seq,
            at: fact.at,
            kind: fact.event.kind().to_owned(),
            who,
            text,
            tone: said.tone,
            call,
            body: entry.body().ok().map(str::to_owned),
        }
    }

    fn call_of(&self, fact: &Fact) -> Option<Seq> {
        let record = match &fact.event {
            Event::Decided(decision) => decision.call()?,
            Event::Observed(observation) if observation.kind() == "function_call_received" => {
                return Some(fact.seq);
            }
            Event::Observed(observation) => observation.about()?,
        };
        // A record about a request or a response is about its call.
        self.calls.get(&record).copied()
    }
}

/// The person or program that made a call. `None` for a call of a model, and for other events.
fn caller(event: &Event) -> Option<&Actor> {
    match event {
        Event::Observed(Observation::FunctionCallReceived(it)) => it.by.as_ref(),
        Event::Observed(_) | Event::Decided(_) => None,
    }
}

/// A record whose body cannot be read here.
fn unread(entry: &Entry) -> Row {
    let why = match entry.is_sealed() && entry.body().is_err() {
        true => "(sealed; its key is not here)",
        false => "(not known to this version)",
    };
    Row {
        seq: entry.seq,
        at: entry.at(),
        kind: entry.kind().to_owned(),
        who: entry
            .record()
            .map_or("", |it| match it.actor.kind.as_ref() {
                "model" => party(ActorKind::Model),
                "user" => party(ActorKind::User),
                "tool" => party(ActorKind::Tool),
                "person" => party(ActorKind::Person),
                "program" => party(ActorKind::Program),
                "clock" => party(ActorKind::Clock),
                _ => ENGINE,
            }),
        text: format!("{} {why}", entry.kind()),
        tone: Tone::Quiet,
        call: None,
        body: entry.body().ok().map(str::to_owned),
    }
}
