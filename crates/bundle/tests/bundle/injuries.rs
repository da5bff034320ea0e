//! Twenty-four injuries in ten places each, for which both verifiers must have the same verdict.

use std::fmt;

use recount_bundle::{Disclose, Outside, Scope, verify_bundle};
use recount_journal::verify::Integrity;
use recount_journal::{Draft, Hash, Record};

use crate::files::{Files, MANIFEST};
use crate::journals::{Bench, key, session};
use crate::python;
use crate::rewrites;

/// The places of each injury.
const PLACES: usize = 10;

/// An injury of the lines of `records.jsonl`.
type LineEdit = Box<dyn Fn(&mut Vec<Vec<u8>>)>;

/// An injury of files.
type FileEdit<'e> = Box<dyn Fn(&mut Files) + 'e>;

/// The verdicts about an injured bundle: without anything from elsewhere, with the public key, and
/// with the latest checkpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expected {
    pub(crate) alone: Integrity,
    pub(crate) key: Integrity,
    pub(crate) since: Integrity,
}

/// The files do not agree with each other.
pub(crate) const FOUND: Expected = Expected {
    alone: Integrity::Damaged,
    key: Integrity::Damaged,
    since: Integrity::Damaged,
};

/// The files agree with each other, and only something from elsewhere reveals the forgery.
pub(crate) const REVEALED: Expected = Expected {
    alone: Integrity::Consistent,
    key: Integrity::Damaged,
    since: Integrity::Damaged,
};

/// An older bundle, which the key cannot reveal.
pub(crate) const OLDER: Expected = Expected {
    alone: Integrity::Consistent,
    key: Integrity::Anchored,
    since: Integrity::Damaged,
};

/// One injured bundle.
pub(crate) struct Injured {
    pub(crate) name: String,
    pub(crate) files: Files,
    pub(crate) expected: Expected,
}

#[tokio::test]
async fn both_verifiers_agree_on_each_injury() {
    let bench = Bench::with(40).await;
    // Some sessions are out of scope, so that the file has subtrees.
    let sessions = (0..40).filter(|it| it % 5 != 2).map(session).collect();
    let scope = Scope {
        sessions,
        ..Scope::default()
    };
    let request = bench.request(Disclose::Approvals, scope);
    let whole = Files::read(&bench.write("whole", request).await);
    assert!(
        whole
            .lines()
            .iter()
            .any(|it| it.starts_with(b"{\"subtree\""))
    );
    let mut injured = Vec::new();
    for place in 0..PLACES {
        injured.extend(of_lines(&whole, place));
        injured.extend(of_files(&whole, place));
        injured.extend(rewrites::of_files(&whole, place));
    }
    injured.extend(rewrites::of_journals(&bench, PLACES).await);
    assert_eq!(injured.len(), 24 * PLACES);
    agree(&bench, &injured);
}

/// Verifies each bundle in three ways, in Rust and in Python.
fn agree(bench: &Bench, injured: &[Injured]) {
    let folder = bench.folder.path();
    let latest = bench.notes.last().unwrap();
    let since = folder.join("latest");
    std::fs::write(&since, latest.to_string()).unwrap();
    let (since, public) = (since.display().to_string(), bench.key.public());
    let known = vec![public.clone()];
    let (mut runs, mut expected, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (number, it) in injured.iter().enumerate() {
        let path = folder.join(format!("injured-{number}"));
        it.files.write(&path);
        let bundle = path.display().to_string();
        let outsides = [
            (Outside::default(), it.expected.alone, vec![]),
            (
                Outside {
                    public_keys: known.clone(),
                    since: None,
                },
                it.expected.key,
                vec!["--public-key".to_owned(), public.to_string()],
            ),
            (
                Outside {
                    public_keys: Vec::new(),
                    since: Some(latest.clone()),
                },
                it.expected.since,
                vec!["--since".to_owned(), since.clone()],
            ),
        ];
        // A fault within the bundle does not depend on what is known from elsewhere.
        let tried = if it.expected == FOUND { 1 } else { 3 };
        for (outside, verdict, options) in outsides.into_iter().take(tried) {
            let report = verify_bundle(&path, &outside).unwrap();
            let what = format!("{} {options:?}", it.name);
            if report.integrity() != verdict {
                wrong.push(format!(
                    "{what}: {:?} {:?}",
                    report.integrity(),
                    report.findings
                ));
            }
            runs.push([vec![bundle.clone()], options].concat());
            expected.push((what, verdict));
        }
    }
    for ((what, verdict), (code, out)) in expected
        .iter()
        .zip(python::verdicts(folder, &runs).into_iter().flatten())
    {
        let words = words(*verdict);
        if !out.starts_with(words) || (code == 4) != (words == "Damaged") {
            wrong.push(format!("verify.py, {what}: {code} {out}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The first word of a verdict.
fn words(verdict: Integrity) -> &'static str {
    match verdict {
        Integrity::Damaged => "Damaged",
        Integrity::Consistent => "Consistent",
        Integrity::Anchored => "Sound",
    }
}

/// Injuries of one line of the records. The manifest is made anew, so it reveals nothing.
fn of_lines(whole: &Files, place: usize) -> Vec<Injured> {
    let lines = whole.lines();
    // Each place has another line, and they are not all of one kind.
    let at = 1 + place * (lines.len() - 3) / PLACES;
    let next_withheld = (at..)
        .chain(0..)
        .find(|it| lines[*it].starts_with(b"{\"withheld\""));
    let next_record = (at..)
        .chain(0..)
        .find(|it| lines[*it].starts_with(b"{\"v\""));
    let (withheld, record) = (next_withheld.unwrap(), next_record.unwrap());
    // Objects may stand in any order before the records that name them.
    let leaf = |it: &usize| !lines[*it].starts_with(b"{\"object\"");
    let pair = (at..)
        .chain(0..)
        .find(|it| leaf(it) && leaf(&(it + 1)))
        .unwrap();
    let edits: Vec<(&str, LineEdit)> = vec![
        ("flip", Box::new(move |it| flip(&mut it[at]))),
        ("delete", Box::new(move |it| drop(it.remove(at)))),
        (
            "duplicate",
            Box::new(move |it| it.insert(at, it[at].clone())),
        ),
        ("swap", Box::new(move |it| it.swap(pair, pair + 1))),
        ("truncate", Box::new(move |it| it.truncate(at))),
        ("insert", Box::new(move |it| it.insert(at, made_up()))),
        (
            "halve",
            Box::new(move |it| {
                let half = it[at].len() / 2;
                it[at].truncate(half);
            }),
        ),
        (
            "withhold",
            Box::new(move |it| it[record] = withhold(&it[record])),
        ),
        (
            "withheld hash",
            Box::new(move |it| {
                let hash = Hash::of_object(&it[withheld]).to_string();
                let start = b"{\"withheld\":{\"hash\":\"".len();
                it[withheld][start..start + 64].copy_from_slice(hash.as_bytes());
            }),
        ),
        (
            "renumber",
            Box::new(move |it| {
                let text = String::from_utf8(it[record].clone()).unwrap();
                it[record] = text.replacen("\"seq\":", "\"seq\":1", 1).into_bytes();
            }),
        ),
    ];
    let injure = |(what, edit): (&str, LineEdit)| {
        let (mut files, mut lines) = (whole.clone(), lines.clone());
        edit(&mut lines);
        files.put_lines(&lines);
        files.list();
        Injured {
            name: format!("{what} line {at}"),
            files,
            expected: FOUND,
        }
    };
    edits.into_iter().map(injure).collect()
}

/// Injuries of whole files. Where a file is exchanged, the manifest is made anew.
fn of_files(whole: &Files, place: usize) -> Vec<Injured> {
    let names: Vec<String> = whole
        .0
        .keys()
        .filter(|it| *it != MANIFEST)
        .cloned()
        .collect();
    let name = &names[place * names.len() / PLACES];
    let proofs = whole.names("proofs/");
    let (proof, other) = (
        &proofs[place % proofs.len()],
        &proofs[(place + 1) % proofs.len()],
    );
    let terms = [whole.names("policies/"), whole.names("contracts/")].concat();
    let (term, other_term) = (
        &terms[place % terms.len()],
        &terms[(place + 1) % terms.len()],
    );
    let older = &whole.names("checkpoints/");
    let older = &older[place % (older.len() - 1)];
    let edits: Vec<(&str, bool, FileEdit<'_>)> = vec![
        (
            "flip",
            false,
            Box::new(|it| flip(it.0.get_mut(name).unwrap())),
        ),
        ("delete", false, Box::new(|it| drop(it.0.remove(name)))),
        (
            "add",
            false,
            Box::new(|it| drop(it.0.insert(format!("{name}-2"), vec![]))),
        ),
        (
            "unlist",
            false,
            Box::new(|it| {
                let manifest = String::from_utf8(it.0[MANIFEST].clone()).unwrap();
                let rest = manifest
                    .lines()
                    .filter(|it| !it.ends_with(&format!("  {name}")));
                let rest: String = rest.map(|it| format!("{it}\n")).collect();
                it.0.insert(MANIFEST.to_owned(), rest.into_bytes());
            }),
        ),
        (
            "exchange a proof",
            true,
            Box::new(|it| {
                let content = it.0[other].clone();
                it.0.insert(proof.clone(), content);
            }),
        ),
        (
            "exchange policies",
            true,
            Box::new(|it| {
                let content = it.0[other_term].clone();
                it.0.insert(term.clone(), content);
            }),
        ),
        (
            "another policy",
            true,
            Box::new(|it| {
                let content = b"{\"tools\":{}}".to_vec();
                let folder = term.split('/').next().unwrap();
                let hash = Hash::of_object(&content);
                it.0.remove(term);
                it.0.insert(format!("{folder}/{hash}.json"), content);
            }),
        ),
        (
            "an older checkpoint",
            true,
            Box::new(|it| {
                let content = it.0[older].clone();
                it.0.insert("checkpoint".to_owned(), content);
            }),
        ),
    ];
    let injure = |(what, is_listed, edit): (&str, bool, FileEdit<'_>)| {
        let mut files = whole.clone();
        edit(&mut files);
        if is_listed {
            files.list();
        }
        Injured {
            name: format!("{what} {name} at {place}"),
            files,
            expected: FOUND,
        }
    };
    edits.into_iter().map(injure).collect()
}

/// Changes a letter or digit in the middle. Of a withheld record, only the hash is proven.
fn flip(bytes: &mut [u8]) {
    let middle = match bytes.starts_with(b"{\"withheld\"") {
        true => 40,
        false => bytes.len() / 2,
    };
    let at = (middle..bytes.len()).find(|it| bytes[*it].is_ascii_alphanumeric());
    let at = at.unwrap_or(middle);
    bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
}

/// A record of a session that does not exist.
fn made_up() -> Vec<u8> {
    let draft = Draft {
        session: uuid::Uuid::from_u128(9),
        seq: 1,
        at_us: 0,
        kind: "user_text_sent",
        cause: None,
        actor: recount_journal::Actor::new("user"),
        body: "{}",
        prev: Hash::ZERO,
    };
    [draft.line().bytes(), b"\n"].concat()
}

/// The line of a record as that of a withheld one.
pub(crate) fn withhold(line: &[u8]) -> Vec<u8> {
    let line = line.strip_suffix(b"\n").unwrap();
    let record = Record::parse(line).unwrap();
    let shown = Draft {
        session: record.session,
        seq: record.seq,
        at_us: record.at_us,
        kind: record.kind,
        cause: record.cause,
        actor: record.actor.clone(),
        body: "null",
        prev: record.prev,
    };
    let (hash, shown) = (Hash::of_line(line), shown.line());
    let shown = str::from_utf8(shown.bytes()).unwrap();
    format!("{{\"withheld\":{{\"hash\":\"{hash}\",\"record\":{shown}}}}}\n").into_bytes()
}

impl fmt::Debug for Injured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[tokio::test]
async fn key_of_another_signer_does_not_anchor() {
    let bench = Bench::with(3).await;
    let request = bench.request(Disclose::All, Scope::default());
    let path = bench.write("whole", request).await;
    let outside = Outside {
        public_keys: vec![key().public()],
        since: None,
    };
    let report = verify_bundle(&path, &outside).unwrap();
    assert_eq!(report.integrity(), Integrity::Damaged);
    assert!(
        report.findings[0].contains("known key"),
        "{:?}",
        report.findings
    );
}
