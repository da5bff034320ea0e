//! The speed of replaying a session from memory and from disk, and of opening it by folding.

#![expect(clippy::expect_used, reason = "a bench that cannot write must stop")]

#[path = "shared/machine.rs"]
mod machine;

use std::sync::Arc;

use criterion::{Bencher, Criterion, Throughput, criterion_group, criterion_main};
use recount::journal::{DiskJournal, Durability, MemoryJournal, block_on};
use recount::ledger::{Ledger, Loaded, Seal, Tail};
use recount::replay;
use recount::session::{
    Actor, Command, Fact, FunctionCallReceived, Json, Observation, ResponsesSent, Session,
    SessionId, ToolConfirmation, ToolReturned, TurnCompleted, admit, evolve, open_work, step,
};
use recount::testing::{Toolbox, history, toolbox};
use serde_json::json;
use uuid::Uuid;

/// The number of calls in the session. Each makes ten records.
const CALLS: usize = 10_000;
/// The number of records in one append.
const BATCH: usize = 1_000;

/// A session of gated calls, each asked, granted, run and answered. Returns its last state and its
/// facts.
fn recorded(tools: &Toolbox) -> (Session, Vec<Fact>) {
    let begun = history().opened("support").attached(tools).connected();
    let (mut session, mut facts) = (begun.session().clone(), begun.facts().to_vec());
    let epoch = session.connection.expect("a connection");
    let ada = Actor::embedder("ada");
    let mut observe = |session: Session, observation: Observation| {
        let done = step(session, begun.now(), observation).expect("an end");
        facts.extend(done.facts);
        done.session
    };
    for n in 0..CALLS {
        let call = session.head.next();
        let received = FunctionCallReceived {
            epoch,
            id: Some(format!("c{n}")),
            name: Some("refund".to_owned()),
            args: Some(Json::of(&json!({"order_id": n}))),
            malformed_args: None,
            invalid_args: None,
            sealed_args: Vec::new(),
            original_args: None,
            by: None,
            parent: None,
            beyond_max: None,
            key: None,
        };
        session = observe(session, received.into());
        let asked = session
            .requests
            .last_key_value()
            .map(|(request, _)| *request);
        let answer = Command::AnswerConfirmation {
            request: asked.expect("a request"),
            answer: Ok(ToolConfirmation::confirmed()),
            by: ada.clone(),
        };
        let answered = admit(&session, answer).expect("an answer that counts");
        session = observe(session, answered);
        let returned = ToolReturned {
            call,
            attempt: 1,
            failed: false,
            response: Json::of(&json!({"refunded": true})),
            error_kind: None,
            scheduling: None,
            ends_session: None,
        };
        session = observe(session, returned.into());
        let responses = session.deliveries.keys().copied().collect();
        session = observe(session, ResponsesSent { epoch, responses }.into());
        let reason = None;
        session = observe(session, TurnCompleted { epoch, reason }.into());
    }
    (session, facts)
}

fn write(ledger: &Ledger, id: SessionId, ended: &Session, facts: &[Fact], tools: &Toolbox) {
    let seal = Seal::default();
    let terms = seal.terms(id, tools.catalog(), tools.policies());
    let (mut objects, _) = terms.expect("objects");
    let mut session = Session::with_library(id, ended.library().clone());
    let (mut tail, mut open) = (Tail::EMPTY, Vec::new());
    for facts in facts.chunks(BATCH) {
        session = facts.iter().fold(session, evolve);
        let objects = std::mem::take(&mut objects);
        let append = ledger.append(
            tail,
            &seal,
            &session,
            facts,
            &open,
            objects,
            Durability::Buffered,
        );
        tail = block_on(append).expect("an append");
        open = open_work(&session);
    }
}

/// Replays the session. Returns the number of records that matched.
fn rederived(ledger: &Ledger, id: SessionId) -> u64 {
    let report = block_on(replay::verify(ledger, id)).expect("a report");
    assert_eq!(
        report.diverged, None,
        "a bench of wrong work measures nothing"
    );
    report.observations + report.decisions
}

/// Opens the session.
fn opened(ledger: &Ledger, id: SessionId) -> Loaded {
    block_on(ledger.load(id)).expect("a session")
}

/// Opens the session repeatedly. Dropping it is not measured, because a real caller keeps it.
fn openings(b: &mut Bencher<'_>, ledger: &Ledger, id: SessionId) {
    b.iter_with_large_drop(|| opened(ledger, id));
}

/// True if the journal has a snapshot of the session.
fn has_snapshot(ledger: &Ledger, id: SessionId) -> bool {
    let kept = block_on(ledger.journal().snapshot(id.0));
    kept.expect("an answer").is_some()
}

fn replays(c: &mut Criterion) {
    let id = SessionId(Uuid::from_u128(1));
    let tools = toolbox().gated("refund");
    let (ended, facts) = recorded(&tools);
    let records = facts.len() as u64;
    let directory = machine::scratch();
    let path = directory.path().join("journal");
    let disk = Ledger::new(Arc::new(DiskJournal::open(&path).expect("a journal")));
    write(&disk, id, &ended, &facts, &tools);
    block_on(disk.journal().close()).expect("a clean close");
    drop(disk);
    let disk = DiskJournal::options(&path).read_only().open();
    let disk = Ledger::new(Arc::new(disk.expect("the journal opens again")));
    let memory = Ledger::new(Arc::new(MemoryJournal::new()));
    write(&memory, id, &ended, &facts, &tools);
    println!(
        "replay: a session of {records} records; {}",
        machine::describe()
    );

    let mut group = c.benchmark_group("replay");
    group
        .sample_size(20)
        .throughput(Throughput::Elements(records));
    for (name, ledger) in [("from memory", &memory), ("from disk", &disk)] {
        assert_eq!(rederived(ledger, id), records);
        group.bench_function(name, |b| b.iter(|| rederived(ledger, id)));
    }
    // A read-only journal writes no snapshot, so each of these openings folds the whole session.
    assert!(!has_snapshot(&disk, id), "this is to fold");
    assert_eq!(opened(&disk, id).tail.seq.0, records);
    group.bench_function("opened by folding", |b| openings(b, &disk, id));
    block_on(disk.journal().close()).expect("a close");
    let disk = Ledger::new(Arc::new(DiskJournal::open(&path).expect("the journal")));
    assert_eq!(opened(&disk, id).tail.seq.0, records);
    assert!(has_snapshot(&disk, id), "this is not to fold");
    group.bench_function("opened from its snapshot", |b| openings(b, &disk, id));
    group.finish();
}

criterion_group!(benches, replays);
criterion_main!(benches);
