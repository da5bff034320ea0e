//! Sessions whose records alternate in a file are imported like each of them alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use recount_journal::{DiskJournal, Draft, ExportWriter, Hash, Journal, Line, block_on};
use serde_json::Value;
use uuid::Uuid;

/// A session of the corpus under another id: its objects and its records.
struct Told {
    objects: Vec<(Hash, Vec<u8>)>,
    lines: Vec<Line>,
}

fn told(file: &Path, id: Uuid) -> Told {
    let (mut objects, mut lines, mut prev) = (Vec::new(), Vec::new(), Hash::ZERO);
    for line in fs::read_to_string(file).unwrap().lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        if let Some(hash) = value["object"].as_str() {
            let text = value["text"].as_str().unwrap();
            objects.push((hash.parse().unwrap(), text.into()));
        } else if value["v"] == 1 {
            let line = Line::new(line);
            let record = line.record().unwrap();
            let draft = Draft {
                session: id,
                seq: record.seq,
                at_us: record.at_us,
                kind: record.kind,
                cause: record.cause,
                actor: record.actor,
                body: record.body.get(),
                prev,
            };
            lines.push(draft.line());
            prev = lines.last().unwrap().leaf();
        }
    }
    Told { objects, lines }
}

/// A file with the sessions, record by record in turns.
fn in_turns(sessions: &[Told]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = ExportWriter::new(&mut file);
    writer.at(0).unwrap();
    for (hash, bytes) in sessions.iter().flat_map(|it| &it.objects) {
        writer.object(*hash, bytes).unwrap();
    }
    let longest = sessions.iter().map(|it| it.lines.len()).max().unwrap();
    for at in 0..longest {
        for line in sessions.iter().filter_map(|it| it.lines.get(at)) {
            writer.record(line).unwrap();
        }
    }
    writer.finish().unwrap();
    file
}

/// The open work of an import of a file, by session.
fn open_work(file: &[u8]) -> BTreeMap<Uuid, Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    super::import(file, &path, None).unwrap();
    let journal = DiskJournal::options(&path).read_only().open().unwrap();
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for item in block_on(journal.open_work(None, 10_000)).unwrap() {
        found
            .entry(item.session)
            .or_default()
            .push(format!("{item:?}"));
    }
    found
}

#[test]
fn sessions_in_turns_have_the_open_work_of_each_alone() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals/rules-1");
    let mut files: Vec<_> = fs::read_dir(corpus)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    files.sort();
    // Each story once as a whole, and once up to each of its first requests.
    let mut sessions = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let whole = told(file, Uuid::from_u128(1 + 2 * number as u128));
        let mut open = told(file, Uuid::from_u128(2 + 2 * number as u128));
        let asked = |line: &Line| line.record().unwrap().kind == "confirmation_requested";
        if let Some(at) = open.lines.iter().position(asked) {
            open.lines.truncate(at + 1);
            sessions.push(open);
        }
        sessions.push(whole);
    }
    let alone: BTreeMap<_, _> = (sessions.chunks(1))
        .flat_map(|session| open_work(&in_turns(session)))
        .collect();
    assert!(alone.len() >= 10, "{} sessions have open work", alone.len());
    assert_eq!(open_work(&in_turns(&sessions)), alone);
}

#[test]
fn session_without_its_policies_is_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals/rules-1");
    let mut session = told(&corpus.join("approved.jsonl"), Uuid::from_u128(1));
    session.objects.clear();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let error = super::import(&in_turns(&[session])[..], &path, None).unwrap_err();
    assert!(
        matches!(error, super::Error::MissingObject { .. }),
        "{error}"
    );
    assert!(!path.exists());
}
