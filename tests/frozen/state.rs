//! The state of sessions as JSON, and an open request as an approver sees it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use recount::journal::{Durability, MemoryJournal, block_on};
use recount::ledger::{Ledger, Seal, Tail};
use recount::replay::{Change, changes, state_json};
use recount::session::{Json, Session, SessionId, evolve, open_work};
use recount::testing::Toolbox;
use serde_json::json;

use crate::pinned::assert_pinned;
use crate::scenes::{connected, one_tool, scenes};

/// The state at the end of every scene, byte for byte.
#[test]
fn states_are_shown_as_they_were() {
    let mut text = String::new();
    let nothing = Session::new(SessionId(uuid::Uuid::nil()));
    writeln!(text, "# nothing\n{}", state_json(&nothing)).unwrap();
    for (name, history) in scenes() {
        writeln!(text, "# {name}\n{}", state_json(history.session())).unwrap();
    }
    assert_pinned("states.txt", &text);
}

/// The changes that each record of every scene makes, also within a batch.
///
/// A beginning that several scenes share is listed once.
#[test]
fn changes_of_states_are_shown_as_they_were() {
    let (mut text, mut told) = (String::new(), BTreeSet::new());
    for (name, history) in scenes() {
        writeln!(text, "# {name}").unwrap();
        let mut session = Session::new(history.session().id);
        *session.library_mut() = history.session().library().clone();
        let (mut before, mut so_far) = (state_json(&session), String::new());
        for fact in history.facts() {
            session = evolve(session, fact);
            let after = state_json(&session);
            write!(so_far, "{fact:?}").unwrap();
            if told.insert(so_far.clone()) {
                writeln!(text, "{} {}", fact.seq, fact.event.kind()).unwrap();
                text.push_str(&changed(&before, &after));
            }
            before = after;
        }
        assert_eq!(before, state_json(history.session()), "{name}");
    }
    assert_pinned("state_changes.txt", &text);
}

/// The changes except for the head, which every record moves.
fn changed(before: &Json, after: &Json) -> String {
    let shown = |it: Option<Json>| it.map_or("-".to_owned(), |it| it.to_string());
    let all = changes(before, after).into_iter();
    let all = all.filter(|it| it.pointer != "/head");
    let line = |it: Change| {
        let (before, after) = (shown(it.before), shown(it.after));
        format!("  {}: {before} > {after}\n", it.pointer)
    };
    all.map(line).collect()
}

/// The hash of a request is that of its record, so it covers the recorded line byte for byte.
#[test]
fn requests_are_shown_and_named_as_they_were() {
    let policy = json!({"confirm": {"hint": "Pay this?", "expires_after_ms": 60_000,
        "payload": {"type": "object", "required": ["ticket"]}}});
    let mut text = String::new();
    for policy in [policy, json!({"confirm": {}})] {
        let tools = one_tool("pay", policy);
        let asked = connected(&tools).call("c1", "pay", json!({"cents": 4200}));
        let session = asked.session();
        let (ledger, seal) = (Ledger::new(Arc::new(MemoryJournal::new())), Seal::default());
        let objects = terms(&seal, session.id, &tools);
        let (facts, open) = (asked.facts(), open_work(&Session::new(session.id)));
        let written = ledger.append(
            Tail::EMPTY,
            &seal,
            session,
            facts,
            &open,
            objects,
            Durability::Durable,
        );
        block_on(written).unwrap();
        let pending = block_on(ledger.pending()).unwrap();
        assert_eq!(pending.len(), 1);
        let shown = serde_json::to_string(&pending).unwrap();
        writeln!(text, "{shown}").unwrap();
    }
    assert_pinned("requests.txt", &text);
}

fn terms(seal: &Seal, session: SessionId, tools: &Toolbox) -> recount::ledger::Objects {
    let terms = seal.terms(session, tools.catalog(), tools.policies());
    terms.unwrap().0
}
