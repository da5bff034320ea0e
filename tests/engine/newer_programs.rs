//! Records of a newer program are kept, and the reader of a session decides if they may be skipped.

use std::sync::Arc;
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::engine::Error as EngineError;
use recount::journal::{self, Append, Draft, Journal, Object, block_on};
use recount::ledger::{Error, Ledger, UnknownKinds};
use recount::prelude::*;
use recount::replay;
use recount::session::{DecodeError, RULES_MIN, Seq, SessionId};
use recount::testing::ScriptedModel;

const KIND: &str = "model_pondered";

/// Appends a record of a kind that only a newer program knows.
fn ponder(journal: &Arc<SurvivingJournal>, session: SessionId) {
    ponder_by(journal, session, r#"{"about":"life"}"#);
}

fn ponder_by(journal: &Arc<SurvivingJournal>, session: SessionId, body: &str) {
    let head = block_on(journal.head(session.0)).unwrap().unwrap();
    let draft = Draft {
        session: session.0,
        seq: head.seq + 1,
        at_us: head.at_us,
        kind: KIND,
        cause: None,
        actor: journal::Actor::new("model"),
        body,
        prev: head.hash,
    };
    let append = Append::new(session.0, head.seq, vec![draft.line()]);
    block_on(journal.append(append)).unwrap();
}

async fn engine(journal: &Arc<SurvivingJournal>, unknown: UnknownKinds) -> Engine {
    let model = ScriptedModel::parse("").unwrap();
    let desk = Agent::new().model("m").connect_to(model);
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.unknown_kinds(unknown).agent("desk", desk);
    engine.open().await.unwrap()
}

/// A session with records of a newer program in the middle and at the end.
async fn pondered(journal: &Arc<SurvivingJournal>) -> SessionId {
    let first = engine(journal, UnknownKinds::Refuse).await;
    let id = first.session("desk").open().await.unwrap().session_id();
    first.shutdown(Duration::ZERO).await.unwrap();
    ponder(journal, id);
    let second = engine(journal, UnknownKinds::Skip).await;
    drop(second.resume(id).await.unwrap());
    second.shutdown(Duration::ZERO).await.unwrap();
    ponder(journal, id);
    id
}

#[tokio::test]
async fn unknown_kind_is_rejected_by_name_unless_skippable() {
    let journal = SurvivingJournal::new();
    let id = pondered(&journal).await;
    let ledger = Ledger::new(journal.clone());
    let told = ledger.load(id).await.unwrap_err();
    let Error::Unreadable {
        source: DecodeError::UnknownKind(kind),
        ..
    } = told
    else {
        panic!("{told}")
    };
    assert_eq!(kind, KIND);

    let records = journal.head(id.0).await.unwrap().unwrap().seq;
    let ledger = ledger.unknown_kinds(UnknownKinds::Skip);
    let loaded = ledger.load(id).await.unwrap();
    assert_eq!(
        (loaded.session.head, loaded.tail.seq),
        (Seq(records), Seq(records))
    );
    // Reading records one at a time also finds everything after a skipped record.
    let (mut facts, mut next) = (Vec::new(), Seq(1));
    while let Some(fact) = ledger.facts(id, next, 1).await.unwrap().pop() {
        next = fact.seq.next();
        facts.push(fact);
    }
    assert_eq!(facts.len() as u64, records - 2);
    assert_eq!(ledger.fact(id, Seq(records)).await.unwrap(), None);
    // The replay covers the records around it.
    let report = replay::verify(&ledger, id).await.unwrap();
    let told = report.observations + report.decisions;
    assert_eq!((report.diverged, told), (None, records - 2));
    // The skipped record is still there.
    let kept = ledger.entries(id, Seq(records), 1).await.unwrap();
    assert_eq!(kept.first().unwrap().record().unwrap().kind, KIND);
}

#[tokio::test]
async fn engine_continues_after_skippable_records_only() {
    let journal = SurvivingJournal::new();
    let id = pondered(&journal).await;
    let strict = engine(&journal, UnknownKinds::Refuse).await;
    let told = strict.resume(id).await.err().unwrap();
    assert!(
        matches!(told, EngineError::Stopped { .. } | EngineError::Ledger(_)),
        "{told}"
    );
    strict.shutdown(Duration::ZERO).await.unwrap();
    let before = journal.head(id.0).await.unwrap().unwrap().seq;

    let lenient = engine(&journal, UnknownKinds::Skip).await;
    let by = Actor::embedder("ada");
    let closed = lenient.close_session(id, "done", by).await.unwrap();
    assert!(closed > Seq(before), "{closed} behind {before}");
    lenient.shutdown(Duration::ZERO).await.unwrap();
}

/// Attaches a runner under the rules of a newer program.
fn attach_by_newer_rules(journal: &Arc<SurvivingJournal>, session: SessionId) -> Seq {
    attach_again(journal, session, Vec::new(), |body| {
        body.replace(&format!(r#""rules":{RULES_MIN}"#), r#""rules":4711"#)
    })
}

/// Attaches a runner once more, with another body, and adds objects.
fn attach_again(
    journal: &Arc<SurvivingJournal>,
    session: SessionId,
    objects: Vec<Object>,
    change: impl Fn(&str) -> String,
) -> Seq {
    let head = block_on(journal.head(session.0)).unwrap().unwrap();
    let lines = block_on(journal.read(session.0, 1, usize::MAX)).unwrap();
    let records = lines.iter().map(|line| line.record().unwrap());
    let attached = records.filter(|it| it.kind == "runner_attached").last();
    let body = attached.unwrap().body.to_string();
    let newer = change(&body);
    assert_ne!(body, newer);
    let draft = Draft {
        session: session.0,
        seq: head.seq + 1,
        at_us: head.at_us,
        kind: "runner_attached",
        cause: None,
        actor: journal::Actor::new("engine"),
        body: &newer,
        prev: head.hash,
    };
    let append = Append {
        objects,
        ..Append::new(session.0, head.seq, vec![draft.line()])
    };
    block_on(journal.append(append)).unwrap();
    Seq(head.seq + 1)
}

#[tokio::test]
async fn session_of_newer_rules_is_rejected_and_not_decided_again() {
    let journal = SurvivingJournal::new();
    let first = engine(&journal, UnknownKinds::Refuse).await;
    let id = first.session("desk").open().await.unwrap().session_id();
    first.shutdown(Duration::ZERO).await.unwrap();
    let ledger = Ledger::new(journal.clone());
    assert!(
        replay::verify(&ledger, id)
            .await
            .unwrap()
            .diverged
            .is_none()
    );

    let attached = attach_by_newer_rules(&journal, id);
    let told = replay::verify(&ledger, id).await.unwrap_err();
    assert!(
        matches!(told, Error::NewerRules { seq, rules: 4711, .. } if seq == attached),
        "{told}"
    );
    assert!(ledger.load(id).await.is_err());
    let again = engine(&journal, UnknownKinds::Refuse).await;
    assert!(again.resume(id).await.is_err());
    again.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn unknown_kind_of_newer_rules_is_not_skipped() {
    let journal = SurvivingJournal::new();
    let first = engine(&journal, UnknownKinds::Refuse).await;
    let id = first.session("desk").open().await.unwrap().session_id();
    first.shutdown(Duration::ZERO).await.unwrap();
    ponder_by(&journal, id, r#"{"about":"life","rules":4711}"#);
    let last = Seq(journal.head(id.0).await.unwrap().unwrap().seq);

    let ledger = Ledger::new(journal.clone()).unknown_kinds(UnknownKinds::Skip);
    let loaded = ledger.load(id).await.map(drop);
    let replayed = replay::verify(&ledger, id).await.map(drop);
    for told in [loaded, replayed] {
        let named =
            matches!(&told, Err(Error::NewerRules { seq, rules: 4711, .. }) if *seq == last);
        assert!(named, "{told:?}");
    }
    let lenient = engine(&journal, UnknownKinds::Skip).await;
    assert!(lenient.resume(id).await.is_err());
    lenient.shutdown(Duration::ZERO).await.unwrap();
    assert_eq!(journal.head(id.0).await.unwrap().unwrap().seq, last.0);
}

/// A session whose second runner has policies with an unknown field, under these rules.
async fn misspelt(rules: u32) -> (Arc<SurvivingJournal>, SessionId, Seq) {
    let journal = SurvivingJournal::new();
    let first = engine(&journal, UnknownKinds::Refuse).await;
    let id = first.session("desk").open().await.unwrap().session_id();
    first.shutdown(Duration::ZERO).await.unwrap();
    let policies = Object::new(br#"{"tools":{"pay":{"confirm":{},"quorun":2}}}"#.as_slice());
    let hash = policies.hash;
    let attached = attach_again(&journal, id, vec![policies], |body| {
        let mut body: serde_json::Value = serde_json::from_str(body).unwrap();
        body["policies"] = hash.to_string().into();
        body["rules"] = rules.into();
        body.to_string()
    });
    (journal, id, attached)
}

#[tokio::test]
async fn unknown_field_is_an_error_from_rules_2_on() {
    let (journal, id, attached) = misspelt(2).await;
    let ledger = Ledger::new(journal.clone());
    let loaded = ledger.load(id).await.map(drop);
    let replayed = replay::verify(&ledger, id).await.map(drop);
    for told in [loaded, replayed] {
        let Err(Error::UnknownField { seq, field, .. }) = &told else {
            panic!("{told:?}")
        };
        assert_eq!((*seq, field.as_str()), (attached, "/tools/pay/quorun"));
    }
    let engine_here = engine(&journal, UnknownKinds::Skip).await;
    assert!(engine_here.resume(id).await.is_err());
    engine_here.shutdown(Duration::ZERO).await.unwrap();
    assert_eq!(journal.head(id.0).await.unwrap().unwrap().seq, attached.0);
}

#[tokio::test]
async fn unknown_field_is_read_past_under_rules_1() {
    let (journal, id, _) = misspelt(RULES_MIN).await;
    let loaded = Ledger::new(journal.clone()).load(id).await.unwrap();
    assert!(loaded.session.terms.policies.of("pay").confirm);
    let engine_here = engine(&journal, UnknownKinds::Refuse).await;
    assert!(engine_here.resume(id).await.is_ok());
    engine_here.shutdown(Duration::ZERO).await.unwrap();
}
