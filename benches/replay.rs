//! How fast a session is re-derived from its stored lines, in memory and from the disk, and how fast it is opened by folding it.

#![expect(clippy::expect_used, reason = "a bench that cannot write must stop")]

#[path = "shared/machine.rs"]
mod machine;

use std::collections::BTreeMap;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recount::journal::{DiskJournal, Durability, Journal, MemoryJournal, block_on};
use recount::ledger::{Ledger, Seal, Tail};
use recount::replay;
use recount::session::{Session, SessionId, evolve, open_work};
use recount::testing::{History, Toolbox, history, toolbox};
use serde_json::json;
use uuid::Uuid;

/// Calls of the session; each makes ten records.
const CALLS: usize = 10_000;
/// Records of one append.
const BATCH: usize = 1_000;

/// A session of gated calls, each asked, granted, run and answered.
fn recorded(tools: &Toolbox) -> History {
    let begun = history().opened("support").attached(tools).connected();
    (0..CALLS).fold(begun, |history, n| {
        history
            .call(&format!("c{n}"), "refund", json!({"order_id": n}))
            .granted("ada")
            .returned(json!({"refunded": true}))
            .sent()
            .heard()
    })
}

fn write(ledger: &Ledger, id: SessionId, recorded: &History, tools: &Toolbox) {
    let seal = Seal::default();
    let terms = seal.terms(id, tools.catalog(), tools.policies());
    let (mut objects, _) = terms.expect("objects");
    let library = recorded.session().library().clone();
    let mut session = Session::with_library(id, library);
    let (mut tail, mut open) = (Tail::EMPTY, BTreeMap::new());
    for facts in recorded.facts().chunks(BATCH) {
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

/// Re-derives the session; says how many records agreed.
fn rederived(ledger: &Ledger, id: SessionId) -> u64 {
    let report = block_on(replay::verify(ledger, id)).expect("a report");
    assert_eq!(report.diverged, None, "a bench of wrong work measures nothing");
    report.observations + report.decisions
}

/// Folds the session; says how long it is.
fn folded(ledger: &Ledger, id: SessionId) -> u64 {
    block_on(ledger.load(id)).expect("a session").tail.seq.0
}

fn replays(c: &mut Criterion) {
    let id = SessionId(Uuid::from_u128(1));
    let tools = toolbox().gated("refund");
    let recorded = recorded(&tools);
    let records = recorded.facts().len() as u64;
    let directory = machine::scratch();
    let path = directory.path().join("journal");
    let disk = Ledger::new(Arc::new(DiskJournal::open(&path).expect("a journal")));
    write(&disk, id, &recorded, &tools);
    block_on(disk.journal().close()).expect("a clean close");
    drop(disk);
    let disk = DiskJournal::options(&path).read_only().open();
    let disk = Ledger::new(Arc::new(disk.expect("the journal opens again")));
    let memory = Ledger::new(Arc::new(MemoryJournal::new()));
    write(&memory, id, &recorded, &tools);
    println!("replay: a session of {records} records; {}", machine::describe());

    let mut group = c.benchmark_group("replay");
    group.sample_size(20).throughput(Throughput::Elements(records));
    for (name, ledger) in [("from memory", &memory), ("from disk", &disk)] {
        assert_eq!(rederived(ledger, id), records);
        group.bench_function(name, |b| b.iter(|| rederived(ledger, id)));
    }
    for (name, ledger) in [("opened from memory", &memory), ("opened from disk", &disk)] {
        assert_eq!(folded(ledger, id), records);
        group.bench_function(name, |b| b.iter(|| folded(ledger, id)));
    }
    group.finish();
}

criterion_group!(benches, replays);
criterion_main!(benches);
