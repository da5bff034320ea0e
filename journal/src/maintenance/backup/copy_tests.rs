use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use uuid::Uuid;

use super::{Copied, copy};
use crate::files::disk::{Disk, DiskFile, RealDisk};
use crate::log::segments::Stopped;
use crate::log::{LogWriter, SEGMENT_HEADER, encode_append, segment_name};
use crate::store::directory::closed::NotedEnd;
use crate::{Append, Line};

const JOURNAL: Uuid = Uuid::from_u128(5);

/// A log whose first segment, at its first reads, has only the bytes from before its last frames.
struct Growing {
    disk: RealDisk,
    segment: &'static str,
    before: u64,
    early: AtomicUsize,
}

/// A file whose content is zeros from an offset on.
struct Early(Box<dyn DiskFile>, u64);

impl Disk for Growing {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let file = self.disk.open(name, create)?;
        let is_early = name == self.segment
            && self
                .early
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    left.checked_sub(1)
                })
                .is_ok();
        Ok(if is_early {
            Box::new(Early(file, self.before))
        } else {
            file
        })
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

impl DiskFile for Early {
    fn length(&mut self) -> io::Result<u64> {
        self.0.length()
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, into)?;
        for (at, byte) in (offset..).zip(into) {
            *byte = if at < self.1 { *byte } else { 0 };
        }
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.truncate(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }
}

/// Writes a log of two segments with three frames each. Returns the ends of the frames of the
/// first.
fn log(disk: &RealDisk) -> Vec<u64> {
    let append = Append::new(Uuid::from_u128(1), 0, vec![Line::new(*b"{}")]);
    let encoded = encode_append(&append, |_| false).bytes;
    let limit = SEGMENT_HEADER + 3 * (32 + encoded.len() as u64);
    let mut writer = LogWriter::create(Arc::new(disk.clone()), JOURNAL, limit).unwrap();
    let written = (0..6).map(|_| writer.commit(std::iter::once(&encoded[..])).unwrap().0);
    let ends = written
        .filter(|it| it.segment == 1)
        .map(|it| it.end)
        .collect();
    writer.close().unwrap();
    ends
}

fn copied(early: usize, before: impl Fn(&[u64]) -> u64) -> Result<Copied, Stopped> {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(directory.path().join("log"));
    let ends = log(&disk);
    assert_eq!(ends.len(), 3);
    let growing = Growing {
        disk,
        segment: "0000000000000001.log",
        before: before(&ends),
        // The first access is for the total, the second one reads the header.
        early: AtomicUsize::new(early + 2),
    };
    let to = RealDisk::new(directory.path().join("copy"));
    copy(
        &growing,
        &to,
        JOURNAL,
        None,
        NotedEnd::default(),
        &mut |_| {},
    )
}

#[test]
fn fault_at_end_is_read_again() {
    // The end is between two frames, in a header, in a frame.
    for bytes in [0, 9, 40] {
        let copied = copied(1, |ends| ends.iter().rev().nth(1).unwrap() + bytes);
        let copied = copied.map(|it| (it.last.number, it.records));
        assert!(matches!(copied, Ok((6, 6))), "{bytes}");
    }
}

/// A log that a repair renames when its second segment is opened for the second time.
struct Going(RealDisk, std::path::PathBuf, AtomicUsize);

impl Disk for Going {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        if name == segment_name(2) && self.2.fetch_add(1, Ordering::Relaxed) == 1 {
            std::fs::rename(&self.1, self.1.with_extension("damaged-1"))?;
        }
        self.0.open(name, create)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.0.sync_names()
    }

    fn free_space(&self) -> io::Result<u64> {
        self.0.free_space()
    }
}

#[test]
fn vanished_log_is_not_taken_for_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let disk = RealDisk::new(&path);
    log(&disk);
    // The total is computed first, which opens every segment.
    let going = Going(disk, path.clone(), AtomicUsize::new(0));
    let to = RealDisk::new(directory.path().join("copy"));
    let copied = copy(&going, &to, JOURNAL, None, NotedEnd::default(), &mut |_| {});
    assert!(matches!(copied, Err(Stopped::Damaged(_) | Stopped::Io(_))));
    assert!(!path.exists());
}

#[test]
fn repeated_fault_is_damage() {
    let copied = copied(usize::MAX - 2, |ends| ends.iter().min().unwrap() + 9);
    assert!(matches!(copied, Err(Stopped::Damaged(_))));
}
