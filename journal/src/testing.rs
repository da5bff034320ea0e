//! A disk in memory under the log, that can be made to fail and that can lose power.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::{Disk, DiskFile};

/// The unit in which a torn write reaches the disk.
const SECTOR: usize = 512;

/// Keeps what was written and what was synced apart.
///
/// ```
/// use recount_journal::disk::Disk;
/// use recount_journal::testing::{MemoryDisk, Tear};
/// let disk = MemoryDisk::new();
/// disk.open("log", true)?.write_at(0, b"never synced")?;
/// assert!(disk.after_power_loss(Tear::Nothing).list()?.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Clone, Debug, Default)]
struct Kept {
    files: BTreeMap<String, Content>,
    synced_names: BTreeSet<String>,
    changes: u64,
    fails_from: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Content {
    synced: Vec<u8>,
    written: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { length: usize },
}

/// What of the unsynced changes survives a power loss.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tear {
    /// None of it.
    Nothing,
    /// All of it.
    Everything,
    /// The front half of each write.
    Front,
    /// The sectors that a number chooses.
    Sectors(u64),
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the change of this number, counted from 1, and all later ones fail; a write that fails may still be torn onto the disk.
    pub fn fail_from(&self, change: u64) {
        self.lock().fails_from = Some(change);
    }

    /// How many writes, cuts and syncs there were.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// The disk as it is found after the power comes back.
    #[must_use]
    pub fn after_power_loss(&self, tear: Tear) -> Self {
        let kept = self.lock().clone();
        let lasting = |name: &String| tear != Tear::Nothing || kept.synced_names.contains(name);
        let files = kept.files.iter().filter(|(name, _)| lasting(name));
        let files: BTreeMap<_, _> = files
            .map(|(name, content)| (name.clone(), content.after(tear)))
            .collect();
        let synced_names = files.keys().cloned().collect();
        Self {
            kept: Arc::new(Mutex::new(Kept {
                files,
                synced_names,
                changes: 0,
                fails_from: None,
            })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Counts a change; says whether it works.
    fn change(&mut self) -> io::Result<()> {
        self.changes += 1;
        let fails = self.fails_from.is_some_and(|from| self.changes >= from);
        if fails {
            Err(io::Error::other("the disk was told to fail"))
        } else {
            Ok(())
        }
    }
}

impl Content {
    fn after(&self, tear: Tear) -> Self {
        let mut bytes = self.synced.clone();
        for (number, change) in (1_u64..).zip(&self.pending) {
            match change {
                Change::Truncate { length } => {
                    if tear != Tear::Nothing {
                        bytes.truncate(*length);
                    }
                }
                Change::Write { offset, bytes: new } => {
                    let half = new.len() / 2;
                    for (index, piece) in (0_u64..).zip(new.chunks(SECTOR)) {
                        let at = usize::try_from(index).unwrap_or(usize::MAX) * SECTOR;
                        let kept = match tear {
                            Tear::Nothing => 0,
                            Tear::Everything => piece.len(),
                            Tear::Front => half.saturating_sub(at).min(piece.len()),
                            Tear::Sectors(seed)
                                if mixed(seed ^ number << 32 ^ index).is_multiple_of(2) =>
                            {
                                piece.len()
                            }
                            Tear::Sectors(_) => 0,
                        };
                        put(
                            &mut bytes,
                            offset + at,
                            piece.get(..kept).unwrap_or_default(),
                        );
                    }
                }
            }
        }
        Self {
            synced: bytes.clone(),
            written: bytes,
            pending: Vec::new(),
        }
    }
}

/// SplitMix64.
fn mixed(seed: u64) -> u64 {
    let mut value = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

fn put(into: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let end = offset + bytes.len();
    if into.len() < end {
        into.resize(end, 0);
    }
    if let Some(place) = into.get_mut(offset..end) {
        place.copy_from_slice(bytes);
    }
}

impl Disk for MemoryDisk {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let mut kept = self.lock();
        if !kept.files.contains_key(name) {
            if !create {
                return Err(io::ErrorKind::NotFound.into());
            }
            kept.files.insert(name.to_owned(), Content::default());
        }
        Ok(Box::new(MemoryFile {
            disk: self.clone(),
            name: name.to_owned(),
        }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.lock().files.keys().cloned().collect())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut kept = self.lock();
        kept.change()?;
        kept.synced_names = kept.files.keys().cloned().collect();
        Ok(())
    }
}

struct MemoryFile {
    disk: MemoryDisk,
    name: String,
}

impl MemoryFile {
    fn with<T>(
        &self,
        counted: bool,
        run: impl FnOnce(&mut Content, io::Result<()>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut kept = self.disk.lock();
        let works = if counted { kept.change() } else { Ok(()) };
        let content = kept
            .files
            .get_mut(&self.name)
            .ok_or(io::ErrorKind::NotFound)?;
        run(content, works)
    }
}

impl DiskFile for MemoryFile {
    fn length(&mut self) -> io::Result<u64> {
        self.with(false, |content, _| Ok(content.written.len() as u64))
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.with(false, |content, _| {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let bytes = content
                .written
                .get(start..)
                .and_then(|rest| rest.get(..into.len()));
            into.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.with(true, |content, works| {
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            content.pending.push(Change::Write {
                offset,
                bytes: bytes.to_vec(),
            });
            works?;
            put(&mut content.written, offset, bytes);
            Ok(())
        })
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.with(true, |content, works| {
            works?;
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            content.pending.push(Change::Truncate { length });
            content.written.truncate(length);
            Ok(())
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.with(true, |content, works| {
            works?;
            content.synced = content.written.clone();
            content.pending.clear();
            Ok(())
        })
    }
}
