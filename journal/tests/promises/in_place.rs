//! A single writer's append is committed in place. An append that meets another one is not lost
//! between the two threads.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use recount_journal::disk::{Disk, DiskFile};
use recount_journal::testing::{MemoryDisk, Tear};
use recount_journal::{DiskJournal, Error, Journal, block_on};

use crate::stream::Stream;

/// A disk that notes the thread of each sync.
#[derive(Clone, Default)]
struct Watched {
    disk: MemoryDisk,
    syncs: Arc<Mutex<HashMap<ThreadId, usize>>>,
}

struct WatchedFile {
    file: Box<dyn DiskFile>,
    syncs: Arc<Mutex<HashMap<ThreadId, usize>>>,
}

impl Watched {
    fn journal(&self, directory: &std::path::Path) -> DiskJournal {
        let options = DiskJournal::options(directory).disk(Arc::new(self.clone()));
        options.open().unwrap()
    }

    fn syncs_of(&self, thread: ThreadId) -> usize {
        let syncs = self.syncs.lock().unwrap();
        syncs.get(&thread).copied().unwrap_or(0)
    }
}

impl Disk for Watched {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let (file, syncs) = (self.disk.open(name, create)?, Arc::clone(&self.syncs));
        Ok(Box::new(WatchedFile { file, syncs }))
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

impl DiskFile for WatchedFile {
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
        *self
            .syncs
            .lock()
            .unwrap()
            .entry(thread::current().id())
            .or_default() += 1;
        self.file.sync()
    }
}

#[test]
fn single_writer_syncs_on_its_own_thread() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Watched::default();
    let journal = disk.journal(directory.path());
    let me = thread::current().id();
    let opening = disk.syncs_of(me);
    let mut stream = Stream::new(1);
    // One sync that is slow by chance counts for a while, but not for all of these.
    let mut told = Vec::new();
    for _ in 0..500 {
        stream.append(&journal, &["{}"]);
        told.push(disk.disk.changes());
    }
    assert!(
        disk.syncs_of(me) > opening,
        "the thread of the journal did all"
    );
    stream.assert_in(&journal);
    drop(journal);
    // Every acknowledged append was on disk, whichever thread wrote it.
    for (seq, changes) in (1..).zip(told).skip(3).step_by(7) {
        let lost = disk.disk.cut(changes, Tear::Nothing);
        // The index has the later appends, too.
        std::fs::remove_dir_all(directory.path().join("sled")).unwrap();
        let again = DiskJournal::options(directory.path()).disk(Arc::new(lost));
        let head = block_on(again.open().unwrap().head(stream.session)).unwrap();
        assert_eq!(head.map(|head| head.seq), Some(seq));
    }
}

#[test]
fn concurrent_appends_are_all_committed() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Arc::new(Watched::default().journal(directory.path()));
    let writers = (1..=4).map(|number| {
        let journal = Arc::clone(&journal);
        thread::spawn(move || {
            let mut stream = Stream::new(number);
            for _ in 0..300 {
                stream.append(&*journal, &["{}", "{}"]);
            }
            stream
        })
    });
    let writers: Vec<_> = writers.collect();
    for writer in writers {
        writer.join().unwrap().assert_in(&*journal);
    }
    // The record of the opening is an append, too.
    assert_eq!(journal.metrics().appends, 1 + 4 * 300);
}

#[test]
fn failed_sync_in_place_ends_journal() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Watched::default();
    let journal = disk.journal(directory.path());
    let mut stream = Stream::new(1);
    for _ in 0..500 {
        stream.append(&journal, &["{}"]);
    }
    disk.disk.fail(recount_journal::testing::Fault::Sync, 1);
    let refused = stream.clone().next(&["{}"]);
    let error = block_on(recount_journal::Journal::append(&journal, refused)).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    let later = stream.clone().next(&["{}"]);
    let error = block_on(recount_journal::Journal::append(&journal, later)).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    let error = block_on(recount_journal::Journal::close(&journal)).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
}
