//! The corpus of old journals. Every record of every released version can be read, and a replay
//! makes every decision again.
//!
//! `fixtures/journals/rules-N/` holds exports of journals written under rules N. They are read but
//! never written again; `SHA256SUMS` beside them pins their bytes. `RECOUNT_WRITE_JOURNALS=1 cargo
//! test --all-features --test engine restart` writes the exports of new scenarios.
#![cfg(feature = "testing")]
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use recount::journal::{Append, Draft, Hash, Journal, Line, Object, Record, block_on, verify};
use recount::ledger::{Ledger, fact_of};
use recount::replay::{self, Report, what_if};
use recount::session::{
    Decision, Event, GateChange, Observation, PolicyChanges, Rule, Seq, SessionId,
    ToolPolicyChanges, Verdict,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

#[path = "support/overlooked.rs"]
mod overlooked;
#[path = "support/schema/mod.rs"]
mod schema;
#[path = "support/surviving/mod.rs"]
mod surviving;

use overlooked::{Known, problem};
use surviving::SurvivingJournal;

#[test]
fn every_released_journal_verifies_and_replays_its_transcript() {
    let (mut files, mut decisions) = (0, 0);
    for file in corpus() {
        let name = file.display();
        let bytes = fs::read(&file).unwrap();
        let report = verify::export(&bytes[..]).unwrap();
        assert!(report.is_sound(), "{name}: {:?}", report.findings);
        let exported = Exported::read(&bytes);
        let records = exported.lines.len() as u64;
        assert_eq!(records + exported.of_journal, report.records, "{name}");
        let ledger = exported.ledger();
        let loaded = block_on(ledger.load(exported.session)).unwrap();
        assert_eq!(loaded.session.head, Seq(records), "{name}");
        let replayed = exported.replay();
        assert_eq!(replayed.diverged, None, "{name}");
        assert_eq!(
            replayed.observations + replayed.decisions,
            records,
            "{name}"
        );
        files += 1;
        decisions += replayed.decisions;
    }
    println!("{files} journals, {decisions} decisions");
    assert!(
        files >= 20 && decisions >= 100,
        "{files} journals, {decisions} decisions"
    );
}

/// The file with the name and SHA-256 of every export, in the format of `sha256sum`.
const PINNED: &str = "SHA256SUMS";

#[test]
fn no_journal_of_the_corpus_is_written_again() {
    let pinned = fs::read_to_string(root().join(PINNED)).unwrap();
    let found = corpus().into_iter().map(|file| {
        let hash = Sha256::digest(fs::read(&file).unwrap());
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{hash}  {}\n", file.strip_prefix(root()).unwrap().display())
    });
    let found: String = found.collect();
    assert!(
        found == pinned,
        "fixtures/journals/{PINNED} names other files or hashes. An old journal stays as it is; \
        add a line for each new one:\n{}",
        found
            .lines()
            .filter(|line| !pinned.lines().any(|it| it == *line))
            .collect::<Vec<_>>()
            .join("\n")
    );
}

/// Kinds that no export has: no script can make the model send an invalid message.
const IN_NO_EXPORT: [&str; 1] = ["frame_rejected"];

#[test]
fn every_kind_of_event_stands_in_the_corpus() {
    let mut missing: BTreeSet<&str> = Observation::KINDS
        .iter()
        .chain(Decision::KINDS)
        .copied()
        .collect();
    for file in corpus() {
        for event in Exported::read(&fs::read(file).unwrap()).events() {
            missing.remove(event.kind());
        }
    }
    assert_eq!(missing.into_iter().collect::<Vec<_>>(), IN_NO_EXPORT);
}

/// A program of rules 1 must meet the number before it can overlook a term, or pass over a kind.
#[test]
fn rules_2_are_named_before_what_rules_1_would_overlook() {
    for file in corpus() {
        let exported = Exported::read(&fs::read(&file).unwrap());
        let known = exported.known();
        assert_eq!(
            problem(&known, &exported.terms()),
            None,
            "{}",
            file.display()
        );
        let of_rules_1 = file.starts_with(root().join("rules-1"));
        let names_later = known.iter().any(Known::names_later_rules);
        assert_ne!(of_rules_1, names_later, "{}", file.display());
    }
}

#[test]
fn later_term_before_its_rules_number_is_found() {
    let objects = BTreeMap::from([
        (
            "plain".to_owned(),
            json!({"tools": {"pay": {"confirm": {"payload": {"x": 1}}}}}),
        ),
        (
            "quorum".to_owned(),
            json!({"tools": {"pay": {"confirm": {"quorum": 2}}}}),
        ),
        (
            "asks".to_owned(),
            json!({"tools": {"pay": {"limits": {"max_open_requests": 1}}}}),
        ),
        (
            "tools".to_owned(),
            json!({"tools": {"pay": {"name": "pay", "kind": "agent"}}}),
        ),
        (
            "client".to_owned(),
            json!({"tools": {"pay": {"name": "pay", "kind": "client"}}}),
        ),
    ]);
    let record = |kind: &str, body: Value| Known {
        kind: kind.to_owned(),
        body,
    };
    let opened = || record("session_opened", json!({"rules": 1}));
    let attached = |rules: u32, catalog: &str, policies: &str| {
        let body = json!({"rules": rules, "catalog": catalog, "policies": policies});
        record("runner_attached", body)
    };
    let paused = |body: Value| record("paused", body);
    let of = |records: Vec<Known>| problem(&records, &objects);

    let fine = [
        vec![opened(), attached(1, "tools", "plain")],
        vec![opened(), attached(2, "tools", "quorum")],
        vec![opened(), attached(2, "client", "plain"), paused(json!({}))],
        vec![
            opened(),
            paused(json!({"rules": 2})),
            attached(1, "tools", "plain"),
        ],
    ];
    for records in fine {
        assert_eq!(of(records), None);
    }
    let wrong = [
        (
            vec![opened(), attached(1, "tools", "quorum")],
            "tools/pay/confirm/quorum",
        ),
        (
            vec![opened(), attached(1, "tools", "asks")],
            "tools/pay/limits/max_open_requests",
        ),
        (vec![opened(), attached(1, "client", "plain")], "client"),
        (
            vec![opened(), paused(json!({})), attached(2, "tools", "quorum")],
            "paused",
        ),
        (
            vec![
                opened(),
                attached(1, "tools", "quorum"),
                paused(json!({"rules": 2})),
            ],
            "record 2",
        ),
    ];
    for (records, word) in wrong {
        let told = of(records).unwrap();
        assert!(told.contains(word), "{told}");
    }
}

#[test]
fn replay_finds_altered_decision_despite_valid_hashes() {
    let mut altered = 0;
    for file in corpus() {
        let exported = Exported::read(&fs::read(&file).unwrap());
        for (at, event) in exported.events().into_iter().enumerate() {
            if matches!(event, Event::Observed(_)) {
                continue;
            }
            let seq = Seq(at as u64 + 1);
            let mut other = exported.clone();
            other.alter(at, |body| {
                let names = ["call", "response", "request"];
                match names.into_iter().find(|it| body.get(it).is_some()) {
                    Some(key) => body[key] = (body[key].as_u64().unwrap() + 1).into(),
                    None => body["phase"] = "another".into(),
                }
            });
            assert_eq!(diverged(&other), seq, "{} altered at {seq}", file.display());
            // Everything up to the decision, so that it is missing at the end.
            let mut cut = exported.clone();
            cut.lines.truncate(at);
            assert_eq!(diverged(&cut), seq, "{} cut before {seq}", file.display());
            altered += 1;
        }
    }
    assert!(altered >= 100, "only {altered} decisions");
}

#[test]
fn replay_finds_flipped_answer_at_first_decision_after_it() {
    let file = root().join("rules-1/approved.jsonl");
    let mut exported = Exported::read(&fs::read(file).unwrap());
    let answered = |event: &Event| event.kind() == "confirmation_answered";
    let at = exported.events().iter().position(answered).unwrap();
    exported.alter(at, |body| body["confirmed"] = false.into());
    assert_eq!(diverged(&exported), Seq(at as u64 + 2));
}

#[test]
fn under_its_own_policies_no_call_would_have_gone_otherwise() {
    let mut calls = 0;
    for file in corpus() {
        let exported = Exported::read(&fs::read(&file).unwrap());
        let report = exported.what_if(&PolicyChanges::default());
        for call in &report.calls {
            assert!(!call.is_changed(), "{}: {call:?}", file.display());
            assert_eq!(call.heard, None, "{}: {call:?}", file.display());
        }
        calls += report.calls.len();
    }
    assert!(calls >= 35, "only {calls} calls");
}

#[test]
fn what_if_later_agent_calls_depend_on_newly_gated_call() {
    let file = root().join("rules-1/an_agent_whose_call_was_approved_after_a_restart.jsonl");
    let exported = Exported::read(&fs::read(file).unwrap());
    let gate = ToolPolicyChanges {
        confirm: Some(GateChange::Closed { hint: None }),
        ..ToolPolicyChanges::default()
    };
    let changes = PolicyChanges {
        tools: [("till".to_owned(), gate)].into(),
        ..PolicyChanges::default()
    };
    let calls = exported.what_if(&changes).calls;
    let till = &calls[0];
    assert_eq!((till.call, till.tool.as_str()), (Seq(5), "till"));
    assert_eq!(till.unknown, Some(what_if::Unknown::NobodyAsked));
    let made: Vec<_> = calls[1..].iter().map(|it| it.unknown).collect();
    assert_eq!(made, [Some(what_if::Unknown::DependsOn(Seq(5))); 3]);
}

#[test]
fn under_gates_everywhere_no_call_would_have_run_unasked() {
    let gate = ToolPolicyChanges {
        confirm: Some(GateChange::Closed { hint: None }),
        ..ToolPolicyChanges::default()
    };
    let gates = PolicyChanges {
        defaults: gate,
        ..PolicyChanges::default()
    };
    let (mut asked, mut allowed) = (0, 0);
    for file in corpus() {
        let exported = Exported::read(&fs::read(&file).unwrap());
        for call in exported.what_if(&gates).calls {
            match (call.under.verdict, call.under.rule) {
                // A gate that is waived in the whole session asks for no approval, and neither does
                // a result served without a run.
                (Some(Verdict::Allowed), Some(Rule::Confirm | Rule::Cached)) | (None, _) => {}
                (Some(Verdict::Allowed), _) => allowed += 1,
                (Some(Verdict::Ask | Verdict::AskProgram), _) => asked += 1,
                (Some(Verdict::Refused), _) => {}
            }
        }
    }
    assert_eq!(allowed, 0);
    assert!(asked >= 25, "only {asked} calls");
}

fn diverged(exported: &Exported) -> Seq {
    exported.replay().diverged.unwrap().seq
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals")
}

/// Every file of the corpus, of all rules.
fn corpus() -> Vec<PathBuf> {
    let folders = fs::read_dir(root()).unwrap().map(|it| it.unwrap().path());
    let folders = folders.filter(|it| it.is_dir());
    let mut files: Vec<_> = folders
        .flat_map(|it| fs::read_dir(it).unwrap())
        .map(|it| it.unwrap().path())
        .collect();
    files.sort();
    files
}

/// A journal with one session, as it was exported.
#[derive(Clone)]
struct Exported {
    session: SessionId,
    lines: Vec<Line>,
    objects: Vec<Object>,
    /// The number of records in the journal's own stream, such as a pause of everything.
    of_journal: u64,
}

impl Exported {
    fn read(bytes: &[u8]) -> Exported {
        let (mut lines, mut objects, mut of_journal) = (Vec::new(), Vec::new(), 0);
        for text in std::str::from_utf8(bytes).unwrap().lines() {
            if text.starts_with("{\"object\":") {
                let object: Value = serde_json::from_str(text).unwrap();
                objects.push(Object::new(object["text"].as_str().unwrap().as_bytes()));
            } else if text.contains(r#""session":"00000000-0000-0000-0000-000000000000""#) {
                of_journal += 1;
            } else if !text.starts_with("{\"trailer\":") {
                lines.push(Line::new(text.as_bytes()));
            }
        }
        let session = SessionId(Record::parse(lines[0].bytes()).unwrap().session);
        Exported {
            session,
            lines,
            objects,
            of_journal,
        }
    }

    /// The kinds and the bodies of the records.
    fn known(&self) -> Vec<Known> {
        let lines = self
            .lines
            .iter()
            .map(|line| Record::parse(line.bytes()).unwrap());
        let known = lines.map(|record| Known {
            kind: record.kind.to_owned(),
            body: serde_json::from_str(record.body.get()).unwrap(),
        });
        known.collect()
    }

    /// The objects by hash.
    fn terms(&self) -> BTreeMap<String, Value> {
        let objects = self.objects.iter().map(|object| {
            let content = serde_json::from_slice(&object.bytes).unwrap();
            (object.hash.to_string(), content)
        });
        objects.collect()
    }

    fn events(&self) -> Vec<Event> {
        let fact = |(at, line): (usize, &Line)| {
            fact_of(self.session, Seq(at as u64 + 1), line.bytes()).unwrap()
        };
        self.lines
            .iter()
            .enumerate()
            .map(fact)
            .map(|it| it.event)
            .collect()
    }

    /// A journal with these records; appending them repeats every check.
    fn ledger(&self) -> Ledger {
        let journal = SurvivingJournal::new();
        let mut append = Append::new(self.session.0, 0, self.lines.clone());
        append.objects = self.objects.clone();
        block_on(journal.append(append)).unwrap();
        Ledger::new(journal)
    }

    fn replay(&self) -> Report {
        block_on(replay::verify(&self.ledger(), self.session)).unwrap()
    }

    /// The what-if report. Its progress counts add up to the number of records.
    fn what_if(&self, changes: &PolicyChanges) -> what_if::Report {
        let mut read = 0;
        let ledger = self.ledger();
        let report = what_if::what_if(&ledger, self.session, changes, |records| read += records);
        let report = block_on(report).unwrap();
        assert_eq!(read, self.lines.len() as u64);
        report
    }

    /// Changes the body of one record and recomputes every hash that covers it.
    fn alter(&mut self, at: usize, change: impl Fn(&mut Value)) {
        let mut prev = Hash::ZERO;
        for (here, line) in self.lines.iter_mut().enumerate() {
            let record = Record::parse(line.bytes()).unwrap();
            let mut body = record.body.get().to_owned();
            if here == at {
                let mut value = serde_json::from_str(&body).unwrap();
                change(&mut value);
                body = value.to_string();
            }
            let draft = Draft {
                session: record.session,
                seq: record.seq,
                at_us: record.at_us,
                kind: record.kind,
                cause: record.cause,
                actor: record.actor,
                body: &body,
                prev,
            };
            let next = draft.line();
            prev = next.leaf();
            *line = next;
        }
    }
}
