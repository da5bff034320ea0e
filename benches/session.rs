//! The speed of folding a session and of deciding it again, in memory.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recount::session::{Event, Fact, Session, SessionId, decide, evolve};
use recount::testing::{History, history, toolbox};
use serde_json::json;

/// A session of `calls` gated calls, each asked, granted, run and answered.
fn recorded(calls: usize) -> History {
    let tools = toolbox().gated("refund");
    let begun = history().opened("support").attached(&tools).connected();
    (0..calls).fold(begun, |history, n| {
        history
            .call(&format!("c{n}"), "refund", json!({"order_id": n}))
            .granted("ada")
            .returned(json!({"refunded": true}))
            .sent()
            .heard()
    })
}

fn fold(session: Session, facts: &[Fact]) -> Session {
    facts.iter().fold(session, evolve)
}

/// Folds each fact and decides before each, as a replay does. Returns the number of equal
/// decisions.
fn redecide(session: Session, facts: &[Fact]) -> usize {
    let (mut session, mut agreed) = (session, 0);
    for fact in facts {
        let due = if session.head.0 == 0 {
            None
        } else {
            decide(&session)
        };
        agreed += usize::from(
            matches!((&fact.event, due), (Event::Decided(it), Some(due)) if *it == due),
        );
        session = evolve(session, fact);
    }
    agreed
}

fn session(c: &mut Criterion) {
    let recorded = recorded(1_000);
    let facts = recorded.facts();
    let empty = || {
        Session::with_library(
            SessionId(uuid::Uuid::nil()),
            recorded.session().library().clone(),
        )
    };
    let decisions = facts
        .iter()
        .filter(|fact| matches!(fact.event, Event::Decided(_)))
        .count();
    assert_eq!(
        redecide(empty(), facts),
        decisions,
        "a bench of wrong work measures nothing"
    );

    let mut group = c.benchmark_group("session");
    group.throughput(Throughput::Elements(facts.len() as u64));
    group.bench_function("fold", |b| b.iter(|| fold(empty(), facts)));
    group.bench_function("redecide", |b| b.iter(|| redecide(empty(), facts)));
    group.finish();
}

criterion_group!(benches, session);
criterion_main!(benches);
