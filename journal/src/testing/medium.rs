//! The effect of a power loss: the operations are replayed onto a medium that distinguishes synced
//! from unsynced content.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The unit in which a torn write reaches the disk.
const SECTOR: usize = 512;

/// The unsynced operations that survive a power loss.
///
/// Two operations on the same place survive in their order: a system may write a page early or
/// late, but never an older version over a newer one. Operations on different places survive
/// independently.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tear {
    /// None of them.
    Nothing,
    /// All of them.
    Everything,
    /// The first half of each write, and all other operations.
    Front,
    /// The sectors of writes, and the other operations, that a seed selects. A file may have grown
    /// without its new content.
    Sectors(u64),
    /// The whole operations that a seed selects.
    Operations(u64),
}

/// An operation that changes the disk.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Create {
        name: String,
        file: u64,
    },
    Rename {
        from: String,
        to: String,
        file: u64,
    },
    Remove {
        name: String,
    },
    Write {
        file: u64,
        offset: usize,
        bytes: Arc<[u8]>,
    },
    Truncate {
        file: u64,
        length: usize,
    },
    Sync {
        file: u64,
        works: bool,
    },
    SyncNames {
        works: bool,
    },
    /// An operation that failed without an effect on the medium.
    Failed,
}

/// The files by number, so that an open file survives without its name.
#[derive(Debug, Default)]
pub(super) struct Medium {
    names: Pending<BTreeMap<String, u64>>,
    files: BTreeMap<u64, Pending<Vec<u8>>>,
}

/// Durable content, and the operations on it that are not durable yet.
#[derive(Debug, Default)]
struct Pending<T> {
    durable: T,
    operations: Vec<Unsynced>,
    /// True once a sync failed: its content is not known to be durable, whatever later syncs
    /// return.
    doubtful: bool,
}

#[derive(Debug)]
struct Unsynced {
    number: u64,
    operation: Operation,
    state: State,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Open,
    Doubtful,
    Durable,
}

impl Medium {
    /// A medium with these files and nothing unsynced.
    pub(super) fn holding(files: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut medium = Self::default();
        for (file, (name, bytes)) in (0..).zip(files) {
            medium.names.durable.insert(name.clone(), file);
            medium.files.entry(file).or_default().durable = bytes.clone();
        }
        medium
    }

    /// Takes the next operation. Its number selects its fate in a tear.
    pub(super) fn take(&mut self, number: u64, operation: &Operation) {
        match operation {
            Operation::Create { .. } | Operation::Rename { .. } | Operation::Remove { .. } => {
                self.names.push(number, operation);
            }
            Operation::Write { file, .. } | Operation::Truncate { file, .. } => {
                self.files.entry(*file).or_default().push(number, operation);
            }
            Operation::Sync { file, works } => {
                self.files.entry(*file).or_default().sync(*works, play);
            }
            // A directory stays dirty in the system's journal, so the next successful sync makes
            // its names durable.
            Operation::SyncNames { works: true } => self.names.sync(true, play_name),
            Operation::SyncNames { works: false } => {}
            Operation::Failed => {}
        }
    }

    /// Returns the files after a power loss.
    pub(super) fn after(self, tear: Tear) -> BTreeMap<String, Vec<u8>> {
        let names = self.names.after(tear, play_name);
        let mut files = BTreeMap::new();
        for (file, content) in self.files {
            files.insert(file, content.after(tear, play));
        }
        names
            .into_iter()
            .map(|(name, file)| (name, files.remove(&file).unwrap_or_default()))
            .collect()
    }
}

impl<T> Pending<T> {
    fn push(&mut self, number: u64, operation: &Operation) {
        self.operations.push(Unsynced {
            number,
            operation: operation.clone(),
            state: State::Open,
        });
    }

    fn sync(&mut self, works: bool, play: impl Fn(&mut T, &Unsynced, Tear)) {
        if works && !self.doubtful {
            for unsynced in self.operations.drain(..) {
                play(&mut self.durable, &unsynced, Tear::Everything);
            }
            return;
        }
        // Doubtful operations are between the others, so all are kept in their order.
        self.doubtful = true;
        let becomes = if works {
            State::Durable
        } else {
            State::Doubtful
        };
        let open = self
            .operations
            .iter_mut()
            .filter(|unsynced| unsynced.state == State::Open);
        open.for_each(|unsynced| unsynced.state = becomes);
    }

    fn after(mut self, tear: Tear, play: impl Fn(&mut T, &Unsynced, Tear)) -> T {
        for unsynced in &self.operations {
            let tear = if unsynced.state == State::Durable {
                Tear::Everything
            } else {
                tear
            };
            play(&mut self.durable, unsynced, tear);
        }
        self.durable
    }
}

impl Unsynced {
    fn survives(&self, tear: Tear) -> bool {
        match tear {
            Tear::Nothing => false,
            Tear::Everything | Tear::Front => true,
            Tear::Sectors(seed) | Tear::Operations(seed) => {
                mixed(seed ^ self.number << 32).is_multiple_of(2)
            }
        }
    }
}

fn play_name(names: &mut BTreeMap<String, u64>, unsynced: &Unsynced, tear: Tear) {
    if !unsynced.survives(tear) {
        return;
    }
    match &unsynced.operation {
        Operation::Create { name, file } => {
            names.insert(name.clone(), *file);
        }
        Operation::Rename { from, to, file } => {
            names.remove(from);
            names.insert(to.clone(), *file);
        }
        Operation::Remove { name } => {
            names.remove(name);
        }
        Operation::Write { .. }
        | Operation::Truncate { .. }
        | Operation::Sync { .. }
        | Operation::SyncNames { .. }
        | Operation::Failed => {}
    }
}

fn play(content: &mut Vec<u8>, unsynced: &Unsynced, tear: Tear) {
    match &unsynced.operation {
        Operation::Truncate { length, .. } => {
            if unsynced.survives(tear) {
                content.truncate(*length);
            }
        }
        Operation::Write { offset, bytes, .. } => match tear {
            Tear::Sectors(seed) => sectors(content, unsynced, (*offset, bytes), seed),
            Tear::Front => put(
                content,
                *offset,
                bytes.get(..bytes.len() / 2).unwrap_or_default(),
            ),
            Tear::Nothing | Tear::Everything | Tear::Operations(_) => {
                if unsynced.survives(tear) {
                    put(content, *offset, bytes);
                }
            }
        },
        Operation::Create { .. }
        | Operation::Rename { .. }
        | Operation::Remove { .. }
        | Operation::Sync { .. }
        | Operation::SyncNames { .. }
        | Operation::Failed => {}
    }
}

fn sectors(content: &mut Vec<u8>, unsynced: &Unsynced, (offset, bytes): (usize, &[u8]), seed: u64) {
    if unsynced.survives(Tear::Operations(seed)) && content.len() < offset + bytes.len() {
        content.resize(offset + bytes.len(), 0);
    }
    let mut at = 0;
    while at < bytes.len() {
        // Sectors are aligned to the file, not to the write.
        let end = ((offset + at) / SECTOR + 1) * SECTOR - offset;
        let end = end.min(bytes.len());
        let chosen = mixed(seed ^ unsynced.number << 32 ^ (at as u64 + 1));
        if chosen.is_multiple_of(2) {
            put(content, offset + at, bytes.get(at..end).unwrap_or_default());
        }
        at = end;
    }
}

/// Writes bytes at an offset, with zeros in a gap before it.
pub(super) fn put(into: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
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

/// The mixing function of SplitMix64.
fn mixed(seed: u64) -> u64 {
    let mut value = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}
