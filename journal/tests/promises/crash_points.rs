//! A power loss after each operation of a script, torn in four ways. Each kind of fault at each
//! operation. The journal stops with one clear error, acknowledges nothing more, and recovers when
//! it is opened again.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use recount_journal::disk::Disk as _;
use recount_journal::testing::{Fault, MemoryDisk, Tear};
use recount_journal::{Append, DiskJournal, Error, Journal, block_on};

use crate::history::History;
use crate::index_states::{IndexStates, scratch};
use crate::random::Random;
use crate::stream::{Stream, options};

const SEED: u64 = 0x5eed_0002;

fn open(path: &Path, disk: &MemoryDisk) -> Result<DiskJournal, Error> {
    options(path).disk(Arc::new(disk.clone())).open()
}

/// Opens an existing journal for reading, which is faster.
fn look(path: &Path, disk: &MemoryDisk) -> Result<DiskJournal, Error> {
    let disk = Arc::new(disk.clone());
    options(path).disk(disk).read_only().open()
}

fn histories() -> Vec<History> {
    (1..=3).map(History::new).collect()
}

/// The number of consecutive appends to one history. The committer commits the first ones, the rest
/// commit in place.
const IN_A_ROW: usize = 16;

/// Appends one after the other, until one fails.
fn appends(
    journal: &dyn Journal,
    histories: &mut [History],
    count: usize,
    disk: &MemoryDisk,
) -> Result<(), Error> {
    let mut random = Random::new(SEED);
    for number in 0..count {
        let at = number / IN_A_ROW % histories.len();
        histories[at].append(journal, &mut random, || disk.changes())?;
    }
    Ok(())
}

fn all_kept(journal: &dyn Journal, histories: &[History], by: u64, case: &str) {
    for history in histories {
        let checked = history.check(journal, history.acknowledged_by(by));
        checked.unwrap_or_else(|what| panic!("{case}: {what}"));
    }
}

#[test]
fn every_operation_can_be_the_last() {
    let directory = scratch();
    let path = directory.path().join("whole");
    let disk = MemoryDisk::new();
    let mut states = IndexStates::new();
    let mut histories = histories();
    let journal = open(&path, &disk).unwrap();
    appends(&journal, &mut histories, 200, &disk).unwrap();
    block_on(journal.close()).unwrap();
    states.keep(&path, directory.path(), || disk.changes());
    let operations = disk.changes();
    let (mut points, mut different, mut torn) = (0, 0, 0);
    let first = (0..).find(|by| histories[0].acknowledged_by(*by) > 0);
    for operation in 0..=operations {
        let tears = [
            Tear::Nothing,
            Tear::Everything,
            Tear::Front,
            Tear::Sectors(operation),
        ];
        let mut seen = Vec::new();
        for tear in tears {
            points += 1;
            let found = disk.cut(operation, tear);
            let content = content(&found);
            if seen.contains(&content) {
                continue;
            }
            seen.push(content);
            different += 1;
            let place = directory.path().join("found");
            let mut random = Random::new(SEED ^ operation);
            let index = states.make(&place, operation, &mut random);
            let case = format!("operation {operation} of {operations}, {tear:?}, index {index}");
            let journal = if Some(operation) < first || different % 16 == 0 {
                open(&place, &found)
            } else {
                look(&place, &found)
            };
            let journal = journal.unwrap_or_else(|error| panic!("{case}: {error}"));
            all_kept(&journal, &histories, operation, &case);
            torn += u64::from(journal.opened().cut_bytes > 0);
            drop(journal);
            fs::remove_dir_all(&place).unwrap();
        }
    }
    assert!(torn > 100, "only {torn} left a torn write");
    println!(
        "crash points: {points} (each of {operations} operations of 200 appends, \
         torn in four ways; {different} of them different), \
         {torn} with a torn write to cut off, lost: 0"
    );
}

/// The files and their content.
fn content(disk: &MemoryDisk) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let mut file = disk.open(&name, false).unwrap();
        let mut bytes = vec![0; usize::try_from(file.length().unwrap()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        (name, bytes)
    };
    disk.list().unwrap().into_iter().map(read).collect()
}

/// The number of faults of a kind that are possible while a journal is created, filled and closed.
fn places(fault: Fault, directory: &Path) -> u64 {
    let disk = MemoryDisk::new();
    let journal = open(&directory.join("whole"), &disk).unwrap();
    appends(&journal, &mut histories(), FAULTY_APPENDS, &disk).unwrap();
    block_on(journal.close()).unwrap();
    disk.count(fault)
}

const FAULTY_APPENDS: usize = 60;

/// Makes one operation fail. Returns true if the journal noticed.
fn with_fault(fault: Fault, nth: u64, path: &Path) -> bool {
    let case = format!("{fault:?} {nth}");
    let disk = MemoryDisk::new();
    disk.fail(fault, nth);
    let mut histories = histories();
    let mut noticed = true;
    match open(path, &disk) {
        Err(Error::Io { .. } | Error::Poisoned { .. } | Error::NoSpace { .. }) => {}
        Err(other) => panic!("{case}: {other}"),
        Ok(journal) => {
            if let Err(error) = appends(&journal, &mut histories, FAULTY_APPENDS, &disk) {
                // A full disk rejects the append and fails nothing; other tests let it continue.
                if !matches!(error, Error::NoSpace { .. }) {
                    stays_stopped(&journal, &error, &histories, &case);
                }
            } else {
                // The closing record is the last operation that can fail.
                noticed = block_on(journal.close()).is_err();
            }
        }
    }
    // The process starts again, without a power loss.
    disk.set_free_space(u64::MAX);
    let journal = open(path, &disk).unwrap_or_else(|error| panic!("{case}, again: {error}"));
    all_kept(&journal, &histories, u64::MAX, &case);
    for history in &mut histories {
        history.resume(&journal);
    }
    appends(&journal, &mut histories, 6, &disk).unwrap();
    let then = disk.changes();
    drop(journal);
    // Every append that was acknowledged before or after the fault also survives a power loss.
    let path = path.with_extension("later");
    fs::create_dir_all(&path).unwrap();
    fs::copy(
        path.with_extension("").join("JOURNAL"),
        path.join("JOURNAL"),
    )
    .unwrap();
    let disk = disk.cut(then, Tear::Nothing);
    let journal = look(&path, &disk).unwrap_or_else(|error| panic!("{case}, later: {error}"));
    all_kept(&journal, &histories, then, &case);
    noticed
}

/// Asserts that all later calls return the same clear error.
fn stays_stopped(journal: &DiskJournal, first: &Error, histories: &[History], case: &str) {
    let told = first.to_string();
    assert!(matches!(first, Error::Poisoned { .. }), "{case}: {first}");
    assert!(!told.contains("panicked"), "{case}: {told}");
    let session = histories[0].stream.session;
    let append = |append: Append| block_on(journal.append(append)).map(drop);
    let later = [
        append(Stream::new(90).next(&["{}"])),
        append(Stream::new(91).next(&["{}"])),
        block_on(journal.head(session)).map(drop),
        block_on(journal.read(session, 1, 1)).map(drop),
        block_on(journal.open_work(None, 1)).map(drop),
        block_on(journal.close()),
    ];
    for error in later {
        assert_eq!(error.unwrap_err().to_string(), told, "{case}");
    }
}

#[test]
fn every_write_and_sync_can_fail() {
    let mut told = Vec::new();
    for fault in [Fault::Write, Fault::Sync, Fault::Full] {
        let directory = scratch();
        let faults = places(fault, directory.path());
        let mut noticed = 0;
        for nth in 1..=faults {
            let path = directory.path().join(nth.to_string());
            noticed += u64::from(with_fault(fault, nth, &path));
            fs::remove_dir_all(&path).unwrap();
        }
        assert!(noticed > 0, "{fault:?}");
        told.push(format!("{faults} × {fault:?} ({noticed} told)"));
    }
    println!("faults: {}, lost: 0", told.join(", "));
}

#[test]
fn waiting_callers_get_the_same_error() {
    for (fault, nth) in [(Fault::Sync, 9), (Fault::Write, 12), (Fault::Full, 7)] {
        let directory = scratch();
        let case = format!("{fault:?} {nth}");
        let disk = MemoryDisk::new();
        let journal = open(directory.path(), &disk).unwrap();
        disk.fail(fault, nth);
        let mut histories: Vec<_> = (1..=16).map(History::new).collect();
        let told: Vec<String> = thread::scope(|scope| {
            let writers: Vec<_> = histories
                .iter_mut()
                .map(|history| {
                    let (journal, disk) = (&journal, &disk);
                    scope.spawn(move || {
                        let mut random = Random::new(SEED ^ history.stream.session.as_u64_pair().1);
                        loop {
                            let done = history.append(journal, &mut random, || disk.changes());
                            if let Err(error) = done {
                                return error.to_string();
                            }
                        }
                    })
                })
                .collect();
            writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .collect()
        });
        let same = match fault {
            // Each rejection measures the free bytes anew.
            Fault::Full => "the disk has no room",
            Fault::Sync | Fault::Write | Fault::Read => {
                assert!(
                    told[0].contains("must be opened again"),
                    "{case}: {}",
                    told[0]
                );
                &told[0]
            }
        };
        assert!(
            told.iter().all(|other| other.contains(same)),
            "{case}: {told:?}"
        );
        drop(journal);
        let found = disk.after_power_loss(Tear::Nothing);
        let journal = open(directory.path(), &found).unwrap();
        all_kept(&journal, &histories, u64::MAX, &case);
    }
}

#[test]
fn every_read_can_end_early() {
    let directory = scratch();
    let path = directory.path().join("whole");
    let disk = MemoryDisk::new();
    let mut states = IndexStates::new();
    let mut histories = histories();
    let journal = open(&path, &disk).unwrap();
    appends(&journal, &mut histories, FAULTY_APPENDS, &disk).unwrap();
    states.keep(&path, directory.path(), || disk.changes());
    let killed = disk.cut(disk.changes(), Tear::Everything);
    block_on(journal.close()).unwrap();
    states.keep(&path, directory.path(), || disk.changes());
    let closed = disk.cut(disk.changes(), Tear::Everything);
    drop(journal);
    let (mut faults, mut noticed) = (0, 0);
    for (whole, moment) in [(killed, 0), (closed, u64::MAX)] {
        for nth in 1.. {
            // A fresh copy with the same content.
            let disk = whole.after_power_loss(Tear::Everything);
            let place = directory.path().join("found");
            let index = states.make(&place, moment, &mut Random::new(SEED ^ nth));
            let case = format!("read {nth}, index {index}");
            let before = disk.count(Fault::Read);
            disk.fail(Fault::Read, nth);
            let opened = open(&place, &disk);
            let met = disk.count(Fault::Read) - before >= nth;
            match opened {
                Ok(journal) => all_kept(&journal, &histories, u64::MAX, &case),
                Err(Error::Io { .. }) => noticed += 1,
                Err(other) => panic!("{case}: {other}"),
            }
            if met {
                let journal = open(&place, &disk).unwrap_or_else(|error| panic!("{case}: {error}"));
                all_kept(&journal, &histories, u64::MAX, &case);
            }
            fs::remove_dir_all(&place).unwrap();
            if !met {
                break;
            }
            faults += 1;
        }
    }
    assert!(noticed > 0);
    println!("faults: {faults} short reads ({noticed} told), lost: 0");
}
