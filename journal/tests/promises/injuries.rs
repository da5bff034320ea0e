//! Any damage to one file of a journal loses nothing silently and causes no panic. The journal
//! opens with everything in it, or opening and verification report the damage.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use recount_journal::{After, DiskJournal, Journal, block_on, verify};

use crate::history::History;
use crate::index_states::{copy_directory, files, scratch};
use crate::random::{Random, times};
use crate::stream::options;

const SEED: u64 = 0x5eed_0004;
/// The first bytes of every frame of the log.
const FRAME_MAGIC: &[u8] = b"\0RC\xff";

/// A journal at three times, and its history.
struct Patients {
    /// The journal while it was filled the first time.
    older: PathBuf,
    /// The journal after it was closed, opened and filled again, and its process was killed.
    killed: PathBuf,
    closed: PathBuf,
    histories: Vec<History>,
    /// The time of the first close: the index knows everything before it.
    vouched: u64,
    /// The time of the kill.
    killed_at: u64,
}

impl Patients {
    fn new(directory: &Path) -> Self {
        let path = directory.join("journal");
        let mut histories: Vec<_> = (1..=3).map(History::new).collect();
        let mut random = Random::new(SEED);
        let mut moment = 0;
        let mut fill = |journal: &DiskJournal| {
            for _ in 0..6 {
                for history in &mut histories {
                    moment += 1;
                    history.append(journal, &mut random, || moment).unwrap();
                }
            }
            // Once a read was answered, no write is pending.
            block_on(journal.sessions(None, 9)).unwrap();
            moment
        };
        let copy = |name: &str| {
            let copy = directory.join(name);
            copy_directory(&path, &copy);
            copy
        };
        let journal = options(&path).open().unwrap();
        fill(&journal);
        let older = copy("older");
        let vouched = fill(&journal);
        drop(journal);
        let index = copy("closed-before").join("sled");
        let journal = options(&path).open().unwrap();
        let killed_at = fill(&journal);
        // The index of a killed process may have only its last flush.
        let killed = copy("killed");
        fs::remove_dir_all(killed.join("sled")).unwrap();
        copy_directory(&index, &killed.join("sled"));
        fill(&journal);
        drop(journal);
        let closed = copy("closed");
        Self {
            older,
            killed,
            closed,
            histories,
            vouched,
            killed_at,
        }
    }
}

#[test]
fn no_injury_is_silent() {
    let injuries = times("RECOUNT_INJURIES", 500);
    let directory = scratch();
    let patients = Patients::new(directory.path());
    let (mut whole, mut named, mut unacknowledged) = (0, 0, 0);
    for number in 0..injuries {
        let mut random = Random::new(SEED.wrapping_add(number << 8));
        let was_closed = random.below(2) == 0;
        let from = if was_closed {
            &patients.closed
        } else {
            &patients.killed
        };
        let place = directory.path().join("injured");
        copy_directory(from, &place);
        let what = injure(&place, &patients.older, &mut random);
        let state = if was_closed { "closed" } else { "killed" };
        let case = format!("injury {number} (seed {SEED:#x}), {state}: {what}");
        let run = AssertUnwindSafe(|| outcome(&place, &patients, was_closed, &case));
        match catch_unwind(run).unwrap_or_else(|_| panic!("{case}: panicked")) {
            Outcome::Whole => whole += 1,
            Outcome::Named => named += 1,
            Outcome::CutAsUnacknowledged => unacknowledged += 1,
        }
        fs::remove_dir_all(&place).unwrap();
    }
    assert!(whole > 0 && named > 0);
    println!(
        "injuries: {injuries} (seed {SEED:#x}): {whole} opened with everything in it, \
         {named} were named, {unacknowledged} hit the end of a log that was not closed, \
         as was reported, lost silently: 0"
    );
}

enum Outcome {
    /// The journal has everything.
    Whole,
    /// Opening and verification reject the journal.
    Named,
    /// The lost records were at the very end of a journal that was not closed. There they look like
    /// a write that was never acknowledged. Opening and verification report that the journal was
    /// not closed.
    CutAsUnacknowledged,
}

fn outcome(place: &Path, patients: &Patients, was_closed: bool, case: &str) -> Outcome {
    let report = verify::directory(place);
    let journal = match options(place).open() {
        Ok(journal) => journal,
        Err(error) => {
            assert!(!error.to_string().contains("panicked"), "{case}: {error}");
            let agrees = report.is_err() || report.as_ref().is_ok_and(|report| !report.is_sound());
            assert!(
                agrees,
                "{case}: opening says {error}, verification {report:?}"
            );
            return Outcome::Named;
        }
    };
    let by = if was_closed {
        u64::MAX
    } else {
        patients.killed_at
    };
    let check = |by: u64| {
        let histories = patients.histories.iter();
        let found = histories.map(|history| history.check(&journal, history.acknowledged_by(by)));
        found.collect::<Result<Vec<_>, _>>()
    };
    let Err(lost) = check(by) else {
        return Outcome::Whole;
    };
    assert!(!was_closed, "{case}: {lost}");
    let found = check(patients.vouched).unwrap_or_else(|what| panic!("{case}: {what}"));
    // The histories were appended one after the other, so only the end of the log may be lost.
    let kept = patients.histories.iter().zip(found);
    let kept: Vec<_> = kept
        .map(|(history, seq)| history.appends_up_to(seq))
        .collect();
    assert!(
        kept.is_sorted_by(|a, b| a >= b) && kept[0] - kept[2] <= 1,
        "{case}: {kept:?}"
    );
    assert_eq!(journal.opened().after, After::Crash, "{case}: {lost}");
    let report = report.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(
        report.is_sound(),
        "{case}: opening took what verification names: {report:?}"
    );
    let told = report
        .notes
        .iter()
        .any(|note| note.contains("was not closed"));
    assert!(told, "{case}: {report:?}");
    Outcome::CutAsUnacknowledged
}

/// Damages one file. Returns a description.
fn injure(place: &Path, older: &Path, random: &mut Random) -> String {
    let all = files(place);
    let logs: Vec<&PathBuf> = all
        .iter()
        .filter(|file| file.starts_with(place.join("log")))
        .collect();
    let hits_log = random.below(2) == 0;
    let file = if hits_log {
        random.one_of(&logs)
    } else {
        &all[random.index(all.len())]
    };
    let name = file.strip_prefix(place).unwrap();
    let shown = name.display();
    let mut bytes = fs::read(file).unwrap();
    // The space after it is only preallocated.
    let used = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    let told = match random.below(if hits_log { 9 } else { 6 }) {
        0 if used > 0 => {
            let (at, bit) = (random.index(used), random.below(8));
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} of {shown} flipped")
        }
        1 => {
            let at = random.index(used + 1);
            bytes.truncate(at);
            format!("{shown} cut to {at} bytes")
        }
        2 => {
            let (at, length) = (random.index(used + 1), random.index(600));
            let zeros = random.below(2) == 0;
            for byte in bytes.iter_mut().skip(at).take(length) {
                *byte = if zeros {
                    0
                } else {
                    random.number().to_be_bytes()[0]
                };
            }
            format!("{length} bytes of {shown} overwritten from {at}, with zeros: {zeros}")
        }
        3 => {
            fs::remove_file(file).unwrap();
            return format!("{shown} removed");
        }
        4 if older.join(name).exists() => {
            fs::copy(older.join(name), file).unwrap();
            return format!("an older copy of {shown} put back");
        }
        5 => {
            let at = bytes.len();
            let more = (0..random.index(3_000)).map(|_| random.number().to_be_bytes()[7]);
            bytes.extend(more);
            format!("{shown} grew behind {at}")
        }
        how @ 6.. => frames(&mut bytes, used, how, random).map_or_else(
            || format!("{shown} has no frames"),
            |told| format!("{told} of {shown}"),
        ),
        _ => "nothing".to_owned(),
    };
    fs::write(file, bytes).unwrap();
    told
}

/// Removes, repeats or moves a frame.
fn frames(log: &mut Vec<u8>, used: usize, how: u64, random: &mut Random) -> Option<String> {
    let mut starts: Vec<usize> = (0..used)
        .filter(|at| log[*at..].starts_with(FRAME_MAGIC))
        .collect();
    starts.push(used);
    let count = starts.len() - 1;
    if count < 2 {
        return None;
    }
    let one = random.index(count);
    let (start, end) = (starts[one], starts[one + 1]);
    let frame = log[start..end].to_vec();
    Some(match how {
        6 => {
            log.drain(start..end);
            format!("frame {one} of {count} removed")
        }
        7 => {
            let to = starts[random.index(count)];
            log.splice(to..to, frame);
            format!("frame {one} of {count} repeated at byte {to}")
        }
        _ => {
            let other = random.index(count - 1);
            log.drain(start..end);
            let to = if other < one {
                starts[other]
            } else {
                starts[other + 1] - frame.len()
            };
            log.splice(to..to, frame);
            format!("frame {one} of {count} moved to byte {to}")
        }
    })
}
