//! The power may fail at any write, renaming or sync of a roll: no acknowledged record is lost, and
//! the log continues.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use recount_journal::disk::{Disk, DiskFile};
use recount_journal::testing::{Fault, MemoryDisk, Tear};
use recount_journal::{DiskJournal, Error, Journal, block_on, verify};

use crate::stream::Stream;

const SEGMENT: u64 = 4 << 10;

fn open(path: &Path, disk: Arc<dyn Disk>) -> Result<DiskJournal, Error> {
    DiskJournal::options(path)
        .disk(disk)
        .segment_bytes(SEGMENT)
        .open()
}

/// The acknowledged records, and the changes of the disk at each acknowledgement.
#[derive(Default)]
struct Told {
    streams: [Option<Stream>; 2],
    /// The number of acknowledged records of each stream, by the number of changes.
    kept: BTreeMap<u64, [usize; 2]>,
}

/// Appends of every size, from a small part of a segment to more than one, until an operation
/// fails.
fn script(journal: &dyn Journal, disk: &MemoryDisk, rounds: usize) -> Told {
    let mut streams = [Stream::new(1), Stream::new(2)];
    let mut kept = BTreeMap::new();
    let mut counts = [0; 2];
    for round in 0..rounds {
        let length = match round % 7 {
            3 => 1_700,
            5 => 5_000,
            other => other * 130,
        };
        let body = format!(r#"{{"round":{round},"text":"{}"}}"#, "y".repeat(length));
        // Many in a row, so that the last of them are committed in place.
        let at = round / 16 % 2;
        let append = streams[at].next(&[&body, "{}"]);
        if block_on(journal.append(append)).is_err() {
            break;
        }
        counts[at] += 2;
        kept.insert(disk.changes(), counts);
    }
    Told {
        streams: streams.map(Some),
        kept,
    }
}

impl Told {
    /// The number of acknowledged records after this many changes of the disk.
    fn kept_by(&self, changes: u64) -> [usize; 2] {
        let last = self.kept.range(..=changes).next_back();
        last.map_or([0; 2], |(_, counts)| *counts)
    }

    /// Asserts that every acknowledged record is there, in complete appends, and no record that was
    /// never appended.
    fn assert_in(&self, journal: &dyn Journal, changes: u64, about: &str) {
        let counts = self.kept_by(changes);
        for (stream, kept) in self.streams.iter().flatten().zip(counts) {
            let found = block_on(journal.read(stream.session, 1, usize::MAX)).unwrap();
            assert!(found.len() >= kept, "{about}: {} of {kept}", found.len());
            assert_eq!(found, stream.lines[..found.len()], "{about}");
            assert_eq!(found.len() % 2, 0, "{about}: a torn append");
        }
    }
}

/// Verifies the files of a disk in memory, as a directory.
fn verified(disk: &MemoryDisk, path: &Path, about: &str) {
    let log = path.join("log");
    match fs::remove_dir_all(&log) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{error}"),
        Ok(()) | Err(_) => {}
    }
    fs::create_dir(&log).unwrap();
    for name in disk.list().unwrap() {
        let mut file = disk.open(&name, false).unwrap();
        let mut bytes = vec![0; usize::try_from(file.length().unwrap()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        fs::write(log.join(name), bytes).unwrap();
    }
    let report = verify::directory(path).unwrap();
    assert!(report.is_sound(), "{about}: {report:?}");
    assert!(report.notes.is_empty(), "{about}: {report:?}");
}

/// Asserts that the journal opens without an index, has the acknowledged records, continues over a
/// roll, and is sound.
fn goes_on(disk: &MemoryDisk, path: &Path, told: &Told, changes: u64, about: &str) {
    match fs::remove_dir_all(path.join("sled")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{error}"),
        Ok(()) | Err(_) => {}
    }
    let journal =
        open(path, Arc::new(disk.clone())).unwrap_or_else(|error| panic!("{about}: {error}"));
    told.assert_in(&journal, changes, about);
    // A new stream for each opening of this disk.
    let taken: u128 = block_on(journal.sessions(None, 99)).unwrap().len() as u128;
    let mut next = Stream::new(100 + taken);
    for _ in 0..3 {
        next.append(&journal, &[&format!("\"{}\"", "z".repeat(1_500))]);
    }
    next.assert_in(&journal);
    block_on(journal.close()).unwrap();
    drop(journal);
    verified(disk, path, about);
}

#[test]
fn power_loss_at_any_operation_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (path, whole) = (directory.path(), MemoryDisk::new());
    let journal = open(path, Arc::new(whole.clone())).unwrap();
    let told = script(&journal, &whole, 24);
    block_on(journal.close()).unwrap();
    let rolls = whole.list().unwrap().len() - 1;
    assert!(rolls >= 5, "only {rolls} rolls");
    let (changes, mut cuts) = (whole.changes(), 0);
    for cut in 0..=changes {
        let tears = [
            Tear::Nothing,
            Tear::Everything,
            Tear::Front,
            Tear::Sectors(cut),
            Tear::Operations(cut),
        ];
        for tear in tears {
            let about = format!("cut at {cut} of {changes}, {tear:?}");
            goes_on(&whole.cut(cut, tear), path, &told, cut, &about);
            cuts += 1;
        }
    }
    println!("rolls {rolls}, operations {changes}, cuts {cuts}");
}

#[test]
fn fault_in_roll_stops_journal_and_reopening_recovers() {
    let directory = tempfile::tempdir().unwrap();
    let whole = MemoryDisk::new();
    let journal = open(&directory.path().join("whole"), Arc::new(whole.clone())).unwrap();
    script(&journal, &whole, 24);
    drop(journal);
    let (mut faults, mut stopped) = (0, 0);
    for fault in [Fault::Write, Fault::Sync] {
        for nth in 1..=whole.count(fault) {
            let about = format!("{fault:?} {nth}");
            let disk = MemoryDisk::new();
            disk.fail(fault, nth);
            faults += 1;
            let path = directory.path().join(format!("{fault:?}{nth}"));
            let told = match open(&path, Arc::new(disk.clone())) {
                Ok(journal) => {
                    let told = script(&journal, &disk, 24);
                    let closed = block_on(journal.close());
                    if told.kept.len() < 24 {
                        stopped += 1;
                        assert!(matches!(closed, Err(Error::Poisoned { .. })), "{about}");
                    }
                    told
                }
                Err(_) => Told::default(),
            };
            // The process died, or the power failed as well.
            let (all, lost) = (disk.changes(), disk.after_power_loss(Tear::Sectors(nth)));
            goes_on(&lost, &path, &told, all, &format!("{about}, power lost"));
            goes_on(&disk, &path, &told, all, &about);
            let lost = disk.after_power_loss(Tear::Nothing);
            goes_on(
                &lost,
                &path,
                &told,
                all,
                &format!("{about}, lost after reopening"),
            );
        }
    }
    println!("faults {faults}, of which {stopped} stopped the appends");
    assert!(stopped > 40, "{stopped}");
}

/// A disk whose process dies instead of syncing, once it is told to.
struct Dying {
    disk: MemoryDisk,
    dies: Arc<AtomicBool>,
}

struct DyingFile {
    file: Box<dyn DiskFile>,
    dies: Arc<AtomicBool>,
}

impl Disk for Dying {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let (file, dies) = (self.disk.open(name, create)?, Arc::clone(&self.dies));
        Ok(Box::new(DyingFile { file, dies }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }

    fn free_space(&self) -> io::Result<u64> {
        self.disk.free_space()
    }
}

impl DiskFile for DyingFile {
    fn length(&mut self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, into)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.truncate(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.dies.load(Ordering::SeqCst) {
            return Err(io::Error::other("the process is dead"));
        }
        self.file.sync()
    }
}

#[test]
fn unsynced_frame_is_not_only_in_index() {
    let directory = tempfile::tempdir().unwrap();
    let (disk, dies) = (MemoryDisk::new(), Arc::new(AtomicBool::new(false)));
    let dying = Dying {
        disk: disk.clone(),
        dies: Arc::clone(&dies),
    };
    let journal = open(directory.path(), Arc::new(dying)).unwrap();
    let mut stream = Stream::new(1);
    stream.append(&journal, &["{}"]);
    dies.store(true, Ordering::SeqCst);
    block_on(journal.append(stream.next(&["{}"]))).unwrap_err();
    drop(journal);
    let looking = DiskJournal::options(directory.path())
        .disk(Arc::new(disk.clone()))
        .read_only()
        .open()
        .unwrap();
    stream.assert_in(&looking);
    drop(looking);
    // A record that was read once, and is in the index now, must last.
    let lost = disk.after_power_loss(Tear::Nothing);
    let journal = open(directory.path(), Arc::new(lost)).unwrap();
    stream.assert_in(&journal);
}

/// A disk on which creating the second segment waits for permission.
struct Gate {
    disk: MemoryDisk,
    reached: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
}

impl Disk for Gate {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        if name == "0000000000000002.log" && create {
            self.reached.lock().unwrap().send(()).unwrap();
            self.go.lock().unwrap().recv().unwrap();
        }
        self.disk.open(name, create)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }

    fn free_space(&self) -> io::Result<u64> {
        self.disk.free_space()
    }
}

#[test]
fn opening_waits_for_segment_being_created() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let ((reached, at_gate), (let_go, go)) = (channel(), channel());
    let gate = Gate {
        disk: disk.clone(),
        reached: Mutex::new(reached),
        go: Mutex::new(go),
    };
    let journal = open(directory.path(), Arc::new(gate)).unwrap();
    let mut stream = Stream::new(1);
    stream.append(&journal, &[&format!("\"{}\"", "x".repeat(2_000))]);
    at_gate.recv().unwrap();
    // The next commit fails while the segment is being created.
    disk.fail(Fault::Sync, 1);
    let told = block_on(journal.append(stream.clone().next(&["{}"])));
    assert!(matches!(told, Err(Error::Poisoned { .. })), "{told:?}");
    // Its thread could empty a file that the next opening already uses.
    for _ in 0..20 {
        let told = open(directory.path(), Arc::new(disk.clone()));
        assert!(matches!(told, Err(Error::InUse { .. })), "{told:?}");
    }
    let_go.send(()).unwrap();
    drop(journal);
    let journal = open(directory.path(), Arc::new(disk)).unwrap();
    let mut next = Stream::new(2);
    next.append(&journal, &["{}"]);
    next.assert_in(&journal);
    let found = block_on(journal.read(stream.session, 1, 1)).unwrap();
    assert_eq!(found, stream.lines);
}
