//! Durable appends survive a power loss at any time, whatever remains of the index.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use recount_journal::testing::{MemoryDisk, Tear};
use recount_journal::{DiskJournal, Error, Journal, block_on};

use crate::history::History;
use crate::index_states::{IndexStates, scratch};
use crate::random::{Random, times};
use crate::stream::{Stream, options};

const WRITERS: u128 = 8;
const PHASES: u64 = 3;
const APPENDS: u64 = 14;
const SEED: u64 = 0x5eed_0001;

pub(crate) fn open(path: &Path, disk: &MemoryDisk) -> Result<DiskJournal, Error> {
    options(path).disk(Arc::new(disk.clone())).open()
}

/// Runs several concurrent writers on a journal that is closed and opened again in between.
fn script(directory: &Path) -> (MemoryDisk, Vec<History>, IndexStates) {
    let path = directory.join("whole");
    let disk = MemoryDisk::new();
    let mut states = IndexStates::new();
    let mut histories: Vec<_> = (1..=WRITERS).map(History::new).collect();
    for phase in 0..PHASES {
        let journal = open(&path, &disk).unwrap();
        thread::scope(|scope| {
            for (writer, history) in (0..).zip(&mut histories) {
                let (journal, disk) = (&journal, &disk);
                scope.spawn(move || {
                    let mut random = Random::new(SEED ^ phase << 32 ^ writer);
                    for _ in 0..APPENDS {
                        history
                            .append(journal, &mut random, || disk.changes())
                            .unwrap();
                    }
                });
            }
        });
        // One copy while it is open, as after a kill, and one after the close.
        states.keep(&path, directory, || disk.changes());
        block_on(journal.close()).unwrap();
        states.keep(&path, directory, || disk.changes());
    }
    (disk, histories, states)
}

#[test]
fn acknowledged_appends_survive_power_loss_at_any_time() {
    let cuts = times("RECOUNT_CUTS", 2_000);
    let directory = scratch();
    let (disk, histories, states) = script(directory.path());
    let changes = disk.changes();
    assert!(changes > 100, "{changes}");
    let next = AtomicU64::new(0);
    let torn = AtomicU64::new(0);
    let workers = thread::available_parallelism()
        .map_or(2, usize::from)
        .min(8);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let cut = next.fetch_add(1, Ordering::Relaxed);
                    if cut >= cuts {
                        return;
                    }
                    let place = directory.path().join(format!("cut-{cut}"));
                    let cut_bytes = check_cut(cut, &place, &disk, &histories, &states);
                    torn.fetch_add(u64::from(cut_bytes > 0), Ordering::Relaxed);
                    fs::remove_dir_all(&place).unwrap();
                }
            });
        }
    });
    let acknowledged: u64 = histories.iter().map(History::acknowledged).sum();
    println!(
        "power loss: {cuts} cuts (seed {SEED:#x}) in a trace of {changes} operations \
         with {acknowledged} acknowledged appends, {} with a torn write to cut off, lost: 0",
        torn.into_inner()
    );
}

fn check_cut(
    cut: u64,
    place: &Path,
    disk: &MemoryDisk,
    histories: &[History],
    states: &IndexStates,
) -> u64 {
    let mut random = Random::new(SEED.wrapping_add(cut));
    let moment = random.below(disk.changes() + 1);
    let seed = random.number();
    let tear = random.one_of(&[
        Tear::Nothing,
        Tear::Everything,
        Tear::Front,
        Tear::Sectors(seed),
        Tear::Operations(seed),
    ]);
    let index = states.make(place, moment, &mut random);
    let case = format!("cut {cut} after operation {moment}, {tear:?}, index {index}");
    let found = disk.cut(moment, tear);
    // Most are only opened for reading, which is faster. Before the first append there may be no
    // journal yet.
    let made = histories
        .iter()
        .any(|history| history.acknowledged_by(moment) > 0);
    let looks = made && !cut.is_multiple_of(16);
    let settings = options(place).disk(Arc::new(found.clone()));
    let journal = if looks {
        settings.read_only().open()
    } else {
        settings.open()
    };
    let journal = journal.unwrap_or_else(|error| panic!("{case}: {error}"));
    for history in histories {
        let least = history.acknowledged_by(moment);
        let checked = history.check(&journal, least);
        checked.unwrap_or_else(|what| panic!("{case}: {what}"));
    }
    let cut_bytes = journal.opened().cut_bytes;
    if !looks {
        goes_on(journal, place, &found, histories, &case);
    }
    cut_bytes
}

/// Asserts that the journal accepts appends as usual, and that they survive the next power loss.
fn goes_on(
    journal: DiskJournal,
    place: &Path,
    disk: &MemoryDisk,
    histories: &[History],
    case: &str,
) {
    let mut next = Stream::new(99);
    next.append(&journal, &["{}", "{}"]);
    next.assert_in(&journal);
    let before: Vec<_> = histories
        .iter()
        .map(|history| block_on(journal.head(history.stream.session)).unwrap())
        .collect();
    let disk = disk.after_power_loss(Tear::Nothing);
    drop(journal);
    // The index knows a close that the power loss undid.
    fs::remove_dir_all(place.join("sled")).unwrap();
    let journal = open(place, &disk).unwrap_or_else(|error| panic!("{case}, again: {error}"));
    next.assert_in(&journal);
    for (history, before) in histories.iter().zip(before) {
        let head = block_on(journal.head(history.stream.session)).unwrap();
        assert_eq!(head, before, "{case}");
    }
}
