//! The disk in memory: its current content, the trace of its operations, and the scheduled faults.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::medium::{Medium, Operation, Tear, put};
use crate::disk::{Disk, DiskFile};

/// A disk in memory that records every operation, and distinguishes written from synced content.
/// The power can be cut afterwards at any operation.
///
/// ```
/// use recount_journal::disk::Disk;
/// use recount_journal::testing::{MemoryDisk, Tear};
/// let disk = MemoryDisk::new();
/// let mut file = disk.open("log", true)?;
/// file.write_at(0, b"synced")?;
/// file.sync()?;
/// disk.sync_names()?;
/// let then = disk.changes();
/// file.write_at(6, b" and not")?;
/// assert_eq!(disk.cut(then, Tear::Nothing).open("log", false)?.length()?, 6);
/// assert_eq!(disk.after_power_loss(Tear::Front).open("log", false)?.length()?, 10);
/// // Before the names were synced there was no file yet.
/// assert!(disk.cut(then - 1, Tear::Nothing).list()?.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The content before the trace begins.
    before: BTreeMap<String, Vec<u8>>,
    trace: Vec<Operation>,
    /// The content that a reader sees.
    names: BTreeMap<String, u64>,
    files: BTreeMap<u64, Vec<u8>>,
    met: [u64; 3],
    faults: Vec<(Fault, u64)>,
    fails_from: Option<u64>,
    free: Option<u64>,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// A write, truncation, creation, renaming or removal fails once. Half of a write is done
    /// anyway.
    Write,
    /// A sync, of a file or of the names, fails once. As in most systems the content is still
    /// readable. A later sync succeeds without making that content durable; names are made durable
    /// by it.
    Sync,
    /// A read ends half way with `UnexpectedEof`, once.
    Read,
    /// The space runs out at this write, until [`MemoryDisk::set_free_space`]. Operations that grow
    /// no file still work.
    Full,
}

impl MemoryDisk {
    /// Creates an empty disk of unlimited size.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes one operation fail: the `nth` from now, from 1, of those that [`MemoryDisk::count`]
    /// counts for the fault.
    pub fn fail(&self, fault: Fault, nth: u64) {
        let mut kept = self.lock();
        let at = kept.count(fault) + nth;
        kept.faults.push((fault, at));
    }

    /// Makes all changes from this number fail, counted from 1. Half of a write is done anyway.
    pub fn fail_from(&self, change: u64) {
        self.lock().fails_from = Some(change);
    }

    /// Sets the bytes by which all files together may still grow. A larger write is done as far as
    /// there is space, and fails with `StorageFull`.
    pub fn set_free_space(&self, bytes: u64) {
        self.lock().free = Some(bytes);
    }

    /// The number of operations that this fault could have hit, including failed ones.
    pub fn count(&self, fault: Fault) -> u64 {
        self.lock().count(fault)
    }

    /// The number of operations that change the disk or make it durable, including failed ones. It
    /// is the length of the trace.
    pub fn changes(&self) -> u64 {
        self.lock().trace.len() as u64
    }

    /// Returns the disk after a power loss now.
    #[must_use]
    pub fn after_power_loss(&self, tear: Tear) -> Self {
        self.cut(u64::MAX, tear)
    }

    /// Returns the disk as it would be after a power loss behind `changes` of its
    /// [changes](MemoryDisk::changes).
    #[must_use]
    pub fn cut(&self, changes: u64, tear: Tear) -> Self {
        let kept = self.lock();
        let mut medium = Medium::holding(&kept.before);
        for (number, operation) in (1..=changes).zip(&kept.trace) {
            medium.take(number, operation);
        }
        drop(kept);
        Self::holding(medium.after(tear))
    }

    fn holding(before: BTreeMap<String, Vec<u8>>) -> Self {
        let mut kept = Kept::default();
        for (file, (name, bytes)) in (0..).zip(&before) {
            kept.names.insert(name.clone(), file);
            kept.files.insert(file, bytes.clone());
        }
        kept.before = before;
        Self {
            kept: Arc::new(Mutex::new(kept)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn count(&self, fault: Fault) -> u64 {
        let [writes, syncs, reads] = self.met;
        match fault {
            Fault::Write | Fault::Full => writes,
            Fault::Sync => syncs,
            Fault::Read => reads,
        }
    }

    /// Counts an operation, and fails if a fault is scheduled for it.
    fn meet(&mut self, fault: Fault) -> io::Result<()> {
        let [writes, syncs, reads] = &mut self.met;
        *match fault {
            Fault::Write | Fault::Full => writes,
            Fault::Sync => syncs,
            Fault::Read => reads,
        } += 1;
        let now = self.count(fault);
        if fault == Fault::Write && self.faults.contains(&(Fault::Full, now)) {
            self.free = Some(0);
        }
        let next = self.trace.len() as u64 + 1;
        let dead = fault != Fault::Read && self.fails_from.is_some_and(|from| next >= from);
        if dead || self.faults.contains(&(fault, now)) {
            Err(io::Error::other("the disk was told to fail"))
        } else {
            Ok(())
        }
    }

    /// Takes the space by which a file grows, or returns the space by which it shrinks. Returns the
    /// new length.
    fn resize(&mut self, from: usize, to: usize) -> usize {
        let Some(free) = &mut self.free else {
            return to;
        };
        let room = free.saturating_add(from as u64);
        let became = to.min(usize::try_from(room).unwrap_or(usize::MAX));
        *free = room.saturating_sub(became as u64);
        became
    }

    /// Records a successful change of names, or a failure.
    fn change_name(&mut self, operation: Operation, known: bool) -> io::Result<()> {
        let works = self.meet(Fault::Write);
        let lasting = works.is_ok() && known;
        self.trace.push(if lasting {
            operation
        } else {
            Operation::Failed
        });
        works?;
        if known {
            Ok(())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// Returns the space of a file that has lost its name.
    fn forget(&mut self, file: Option<u64>) {
        let content = file.and_then(|file| self.files.get(&file));
        self.resize(content.map_or(0, Vec::len), 0);
    }
}

impl Disk for MemoryDisk {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let mut kept = self.lock();
        let file = match kept.names.get(name) {
            Some(file) => *file,
            None if create => {
                let file = kept.files.len() as u64;
                let name = name.to_owned();
                let operation = Operation::Create {
                    name: name.clone(),
                    file,
                };
                kept.change_name(operation, true)?;
                kept.names.insert(name, file);
                kept.files.insert(file, Vec::new());
                file
            }
            None => return Err(io::ErrorKind::NotFound.into()),
        };
        let disk = self.clone();
        Ok(Box::new(MemoryFile { disk, file }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.lock().names.keys().cloned().collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut kept = self.lock();
        let file = kept.names.get(from).copied();
        let operation = file.map_or(Operation::Failed, |file| Operation::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
            file,
        });
        kept.change_name(operation, file.is_some())?;
        kept.names.remove(from);
        let replaced = file.and_then(|file| kept.names.insert(to.to_owned(), file));
        kept.forget(replaced.filter(|replaced| Some(*replaced) != file));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut kept = self.lock();
        let known = kept.names.contains_key(name);
        let name = name.to_owned();
        kept.change_name(Operation::Remove { name: name.clone() }, known)?;
        let file = kept.names.remove(&name);
        kept.forget(file);
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut kept = self.lock();
        let synced = kept.meet(Fault::Sync);
        let works = synced.is_ok();
        kept.trace.push(Operation::SyncNames { works });
        synced
    }

    fn free_space(&self) -> io::Result<u64> {
        Ok(self.lock().free.unwrap_or(u64::MAX))
    }
}

struct MemoryFile {
    disk: MemoryDisk,
    file: u64,
}

impl MemoryFile {
    fn content<'k>(&self, kept: &'k mut Kept) -> &'k mut Vec<u8> {
        kept.files.entry(self.file).or_default()
    }
}

impl DiskFile for MemoryFile {
    fn length(&mut self) -> io::Result<u64> {
        Ok(self.content(&mut self.disk.lock()).len() as u64)
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut kept = self.disk.lock();
        let whole = kept.meet(Fault::Read).is_ok();
        let count = if whole { into.len() } else { into.len() / 2 };
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.content(&mut kept).get(start..).unwrap_or_default();
        for (to, from) in into.iter_mut().zip(rest.iter().take(count)) {
            *to = *from;
        }
        if whole && rest.len() >= into.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut kept = self.disk.lock();
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let mut done = kept.meet(Fault::Write);
        // A failed write is partly done: half of it, or as far as there is space.
        let tried = if done.is_ok() {
            bytes.len()
        } else {
            bytes.len() / 2
        };
        let before = self.content(&mut kept).len();
        let end = before.max(offset.saturating_add(tried));
        let room = kept.resize(before, end).saturating_sub(offset);
        if room < tried && done.is_ok() {
            done = Err(io::ErrorKind::StorageFull.into());
        }
        let written = bytes.get(..tried.min(room)).unwrap_or_default();
        kept.trace.push(Operation::Write {
            file: self.file,
            offset,
            bytes: written.into(),
        });
        put(self.content(&mut kept), offset, written);
        done
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut kept = self.disk.lock();
        let works = kept.meet(Fault::Write);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        kept.trace.push(if works.is_ok() {
            Operation::Truncate {
                file: self.file,
                length,
            }
        } else {
            Operation::Failed
        });
        works?;
        let before = self.content(&mut kept).len();
        self.content(&mut kept).truncate(length);
        kept.resize(before, before.min(length));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut kept = self.disk.lock();
        let synced = kept.meet(Fault::Sync);
        kept.trace.push(Operation::Sync {
            file: self.file,
            works: synced.is_ok(),
        });
        synced
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn text(disk: &MemoryDisk, name: &str) -> Option<String> {
        let mut file = disk.open(name, false).ok()?;
        let mut bytes = vec![0; usize::try_from(file.length().unwrap()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        Some(String::from_utf8(bytes).unwrap())
    }

    fn wrote(disk: &MemoryDisk, name: &str, content: &str) -> Box<dyn DiskFile> {
        let mut file = disk.open(name, true).unwrap();
        file.write_at(0, content.as_bytes()).unwrap();
        file
    }

    #[test]
    fn name_lasts_only_after_names_are_synced() {
        let disk = MemoryDisk::new();
        wrote(&disk, "old", "a").sync().unwrap();
        disk.sync_names().unwrap();
        disk.rename("old", "new").unwrap();
        assert_eq!(disk.list().unwrap(), ["new"]);
        let lost = disk.after_power_loss(Tear::Nothing);
        assert_eq!(text(&lost, "old").as_deref(), Some("a"));
        let kept = disk.after_power_loss(Tear::Everything);
        assert_eq!(kept.list().unwrap(), ["new"]);
        let either: Vec<_> = (0..16)
            .map(|seed| {
                disk.after_power_loss(Tear::Operations(seed))
                    .list()
                    .unwrap()
            })
            .collect();
        assert!(either.contains(&vec!["old".to_owned()]));
        assert!(either.contains(&vec!["new".to_owned()]));
        disk.sync_names().unwrap();
        disk.remove("new").unwrap();
        let back = disk.after_power_loss(Tear::Nothing);
        assert_eq!(text(&back, "new").as_deref(), Some("a"));
        disk.sync_names().unwrap();
        assert!(
            disk.after_power_loss(Tear::Everything)
                .list()
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn any_operation_can_be_the_last() {
        let disk = MemoryDisk::new();
        let mut file = wrote(&disk, "a", "one");
        file.sync().unwrap();
        disk.sync_names().unwrap();
        file.write_at(0, b"two").unwrap();
        file.truncate(1).unwrap();
        let found = |changes, tear| text(&disk.cut(changes, tear), "a");
        assert_eq!(found(3, Tear::Nothing), None);
        assert_eq!(found(3, Tear::Everything).as_deref(), Some("one"));
        assert_eq!(found(4, Tear::Nothing).as_deref(), Some("one"));
        assert_eq!(found(5, Tear::Everything).as_deref(), Some("two"));
        assert_eq!(found(5, Tear::Front).as_deref(), Some("tne"));
        assert_eq!(found(6, Tear::Everything).as_deref(), Some("t"));
        assert_eq!(
            (disk.changes(), found(6, Tear::Nothing).as_deref()),
            (6, Some("one"))
        );
        let again = disk.cut(5, Tear::Everything);
        again.open("a", false).unwrap().write_at(0, b"x").unwrap();
        let twice = again.after_power_loss(Tear::Everything);
        assert_eq!(text(&twice, "a").as_deref(), Some("xwo"));
    }

    #[test]
    fn sectors_are_lost_one_by_one() {
        let disk = MemoryDisk::new();
        let mut file = wrote(&disk, "a", &"a".repeat(2_000));
        file.sync().unwrap();
        disk.sync_names().unwrap();
        file.write_at(100, &[b'b'; 3_000]).unwrap();
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..256 {
            let torn = text(&disk.after_power_loss(Tear::Sectors(seed)), "a").unwrap();
            let first = torn.get(100..512).unwrap();
            assert!(first == "a".repeat(412) || first == "b".repeat(412));
            lengths.insert(torn.len());
        }
        assert!(lengths.contains(&2_000) && lengths.contains(&3_100));
    }

    #[test]
    fn content_of_failed_sync_stays_in_doubt() {
        let disk = MemoryDisk::new();
        let mut file = disk.open("a", true).unwrap();
        disk.sync_names().unwrap();
        file.write_at(0, b"aa").unwrap();
        disk.fail(Fault::Sync, 1);
        assert!(file.sync().is_err());
        file.sync().unwrap();
        file.write_at(1, b"b").unwrap();
        file.sync().unwrap();
        assert_eq!(text(&disk, "a").as_deref(), Some("ab"));
        let lost = disk.after_power_loss(Tear::Nothing);
        assert_eq!(text(&lost, "a").as_deref(), Some("\0b"));
    }

    #[test]
    fn fault_hits_its_scheduled_operation() {
        let disk = MemoryDisk::new();
        let mut file = wrote(&disk, "a", "0123");
        disk.fail(Fault::Write, 2);
        file.write_at(0, b"x").unwrap();
        assert!(file.write_at(2, b"yz").is_err());
        assert_eq!(text(&disk, "a").as_deref(), Some("x1y3"));
        disk.fail(Fault::Read, 1);
        let told = file.read_at(0, &mut [0; 4]).unwrap_err();
        assert_eq!(told.kind(), io::ErrorKind::UnexpectedEof);
        file.read_at(0, &mut [0; 4]).unwrap();
        disk.fail(Fault::Full, 1);
        file.write_at(0, b"full").unwrap();
        let told = file.write_at(4, b"!").unwrap_err();
        assert_eq!(told.kind(), io::ErrorKind::StorageFull);
        disk.set_free_space(2);
        let told = file.write_at(4, b"????").unwrap_err();
        assert_eq!(told.kind(), io::ErrorKind::StorageFull);
        assert_eq!(text(&disk, "a").as_deref(), Some("full??"));
        assert_eq!(disk.free_space().unwrap(), 0);
        disk.remove("a").unwrap();
        assert_eq!(disk.free_space().unwrap(), 6);
        assert_eq!(disk.count(Fault::Read), 4);
    }
}
