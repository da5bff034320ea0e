#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recount_journal::{Append, Journal, Line, MemoryJournal, Object, Record, block_on};

use super::*;
use crate::terminal::ColorChoice;
use recount::ledger::Ledger;
use recount::replay::{Report, verify, verify_by};
use recount::session::{CallReady, Decision, Session, decide};

/// The current rules but for one: a gated call starts without approval.
fn without_approvals(session: &Session) -> Option<Decision> {
    match decide(session)? {
        Decision::ConfirmationRequested(it) => Some(CallReady { call: it.call }.into()),
        other => Some(other),
    }
}

#[test]
fn changed_rule_diverges_at_its_first_use() {
    let (mut diverged, mut as_before) = (0, 0);
    for path in every_journal() {
        let (ledger, session) = journal_of(&path);
        let report = block_on(verify_by(&ledger, session, without_approvals, |_| ())).unwrap();
        let records = block_on(ledger.facts(session, Seq(1), usize::MAX)).unwrap();
        let asked = records
            .iter()
            .find(|it| it.event.kind() == "confirmation_requested");
        let parted = report.diverged.as_ref();
        assert_eq!(
            parted.map(|it| it.seq),
            asked.map(|it| it.seq),
            "{}",
            path.display()
        );
        diverged += usize::from(parted.is_some());
        as_before += usize::from(parted.is_none());
        let Some(parted) = parted else { continue };
        // The chain begins with a record without a cause. Each record is the cause of the next one.
        let chain = parted.causes.iter().map(|it| Some(it.seq));
        let causes = parted.causes.iter().map(|it| it.cause);
        let said = parted.derived.as_ref().and_then(|it| it.cause);
        let causes: Vec<_> = causes.chain([said]).collect();
        let chain: Vec<_> = [None].into_iter().chain(chain).collect();
        assert_eq!(causes, chain, "{}", path.display());
        assert_eq!(parted.before.head.next(), parted.seq);
    }
    assert!(
        diverged >= 5 && as_before >= 5,
        "{diverged} and {as_before}"
    );
}

#[test]
fn gated_call_without_approval_diverges() {
    let (ledger, session) = journal_of(&corpus().join("approved.jsonl"));
    let report = block_on(verify_by(&ledger, session, without_approvals, |_| ())).unwrap();
    insta::assert_snapshot!(text(&report));
    let json = serde_json::to_string_pretty(&report).unwrap();
    insta::assert_snapshot!("gated_call_without_approval_diverges_as_json", json);
}

#[test]
fn missing_and_further_decisions_diverge() {
    let (ledger, session) = journal_of(&corpus().join("approved.jsonl"));
    let nothing_ready = |session: &Session| match decide(session)? {
        Decision::CallReady(_) => None,
        other => Some(other),
    };
    let report = block_on(verify_by(&ledger, session, nothing_ready, |_| ())).unwrap();
    insta::assert_snapshot!("recorded_decision_without_a_derived_one", text(&report));

    let cut = cut_before(&ledger, session, "call_started");
    let report = block_on(verify(&cut, session)).unwrap();
    insta::assert_snapshot!("derived_decision_without_a_recorded_one", text(&report));
}

#[test]
fn progress_covers_every_record() {
    let (ledger, session) = journal_of(&corpus().join("approved.jsonl"));
    let pages = std::cell::RefCell::new(Vec::new());
    let progress = |read| pages.borrow_mut().push(read);
    let report = block_on(verify_by(&ledger, session, decide, progress)).unwrap();
    assert_eq!(pages.into_inner(), [report.observations + report.decisions]);
}

fn text(report: &Report) -> String {
    let Some(diverged) = &report.diverged else {
        panic!("it does not diverge: {report:?}");
    };
    let lines = lines(
        report.session,
        diverged,
        Palette::chosen(ColorChoice::Never),
    );
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    lines.join("\n")
}

/// The folder with the journals of rules 1.
fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journals/rules-1")
}

/// Every journal of the corpus, with all versions of the rules.
fn every_journal() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journals");
    let entries = |path: &Path| {
        let entries = fs::read_dir(path).unwrap();
        entries.map(|it| it.unwrap().path())
    };
    let folders = entries(&root).filter(|it| it.is_dir());
    folders.flat_map(|it| entries(&it)).collect()
}

/// Marks a record of the journal's own stream.
const OF_JOURNAL: &str = r#""session":"00000000-0000-0000-0000-000000000000""#;

/// A journal of the corpus, and its session.
fn journal_of(path: &Path) -> (Ledger, SessionId) {
    let (mut lines, mut objects) = (Vec::new(), Vec::new());
    for text in fs::read_to_string(path).unwrap().lines() {
        if text.starts_with("{\"object\":") {
            let object: Value = serde_json::from_str(text).unwrap();
            let content = object.get("text").and_then(Value::as_str).unwrap();
            objects.push(Object::new(content.as_bytes()));
        } else if !text.starts_with("{\"trailer\":") && !text.contains(OF_JOURNAL) {
            lines.push(Line::new(text.as_bytes()));
        }
    }
    let session = Record::parse(lines.first().unwrap().bytes())
        .unwrap()
        .session;
    (journal_with(session, lines, objects), SessionId(session))
}

/// The journal up to its first record of a kind.
fn cut_before(ledger: &Ledger, session: SessionId, kind: &str) -> Ledger {
    let entries = block_on(ledger.entries(session, Seq(1), usize::MAX)).unwrap();
    let kept: Vec<Line> = entries
        .iter()
        .take_while(|it| it.kind() != kind)
        .map(|it| it.line.clone())
        .collect();
    let mut objects = Vec::new();
    for entry in &entries {
        for hash in recount::ledger::objects_named(&entry.record().unwrap()) {
            let object = block_on(ledger.journal().object(hash)).unwrap().unwrap();
            objects.push(Object::new(&object[..]));
        }
    }
    journal_with(session.0, kept, objects)
}

fn journal_with(session: uuid::Uuid, lines: Vec<Line>, objects: Vec<Object>) -> Ledger {
    let journal = MemoryJournal::new();
    let mut append = Append::new(session, 0, lines);
    append.objects = objects;
    block_on(journal.append(append)).unwrap();
    Ledger::new(Arc::new(journal))
}
