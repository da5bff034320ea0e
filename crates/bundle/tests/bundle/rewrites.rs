//! Forgers who compute all hashes anew: only something from elsewhere reveals them.

use std::collections::BTreeMap;

use recount_bundle::{Disclose, Scope};
use recount_evidence::{Checkpoint, Note};
use recount_journal::tree::Frontier;
use recount_journal::{Actor, Append, Draft, Hash, Journal, Record};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::files::{Files, MANIFEST};
use crate::injuries::{Expected, FOUND, Injured, OLDER, REVEALED};
use crate::journals::{Bench, ORIGIN, key, session};

/// A forger with the files of a bundle alters one record and computes everything behind it anew.
pub(crate) fn of_files(whole: &Files, place: usize) -> Vec<Injured> {
    let lines = whole.lines();
    let at = 1 + place * (lines.len() - 3) / 12;
    let found = (at..)
        .chain(0..)
        .find(|it| lines[*it].starts_with(b"{\"v\"") && goes_on(&lines, *it))
        .unwrap();
    let mut forged = whole.clone();
    let roots = rewrite(&mut forged, found, true);
    let named = |what: &str, mut files: Files, expected: Expected| {
        files.list();
        Injured {
            name: format!("{what}, record in line {found}"),
            files,
            expected,
        }
    };
    let (mut bare, mut signed) = (forged.clone(), forged.clone());
    // A careless forger makes the tree and the trailer anew, but not the chain of the session.
    let mut careless = whole.clone();
    rewrite(&mut careless, found, false);
    // Without checkpoints, nothing in the bundle contradicts it.
    for files in [&mut bare, &mut careless] {
        files
            .0
            .retain(|name, _| !name.starts_with("checkpoint") && !name.starts_with("proofs/"));
        told(files, "signed", json!(null));
    }
    // Or all of them are made again, by another key of the same name.
    let key = key();
    signed.0.retain(|name, _| !name.starts_with("proofs/"));
    for name in signed.names("checkpoint") {
        let note: Note = str::from_utf8(&signed.0[&name]).unwrap().parse().unwrap();
        let size = Checkpoint::of(&note).unwrap().size;
        let again = Checkpoint::new(ORIGIN, size, roots[&size]).unwrap();
        let mut again = Note::new(again.to_string()).unwrap();
        again.sign(&key).unwrap();
        signed.0.insert(name, again.to_string().into_bytes());
    }
    for name in signed.names("keys/") {
        signed
            .0
            .insert(name, format!("{}\n", key.public()).into_bytes());
    }
    vec![
        named("forged without the chain", careless, FOUND),
        named("forged under the old checkpoints", forged, FOUND),
        named("forged without checkpoints", bare, REVEALED),
        named("forged and signed by another key", signed, REVEALED),
    ]
}

/// True if a later line has a record of the same session.
fn goes_on(lines: &[Vec<u8>], at: usize) -> bool {
    let record = Record::parse(lines[at].strip_suffix(b"\n").unwrap()).unwrap();
    let id = format!("\"session\":\"{}\"", record.session);
    let has = |line: &Vec<u8>| String::from_utf8_lossy(line).contains(&id);
    lines[at + 1..].iter().any(has)
}

/// Alters the record in a line, and computes all hashes behind it anew. Returns the roots by the
/// number of leaves.
///
/// Without `chains`, each record still names the hash that was before it.
fn rewrite(files: &mut Files, at: usize, chains: bool) -> BTreeMap<u64, Hash> {
    let mut heads: BTreeMap<Uuid, Hash> = BTreeMap::new();
    let (mut tree, mut roots, mut out) = (Frontier::default(), BTreeMap::new(), Vec::new());
    for (number, line) in files.lines().into_iter().enumerate() {
        let line = line.strip_suffix(b"\n").unwrap();
        let value: Value = serde_json::from_slice(line).unwrap();
        let new = if value.get("v").is_some() {
            let record = Record::parse(line).unwrap();
            let altered = (number == at).then_some("{\"forged\":true}");
            let prev = heads.get(&record.session).copied().unwrap_or(Hash::ZERO);
            let prev = if chains { prev } else { record.prev };
            let new = behind(&record, prev, altered.unwrap_or(record.body.get()));
            heads.insert(record.session, Hash::of_line(&new));
            tree.push(Hash::of_line(&new));
            new
        } else if let Some(withheld) = value.get("withheld") {
            let shown = withheld["record"].to_string();
            let start = line.windows(9).position(|it| it == b"\"record\":").unwrap() + 9;
            let record = Record::parse(&line[start..line.len() - 2]).unwrap();
            let told: Hash = withheld["hash"].as_str().unwrap().parse().unwrap();
            let old = heads.get(&record.session).copied().unwrap_or(Hash::ZERO);
            // What is withheld names the hash before it, so its own hash changes, too.
            let prev = if chains { old } else { record.prev };
            let hash = match prev == record.prev {
                true => told,
                false => Hash::of_object(shown.as_bytes()),
            };
            let new = String::from_utf8(behind(&record, prev, "null")).unwrap();
            heads.insert(record.session, hash);
            tree.push(hash);
            format!("{{\"withheld\":{{\"hash\":\"{hash}\",\"record\":{new}}}}}").into_bytes()
        } else if let Some(subtree) = value.get("subtree") {
            let hash = subtree["hash"].as_str().unwrap().parse().unwrap();
            assert!(tree.push_subtree(subtree["leaves"].as_u64().unwrap(), hash));
            line.to_vec()
        } else if let Some(trailer) = value.get("trailer") {
            let mut trailer = trailer.clone();
            for (id, hash) in &heads {
                trailer["heads"][id.to_string()]["hash"] = json!(hash);
            }
            trailer["root"] = json!(tree.root());
            json!({ "trailer": trailer }).to_string().into_bytes()
        } else {
            line.to_vec()
        };
        out.push([new, b"\n".to_vec()].concat());
        roots.insert(tree.size(), tree.root());
    }
    files.put_lines(&out);
    told(files, "root", json!(tree.root()));
    roots
}

/// The bytes of a record with another body, behind another record.
fn behind(record: &Record<'_>, prev: Hash, body: &str) -> Vec<u8> {
    let draft = Draft {
        session: record.session,
        seq: record.seq,
        at_us: record.at_us,
        kind: record.kind,
        cause: record.cause,
        actor: record.actor.clone(),
        body,
        prev,
    };
    draft.line().bytes().to_vec()
}

/// Changes what `bundle.json` says.
fn told(files: &mut Files, member: &str, value: Value) {
    let mut description: Value = serde_json::from_slice(&files.0["bundle.json"]).unwrap();
    description[member] = value;
    let text = serde_json::to_vec(&description).unwrap();
    files.0.insert("bundle.json".to_owned(), text);
}

/// A forger with the journal: it is rolled back to an older copy, or shown to two people in two
/// ways. The signer was made to sign all of them.
pub(crate) async fn of_journals(bench: &Bench, places: usize) -> Vec<Injured> {
    let mut injured = Vec::new();
    for place in 0..places {
        let older = Bench::signed(3 * (place + 1), again(bench)).await;
        injured.push(Injured {
            name: format!("rolled back to {} sessions", 3 * (place + 1)),
            files: bundle(&older).await,
            expected: OLDER,
        });
        let mut other = Bench::signed(3 * (place + 1), again(bench)).await;
        // From here on the other view has other records, more than the first one.
        for number in 0..200_usize {
            let id = session(100 + number).0;
            let draft = Draft {
                session: id,
                seq: 1,
                at_us: 0,
                kind: "session_opened",
                cause: None,
                actor: Actor::new("engine"),
                body: r#"{"agent":"support","rules":1,"program":"recount 0.1.0"}"#,
                prev: Hash::ZERO,
            };
            let append = Append::new(id, 0, vec![draft.line()]);
            other.journal.append(append).await.unwrap();
        }
        other.checkpoint().await;
        injured.push(Injured {
            name: format!("another view from {} sessions on", 3 * (place + 1)),
            files: bundle(&other).await,
            expected: OLDER,
        });
    }
    injured
}

fn again(bench: &Bench) -> recount_evidence::PrivateKey {
    bench.key.to_secret_text().parse().unwrap()
}

async fn bundle(bench: &Bench) -> Files {
    let request = bench.request(Disclose::Approvals, Scope::default());
    let files = Files::read(&bench.write("bundle", request).await);
    assert!(files.0.contains_key(MANIFEST));
    files
}
