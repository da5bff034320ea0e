//! A process ended by SIGKILL loses nothing that it was told is kept.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use recount_journal::{After, DiskJournal, Journal, block_on, verify};
use uuid::Uuid;

use crate::stream::Stream;

const JOURNAL: &str = "RECOUNT_JOURNAL_KILL";
const KILLS: usize = 6;
const ACKNOWLEDGEMENTS: usize = 60;

/// Not a test by itself: the process that is killed.
#[test]
fn child_appends() {
    let Ok(path) = env::var(JOURNAL) else { return };
    let journal = DiskJournal::open(path).unwrap();
    thread::scope(|scope| {
        for number in 1..=4 {
            let journal = &journal;
            scope.spawn(move || {
                let mut stream = Stream::new(number);
                stream.lines = block_on(journal.read(stream.session, 1, usize::MAX)).unwrap();
                stream.at_us = block_on(journal.head(stream.session))
                    .unwrap()
                    .map_or(0, |head| head.at_us);
                loop {
                    let head = block_on(journal.append(stream.next(&["{}", r#"{"second":true}"#])))
                        .unwrap();
                    println!("kept {} {} {}", stream.session, head.seq, head.hash);
                }
            });
        }
    });
}

#[test]
fn nothing_acknowledged_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let mut kept: BTreeMap<Uuid, (u64, String)> = BTreeMap::new();
    for kill in 0..KILLS {
        for (session, seq, hash) in appended_until_killed(directory.path()) {
            kept.insert(session, (seq, hash));
        }
        let journal = DiskJournal::options(directory.path())
            .read_only()
            .open()
            .unwrap();
        assert_eq!(journal.opened().after, After::Crash);
        for (session, (seq, hash)) in &kept {
            let lines = block_on(journal.read(*session, 1, usize::MAX)).unwrap();
            let at = usize::try_from(*seq).unwrap() - 1;
            assert_eq!(
                lines[at].leaf().to_string(),
                *hash,
                "kill {kill}, session {session}, seq {seq}"
            );
            assert_eq!(lines.len() % 2, 0, "a torn batch after kill {kill}");
        }
        drop(journal);
        let report = verify::directory(directory.path()).unwrap();
        assert!(report.is_sound(), "{report:?}");
    }
    assert_eq!(kept.len(), 4);
}

fn appended_until_killed(path: &Path) -> Vec<(Uuid, u64, String)> {
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
    for line in lines {
        // The last line may be cut.
        let words: Vec<&str> = line.split(' ').collect();
        if let ["kept", session, seq, hash] = words[..]
            && hash.len() == 64
        {
            acknowledged.push((
                session.parse().unwrap(),
                seq.parse().unwrap(),
                hash.to_owned(),
            ));
            if acknowledged.len() == ACKNOWLEDGEMENTS {
                child.kill().unwrap();
            }
        }
    }
    child.wait().unwrap();
    assert!(acknowledged.len() >= ACKNOWLEDGEMENTS);
    acknowledged
}
