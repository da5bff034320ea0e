//! A process that is killed with SIGKILL loses no acknowledged record, however often that happens.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use recount_journal::{
    Actor, After, Append, DiskJournal, Draft, Hash, Head, Journal, Line, Object, OpenItem, Record,
    WorkChange, block_on, verify,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::random::{Random, times};
use crate::stream::options;

const JOURNAL: &str = "RECOUNT_JOURNAL_KILL";
const WRITERS: u128 = 64;
const SEED: u64 = 0x5eed_0003;
/// The number of kills of one journal; then another is started.
const KILLS_OF_ONE: u64 = 100;
/// The maximum number of acknowledgements that are read before the kill.
const PATIENCE: u64 = 1_000;

/// The child process that is killed, not a test by itself.
#[test]
fn child_appends() {
    let Ok(path) = env::var(JOURNAL) else { return };
    println!("opening");
    let journal = options(Path::new(&path)).open().unwrap();
    thread::scope(|scope| {
        for number in 1..=WRITERS {
            let journal = &journal;
            scope.spawn(move || {
                let session = Uuid::from_u128(number);
                let mut head = block_on(journal.head(session)).unwrap();
                loop {
                    let append = next_append(journal, session, head);
                    let kept = block_on(journal.append(append)).unwrap();
                    // One write, so that the lines of two threads do not mix.
                    let told = format!("kept {session} {} {}\n", kept.seq, kept.hash);
                    io::stdout().lock().write_all(told.as_bytes()).unwrap();
                    head = Some(kept);
                }
            });
        }
    });
}

/// Creates one to four records that name their append, sometimes with an object. They settle the
/// open item of the previous append and open one of this append.
fn next_append(journal: &dyn Journal, session: Uuid, head: Option<Head>) -> Append {
    let expected = head.map_or(0, |head| head.seq);
    let mut prev = head.map_or(Hash::ZERO, |head| head.hash);
    let mut random =
        Random::new(expected ^ u64::from_be_bytes(session.as_bytes()[8..].try_into().unwrap()));
    let of = random.below(4) + 1;
    let object = (random.below(8) == 0)
        .then(|| Object::new(random.number().to_be_bytes().repeat(random.index(300))));
    let mut lines = Vec::new();
    for n in 0..of {
        let body = json!({
            "append": expected + 1,
            "of": of,
            "object": object.as_ref().map(|object| object.hash.to_string()),
            "text": "k".repeat(random.index(300)),
        });
        let draft = Draft {
            session,
            seq: expected + 1 + n,
            at_us: 0,
            kind: "noted",
            cause: None,
            actor: Actor::new("engine"),
            body: &body.to_string(),
            prev,
        };
        lines.push(draft.line());
        prev = lines.last().map_or(prev, Line::leaf);
    }
    let mut append = Append::new(session, expected, lines);
    append.objects.extend(object);
    if expected > 0 {
        let last = block_on(journal.read(session, expected, 1)).unwrap();
        let item = body_of(&last[0])["append"].as_u64().unwrap();
        append.open_work.push(WorkChange::Remove { session, item });
    }
    append
        .open_work
        .push(WorkChange::Put(item(session, expected + 1)));
    append
}

fn item(session: Uuid, item: u64) -> OpenItem {
    OpenItem {
        session,
        item,
        kind: "call".to_owned(),
        since_us: 0,
        deadline_us: None,
        request: None,
        flags: 0,
    }
}

fn body_of(line: &Line) -> Value {
    serde_json::from_str(Record::parse(line.bytes()).unwrap().body.get()).unwrap()
}

#[test]
fn nothing_acknowledged_is_lost() {
    let kills = times("RECOUNT_KILLS", 50);
    let (mut acknowledged, mut records) = (0, 0);
    let mut done = 0;
    while done < kills {
        let directory = tempfile::tempdir().unwrap();
        let mut known = BTreeMap::new();
        for kill in done..kills.min(done + KILLS_OF_ONE) {
            let mut random = Random::new(SEED ^ kill);
            let kept = appended_until_killed(directory.path(), &mut random);
            acknowledged += kept.len() as u64;
            let last = kept
                .into_iter()
                .map(|(session, seq, hash)| (session, (seq, hash)));
            let last: BTreeMap<_, _> = last.collect();
            // Opening for reading leaves the crash to the next process. Otherwise the crash is
            // handled here, and the journal is closed.
            let looks = random.below(2) == 0 && directory.path().join("log").exists();
            let opened = if looks && !known.is_empty() {
                options(directory.path()).read_only().open()
            } else {
                options(directory.path()).open()
            };
            let journal = opened.unwrap_or_else(|error| panic!("kill {kill}: {error}"));
            if !last.is_empty() {
                assert_eq!(journal.opened().after, After::Crash, "kill {kill}");
            }
            for number in 1..=WRITERS {
                let session = Uuid::from_u128(number);
                let checked = check(&journal, session, &mut known, last.get(&session));
                checked.unwrap_or_else(|what| {
                    panic!("kill {kill} (seed {SEED:#x}), {session}: {what}")
                });
            }
            drop(journal);
            if kill % 25 == 24 || kill + 1 == kills {
                let report = verify::directory(directory.path()).unwrap();
                assert!(report.is_sound(), "kill {kill}: {report:?}");
                for (session, known) in &known {
                    assert_eq!(report.heads.get(session), Some(known));
                }
            }
        }
        records += known.values().map(|head| head.seq).sum::<u64>();
        done = kills.min(done + KILLS_OF_ONE);
    }
    println!(
        "kills: {kills} (seed {SEED:#x}), acknowledged appends: {acknowledged}, \
         records kept: {records}, lost: 0"
    );
}

/// Reads a stream from its known end: complete appends in order, at least up to the acknowledged
/// one.
fn check(
    journal: &DiskJournal,
    session: Uuid,
    known: &mut BTreeMap<Uuid, Head>,
    acknowledged: Option<&(u64, String)>,
) -> Result<(), String> {
    let told = |error: recount_journal::Error| error.to_string();
    let head = block_on(journal.head(session)).map_err(told)?;
    let found = head.map_or(0, |head| head.seq);
    let start = known.get(&session).map_or(0, |head| head.seq);
    let least = acknowledged.map_or(start, |(seq, _)| *seq);
    if found < least {
        return Err(format!("it ends at {found}, acknowledged was {least}"));
    }
    let Some(head) = head else { return Ok(()) };
    let lines = block_on(journal.read(session, start.max(1), usize::MAX)).map_err(told)?;
    let mut prev = Hash::ZERO;
    let mut left = 0;
    for (seq, line) in (start.max(1)..).zip(&lines) {
        let record = Record::parse(line.bytes()).map_err(|error| error.to_string())?;
        let before = seq == start && known.get(&session).map(|head| head.hash) == Some(line.leaf());
        if record.seq != seq || !(before || record.prev == prev) {
            return Err(format!("record {seq} does not follow"));
        }
        prev = line.leaf();
        if acknowledged.is_some_and(|(at, hash)| *at == seq && *hash != prev.to_string()) {
            return Err(format!("record {seq} is not the one acknowledged"));
        }
        if before {
            continue;
        }
        let body = body_of(line);
        if left == 0 {
            left = body["of"].as_u64().unwrap();
            if body["append"] != seq {
                return Err(format!("an append is torn before {seq}"));
            }
        }
        left -= 1;
        if let Some(hash) = body["object"].as_str() {
            let object = block_on(journal.object(hash.parse().unwrap())).map_err(told)?;
            object.ok_or_else(|| format!("the object of record {seq} is gone"))?;
        }
    }
    if left > 0 || head.hash != prev || start + lines.len() as u64 != found + u64::from(start > 0) {
        return Err(format!(
            "it ends at {found} within an append, or not at its head"
        ));
    }
    let last = lines
        .last()
        .map(|line| body_of(line)["append"].as_u64().unwrap());
    let open = block_on(journal.open_work_of(session)).map_err(told)?;
    if open != Vec::from_iter(last.map(|last| item(session, last))) {
        return Err(format!("it ends at {found} with {open:?} open"));
    }
    known.insert(session, head);
    Ok(())
}

/// Returns the acknowledgements of a child that is killed after some of them, or while it opens the
/// journal.
fn appended_until_killed(path: &Path, random: &mut Random) -> Vec<(Uuid, u64, String)> {
    let while_opening = random.below(8) == 0;
    let patience = random.below(PATIENCE) + 1;
    let mut child = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "kills::child_appends",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(JOURNAL, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let mut acknowledged = Vec::new();
    // Acknowledgements before the kill are still read after it.
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            // The test harness writes the start of the line.
            [.., "opening"] if while_opening => child.kill().unwrap(),
            // The last line may be cut.
            ["kept", session, seq, hash] if hash.len() == 64 => {
                let seq = seq.parse().unwrap();
                acknowledged.push((session.parse().unwrap(), seq, hash.to_owned()));
                if acknowledged.len() as u64 == patience {
                    child.kill().unwrap();
                }
            }
            _ => {}
        }
    }
    child.wait().unwrap();
    assert!(while_opening || acknowledged.len() as u64 >= patience);
    acknowledged
}
