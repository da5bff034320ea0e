//! The time of a what-if analysis of a session with 100,000 calls, in memory and from a journal on
//! disk.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench that meets the impossible must stop"
)]

#[path = "shared/machine.rs"]
mod machine;

use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recount::journal::{DiskJournal, Durability, block_on};
use recount::ledger::{Ledger, Seal, Tail};
use recount::replay::what_if::{self, CallReport, WhatIf};
use recount::session::{
    Actor, CacheChange, ConfirmationAnswered, Decision, Event, Fact, FunctionCallReceived,
    GateChange, Json, Library, Observation, PolicyChanges, ResponsesSent, Seq, Session, SessionId,
    Timestamp, ToolPolicyChanges, ToolReturned, TurnCompleted, evolve, open_work, step,
};
use recount::testing::{Toolbox, history, toolbox};
use serde_json::json;

/// The number of calls in the session. A test run uses a hundredth of them.
fn calls() -> u64 {
    if std::env::args().any(|arg| arg == "--bench") && !std::env::args().any(|arg| arg == "--test")
    {
        100_000
    } else {
        1_000
    }
}

/// A session that is fed with observations.
struct Recorder {
    session: Session,
    at: Timestamp,
    epoch: Seq,
    facts: Vec<Fact>,
}

impl Recorder {
    /// Records an observation. Returns the index of its record.
    fn observed(&mut self, observation: impl Into<Observation>) -> usize {
        self.at = self.at.after_ms(10);
        let empty = Session::new(SessionId(uuid::Uuid::nil()));
        let session = std::mem::replace(&mut self.session, empty);
        let done =
            step(session, self.at, observation.into()).expect("the decisions come to an end");
        self.session = done.session;
        let first = self.facts.len();
        self.facts.extend(done.facts);
        first
    }

    /// Records a whole call: received, confirmed if a person is asked, returned, and its response
    /// sent.
    fn call(&mut self, n: u64, tool: &str) {
        let epoch = self.epoch;
        let first = self.observed(FunctionCallReceived {
            epoch,
            id: Some(format!("c{n}")),
            name: Some(tool.to_owned()),
            args: Some(Json::of(&json!({"order": n, "cents": 4200}))),
            malformed_args: None,
            invalid_args: None,
            sealed_args: Vec::new(),
            original_args: None,
            by: None,
            parent: None,
            beyond_max: None,
            key: None,
        });
        let call = self.facts[first].seq;
        let asked = self.facts[first..]
            .iter()
            .find_map(|fact| match &fact.event {
                Event::Decided(Decision::ConfirmationRequested(_)) => Some(fact.seq),
                Event::Decided(_) | Event::Observed(_) => None,
            });
        if let Some(request) = asked {
            self.observed(ConfirmationAnswered {
                request,
                confirmed: true,
                reason: None,
                payload: None,
                edited_args: None,
                extra: None,
                found: None,
                allow_for: None,
                by: Actor::embedder("ada"),
            });
        }
        let returned = self.observed(ToolReturned {
            call,
            attempt: 1,
            failed: false,
            response: Json::of(&json!({"done": true})),
            error_kind: None,
            scheduling: None,
            ends_session: None,
        });
        let issued = self.facts[returned + 1].seq;
        self.observed(ResponsesSent {
            epoch,
            responses: vec![issued],
        });
        self.observed(TurnCompleted {
            epoch,
            reason: None,
        });
    }
}

/// A session in which every other call is gated. It has no resumption handle, so its responses stay
/// in the state until the end: a later handle might still cover them.
fn recorded(calls: u64, tools: &Toolbox) -> (Library, Vec<Fact>) {
    let begun = history().opened("support").attached(tools).connected();
    let mut recorder = Recorder {
        session: begun.session().clone(),
        at: begun.now(),
        epoch: begun.epoch(),
        facts: begun.facts().to_vec(),
    };
    for n in 0..calls / 2 {
        recorder.call(2 * n, "look");
        recorder.call(2 * n + 1, "pay");
    }
    (begun.session().library().clone(), recorder.facts)
}

/// Writes the session as the only one of a journal on disk.
fn write(path: &Path, id: SessionId, library: &Library, facts: &[Fact], tools: &Toolbox) {
    let ledger = Ledger::new(Arc::new(DiskJournal::open(path).expect("a journal")));
    let seal = Seal::default();
    let terms = seal.terms(id, tools.catalog(), tools.policies());
    let (mut objects, _) = terms.expect("objects");
    let mut session = Session::with_library(id, library.clone());
    let (mut tail, mut open) = (Tail::EMPTY, Vec::new());
    for facts in facts.chunks(1_000) {
        session = facts.iter().fold(session, evolve);
        let objects = std::mem::take(&mut objects);
        let durability = Durability::Buffered;
        let append = ledger.append(tail, &seal, &session, facts, &open, objects, durability);
        tail = block_on(append).expect("an append");
        open = open_work(&session);
    }
    block_on(ledger.journal().close()).expect("a clean close");
}

/// Does the same as the command: opens the journal read-only, and decides the session again page by
/// page.
fn from_disk(path: &Path, id: SessionId, changes: &PolicyChanges) -> Vec<CallReport> {
    let journal = DiskJournal::options(path).read_only().open();
    let ledger = Ledger::new(Arc::new(journal.expect("the journal opens again")));
    let report = block_on(what_if::what_if(&ledger, id, changes, |_| ()));
    report.expect("a report").calls
}

fn gate(confirm: GateChange) -> ToolPolicyChanges {
    ToolPolicyChanges {
        confirm: Some(confirm),
        ..ToolPolicyChanges::default()
    }
}

fn what_if(c: &mut Criterion) {
    let calls = calls();
    let tools = toolbox().plain("look").gated("pay");
    let (library, facts) = recorded(calls, &tools);
    let decide = |changes: &PolicyChanges| {
        let id = SessionId(uuid::Uuid::nil());
        let mut world = WhatIf::new(id, library.clone(), changes);
        for fact in &facts {
            world.tell(fact.clone());
        }
        let told = world.end().calls;
        told.iter().filter(|call| call.is_changed()).count() as u64
    };
    let same = PolicyChanges::default();
    let swapped = PolicyChanges {
        tools: [
            ("look".to_owned(), gate(GateChange::Closed { hint: None })),
            ("pay".to_owned(), gate(GateChange::Open)),
        ]
        .into(),
        ..PolicyChanges::default()
    };
    let cached = PolicyChanges {
        defaults: ToolPolicyChanges {
            cached: Some(CacheChange::On { max_age: None }),
            limit_per_session: Some(Some(100)),
            ..ToolPolicyChanges::default()
        },
        ..PolicyChanges::default()
    };
    // A bench of wrong work measures nothing.
    assert_eq!((decide(&same), decide(&swapped)), (0, calls));
    assert_eq!(decide(&cached), calls - 2 * 100);

    let (id, directory) = (SessionId(uuid::Uuid::from_u128(1)), machine::scratch());
    let path = directory.path().join("journal");
    write(&path, id, &library, &facts, &tools);
    let on_disk = || {
        let told = from_disk(&path, id, &swapped);
        told.iter().filter(|call| call.is_changed()).count() as u64
    };
    assert_eq!(on_disk(), calls);
    println!("what_if: {calls} calls; {}", machine::describe());

    let mut group = c.benchmark_group("what_if");
    group.sample_size(10);
    group.throughput(Throughput::Elements(calls));
    group.bench_function("same", |b| b.iter(|| decide(&same)));
    group.bench_function("gates_swapped", |b| b.iter(|| decide(&swapped)));
    group.bench_function("limits", |b| b.iter(|| decide(&cached)));
    group.bench_function("from_disk", |b| b.iter(on_disk));
    group.finish();
}

criterion_group!(benches, what_if);
criterion_main!(benches);
