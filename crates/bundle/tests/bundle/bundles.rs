//! The contents of bundles: scope, disclosure, sample, the file as a whole.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use recount::audit::LabelFilter;
use recount::ledger::read_export;
use recount::replay;
use recount::session::Timestamp;
use recount_bundle::{
    Contents, Disclose, Outside, Sample, Scope, WriteError, is_bundle, verify_bundle, write,
};
use recount_evidence::Leaves;
use recount_journal::verify::Integrity;
use serde_json::Value;

use crate::files::Files;
use crate::journals::{Bench, session};

/// The records of a bundle as JSON: those that are shown, and those that are not.
fn records(files: &Files) -> (Vec<Value>, Vec<Value>) {
    let lines = files.lines();
    let values = lines
        .iter()
        .map(|it| serde_json::from_slice::<Value>(it).unwrap());
    let (shown, rest): (Vec<_>, Vec<_>) = values.partition(|it| it.get("v").is_some());
    let withheld = rest.iter().filter_map(|it| it.get("withheld"));
    let withheld = withheld.map(|it| it["record"].clone()).collect();
    (shown, withheld)
}

fn sessions(files: &Files) -> BTreeSet<String> {
    let (shown, withheld) = records(files);
    let all = shown.iter().chain(&withheld);
    let ids = all.map(|it| it["session"].as_str().unwrap().to_owned());
    ids.filter(|it| *it != uuid::Uuid::nil().to_string())
        .collect()
}

fn kinds(records: &[Value]) -> BTreeSet<&str> {
    records
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect()
}

fn sound(bench: &Bench, path: &Path) {
    let outside = Outside {
        public_keys: vec![bench.key.public()],
        since: bench.notes.first().cloned(),
    };
    let report = verify_bundle(path, &outside).unwrap();
    assert_eq!(report.findings, Vec::<String>::new());
    let anchored = report.anchored.unwrap();
    assert_eq!(anchored.signed_by, ["example.com/journal"]);
    assert_eq!(report.size, bench.size());
}

#[tokio::test]
async fn scope_chooses_whole_sessions() {
    let bench = Bench::with(31).await;
    let names = |numbers: &[usize]| -> BTreeSet<String> {
        numbers.iter().map(|it| session(*it).to_string()).collect()
    };
    let scopes = [
        (
            "by-id",
            Scope {
                sessions: vec![session(3), session(7)],
                ..Scope::default()
            },
            names(&[3, 7]),
        ),
        (
            "by-agent",
            Scope {
                agents: vec!["billing".to_owned()],
                ..Scope::default()
            },
            names(&[]),
        ),
        (
            "by-label",
            Scope {
                labels: vec![LabelFilter::parse("tenant=acme")],
                ..Scope::default()
            },
            names(&[28]),
        ),
    ];
    for (name, scope, expected) in scopes {
        let path = bench.write(name, bench.request(Disclose::All, scope)).await;
        let files = Files::read(&path);
        assert_eq!(sessions(&files), expected, "{name}");
        sound(&bench, &path);
        let own = uuid::Uuid::nil().to_string();
        let (shown, _) = records(&files);
        let checkpoints = shown.iter().filter(|it| it["session"] == own.as_str());
        assert_eq!(checkpoints.count(), bench.notes.len(), "{name}");
    }
}

#[tokio::test]
async fn time_and_tool_choose_sessions_and_count_calls() {
    let bench = Bench::with(31).await;
    let ledger = bench.ledger();
    let leaves = Leaves::of(&*bench.journal).await.unwrap();
    let read = |scope: Scope| {
        let request = bench.request(Disclose::All, scope);
        Contents::read(&ledger, request, &leaves, |_, _| ())
    };
    let all = read(Scope::default()).await.unwrap();
    let moments: Vec<Timestamp> = all.calls().map(|it| it.called_at).collect();
    let latest = *moments.iter().max().unwrap();
    let since = Scope {
        since: Some(latest),
        ..Scope::default()
    };
    let since = read(since).await.unwrap();
    assert!(!since.sessions.is_empty() && since.sessions.len() < all.sessions.len());
    assert!(since.sessions.iter().all(|it| it.last_at >= latest));
    assert!(since.calls().all(|it| it.moments().any(|at| at >= latest)));
    let until = Scope {
        until: Some(Timestamp(0)),
        ..Scope::default()
    };
    assert!(read(until).await.unwrap().sessions.is_empty());
    let tool = all.calls().next().unwrap().tool.clone();
    let of_tool = Scope {
        tools: vec![tool.clone()],
        ..Scope::default()
    };
    let of_tool = read(of_tool).await.unwrap();
    assert!(of_tool.calls().count() > 0 && of_tool.calls().all(|it| it.tool == tool));
}

#[tokio::test]
async fn nothing_of_a_session_is_disclosed_if_so_asked() {
    let bench = Bench::with(12).await;
    let path = bench
        .write("none", bench.request(Disclose::None, Scope::default()))
        .await;
    let files = Files::read(&path);
    let (shown, withheld) = records(&files);
    assert_eq!(kinds(&shown), BTreeSet::from(["checkpoint_signed"]));
    assert!(withheld.len() > 100 && withheld.iter().all(|it| it["body"].is_null()));
    assert!(files.names("policies/").is_empty() && files.names("proofs/").is_empty());
    sound(&bench, &path);
}

#[tokio::test]
async fn words_of_people_and_other_calls_are_withheld() {
    let bench = Bench::with(40).await;
    let request = bench.request(Disclose::Approvals, Scope::default());
    let path = bench.write("approvals", request).await;
    let files = Files::read(&path);
    let (shown, withheld) = records(&files);
    let words = [
        "user_text_sent",
        "model_output_received",
        "transcript_received",
    ];
    assert!(words.iter().all(|it| !kinds(&shown).contains(it)));
    assert!(kinds(&withheld).contains("user_text_sent"));
    for kind in [
        "confirmation_requested",
        "confirmation_answered",
        "approval_given",
        "leave_used",
    ] {
        assert!(
            kinds(&shown).contains(kind) && !kinds(&withheld).contains(kind),
            "{kind}"
        );
    }
    // Calls that no person was asked about are withheld with all that belongs to them.
    assert!(kinds(&withheld).contains("function_call_received"));
    let answered = shown
        .iter()
        .filter(|it| it["kind"] == "confirmation_answered");
    assert_eq!(files.names("proofs/").len(), answered.count());
    sound(&bench, &path);
}

#[tokio::test]
async fn sample_is_drawn_by_rank_and_shown_alone() {
    let bench = Bench::with(40).await;
    let mut request = bench.request(Disclose::All, Scope::default());
    request.sample = Some(Sample {
        count: 5,
        seed: "auditor".to_owned(),
    });
    let path = bench.write("sample", request).await;
    let mut files = Files::read(&path);
    sound(&bench, &path);
    let text = String::from_utf8(files.0["population.jsonl"].clone()).unwrap();
    let mut population: Vec<Value> = text
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    population.sort_by_key(|it| it["rank"].as_str().unwrap().to_owned());
    let (shown, _) = records(&files);
    let received = shown
        .iter()
        .filter(|it| it["kind"] == "function_call_received");
    let received: BTreeSet<_> = received
        .map(|it| (it["session"].to_string(), it["seq"].as_u64().unwrap()))
        .collect();
    let drawn = population.iter().take(5);
    let drawn: BTreeSet<_> = drawn
        .map(|it| (it["session"].to_string(), it["call"].as_u64().unwrap()))
        .collect();
    assert_eq!(received, drawn);
    // A writer who prefers another call is found.
    let member = &population[0];
    let others: Vec<&str> = text
        .lines()
        .filter(|it| !it.contains(member["rank"].as_str().unwrap()))
        .collect();
    let wished = text.replacen(member["rank"].as_str().unwrap(), &"f".repeat(64), 1);
    for (name, text) in [("wished", wished), ("shorter", others.join("\n"))] {
        files
            .0
            .insert("population.jsonl".to_owned(), text.into_bytes());
        files.list();
        let path = bench.folder.path().join(name);
        files.write(&path);
        let report = verify_bundle(&path, &Outside::default()).unwrap();
        assert_eq!(report.integrity(), Integrity::Damaged, "{name}");
    }
}

#[tokio::test]
async fn decisions_follow_from_a_bundle_with_everything() {
    let bench = Bench::with(12).await;
    let scope = Scope {
        sessions: vec![session(4), session(9)],
        ..Scope::default()
    };
    let path = bench
        .write("all", bench.request(Disclose::All, scope))
        .await;
    let export = fs::read(path.join("records.jsonl")).unwrap();
    let ledger = read_export(&export[..], None).unwrap().ledger;
    for number in [4, 9] {
        let replayed = replay::verify(&ledger, session(number)).await.unwrap();
        assert!(replayed.diverged.is_none() && replayed.decisions > 0);
    }
    let page = fs::read_to_string(path.join("README.md")).unwrap();
    assert!(page.contains("recount replay records.jsonl"));
}

#[tokio::test]
async fn zip_file_has_the_same_bytes_each_time() {
    let bench = Bench::with(6).await;
    let request = || bench.request(Disclose::Approvals, Scope::default());
    let (one, other) = (
        bench.write("one.zip", request()).await,
        bench.write("two.zip", request()).await,
    );
    assert_eq!(fs::read(&one).unwrap(), fs::read(&other).unwrap());
    assert!(is_bundle(&one) && !is_bundle(bench.folder.path()));
    sound(&bench, &one);
    let folder = bench.write("folder", request()).await;
    assert!(is_bundle(&folder));
    let mut bytes = fs::read(&one).unwrap();
    bytes.truncate(bytes.len() / 2);
    fs::write(&one, bytes).unwrap();
    let report = verify_bundle(&one, &Outside::default()).unwrap();
    assert_eq!(report.integrity(), Integrity::Damaged);
}

#[tokio::test]
async fn taken_place_is_left_as_it_is() {
    let bench = Bench::with(1).await;
    let taken = bench.folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("file"), "kept").unwrap();
    fs::write(bench.folder.path().join("taken.zip"), "kept").unwrap();
    let ledger = bench.ledger();
    let leaves = Leaves::of(&*bench.journal).await.unwrap();
    let request = bench.request(Disclose::All, Scope::default());
    let contents = Contents::read(&ledger, request, &leaves, |_, _| ())
        .await
        .unwrap();
    for name in ["taken", "taken.zip"] {
        let path = bench.folder.path().join(name);
        let written = write(&ledger, &contents, &leaves, &path, |_, _| ()).await;
        assert!(
            matches!(written, Err(WriteError::Occupied { .. })),
            "{name}"
        );
    }
    // The leaves of another journal: it fails in the middle, and nothing stays.
    let mut other = contents.clone();
    other.extent.root = recount_journal::Hash::ZERO;
    for name in ["new", "new.zip"] {
        let path = bench.folder.path().join(name);
        let written = write(&ledger, &other, &leaves, &path, |_, _| ()).await;
        assert!(matches!(written, Err(WriteError::Io(_))), "{name}");
    }
    let left = fs::read_dir(bench.folder.path()).unwrap();
    let mut left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["journal", "taken", "taken.zip"]);
    assert_eq!(fs::read(taken.join("file")).unwrap(), b"kept");
}
