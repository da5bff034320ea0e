//! sled as the store of the index: opening, writing and flushing, with panics turned into errors.

use std::any::Any;
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

use uuid::Uuid;

use super::rows::Row;
use super::{frames, rows};
use crate::files::disk::{Disk, RealDisk, sync_directory};
use crate::files::private;
use crate::files::private::private;
use crate::log::Written;

/// An open sled database.
pub(crate) struct Index {
    pub(super) store: sled::Db,
    /// The first frame whose key does not exist yet.
    pub(super) keys_end: AtomicU64,
}

impl Index {
    /// Opens or creates the store. It does so on a thread, because sled panics on some damage.
    pub(crate) fn open(path: &Path, cache_bytes: u64) -> Result<Self, String> {
        expect_room(path).map_err(|error| error.to_string())?;
        for_its_user(path).map_err(|error| error.to_string())?;
        // sled would wait for the other end of a pipe.
        private::expect_regular_in(path).map_err(|error| error.to_string())?;
        let config = sled::Config::default()
            .path(path)
            .cache_capacity(cache_bytes)
            .flush_every_ms(None);
        let opening = thread::Builder::new()
            .name("journal index open".to_owned())
            .spawn(move || patiently(&config));
        let opened = opening
            .map_err(|error| error.to_string())?
            .join()
            .map_err(|panic| panic_text(&*panic))?;
        let store = opened.map_err(|error| error.to_string())?;
        let keys_end = contained(|| frames::keys_end(&store))?;
        Ok(Self {
            store,
            keys_end: AtomicU64::new(keys_end),
        })
    }

    /// Returns the mark and the number of records up to it. `None` for a new index.
    pub(crate) fn mark(&self, journal: Uuid) -> Result<Option<(Written, u64)>, String> {
        contained(|| {
            let mut mark = None;
            for key in [&rows::MARK[..], &rows::MARK_OF_WHOLE_FRAMES] {
                let value = self.store.get(key).map_err(|error| error.to_string())?;
                mark = mark.or(value.map(|value| (key, value)));
            }
            let Some((key, value)) = mark else {
                // Frames may exist before the first mark, but the first head is written with it.
                let head = self.store.scan_prefix([rows::HEADS]).next();
                return if head.is_none() {
                    Ok(None)
                } else {
                    Err("its mark is missing".to_owned())
                };
            };
            let (owner, mark, records) =
                rows::read_mark(key, &value).ok_or("its mark does not hold its checksum")?;
            if owner == journal {
                Ok(Some((mark, records)))
            } else {
                Err(format!("it belongs to journal {owner}"))
            }
        })
    }

    /// Writes rows, with the mark of the last frame that they cover. The index must have all frames
    /// up to the mark.
    pub(crate) fn commit(
        &self,
        changed: Vec<Row>,
        journal: Uuid,
        mark: Written,
        records: u64,
    ) -> Result<(), String> {
        let mut batch = sled::Batch::default();
        for row in changed
            .into_iter()
            .chain([Row::mark(journal, mark, records)])
        {
            match row.value {
                Some(value) => batch.insert(row.key, value),
                None => batch.remove(row.key),
            }
        }
        batch.remove(&rows::MARK_OF_WHOLE_FRAMES);
        contained(|| {
            self.store
                .apply_batch(batch)
                .map_err(|error| error.to_string())
        })
    }

    /// Frees the pages that sled has replaced. sled itself does so only at every 128th operation, a
    /// few pages at a time, and a batch of hundreds of rows is one operation.
    pub(crate) fn free_garbage() -> Result<(), String> {
        contained(|| {
            for _ in 0..EPOCHS {
                crossbeam_epoch::pin().flush();
            }
            Ok(())
        })
    }

    /// Makes the index durable. An index that is behind a closed log is then known to be damaged.
    ///
    /// sled's own flush syncs neither the disk cache nor new files, so all files are synced here.
    pub(crate) fn flush(&self, place: &Path) -> Result<(), String> {
        contained(|| self.store.flush().map_err(|error| error.to_string()))?;
        let sync = || {
            for entry in fs::read_dir(place)? {
                File::open(entry?.path())?.sync_all()?;
            }
            sync_directory(place)
        };
        sync().map_err(|error| format!("failed to sync its files: {error}"))
    }
}

/// Creates the directory with mode 0700 if it is missing, because sled's files are readable for
/// all.
fn for_its_user(path: &Path) -> io::Result<()> {
    match private().create(path) {
        // sled reports what is wrong with an existing path.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The minimum free space, in bytes, to open or write sled. sled writes segments of up to 512 KiB.
/// After a write that had no room, its next opening reports a corruption.
pub(crate) const FREE_SPACE_MIN: u64 = 1 << 20;

/// Fails if the disk has too little room for what sled writes when it is opened.
fn expect_room(path: &Path) -> io::Result<()> {
    if RealDisk::new(path).free_space()? < FREE_SPACE_MIN {
        return Err(no_room());
    }
    Ok(())
}

/// The system's error for a disk without room.
fn no_room() -> io::Error {
    if cfg!(target_os = "linux") {
        io::Error::from_raw_os_error(NO_SPACE)
    } else {
        io::ErrorKind::StorageFull.into()
    }
}

/// Linux's error number for a disk without room.
const NO_SPACE: i32 = 28;

/// Opens sled, and waits a little for its lock. The journal's own lock is held, so another holder
/// will soon be gone. It is a read that still runs after a close, or a child process that is being
/// started and shares the file until it runs.
fn patiently(config: &sled::Config) -> sled::Result<sled::Db> {
    let locked = |error: &sled::Error| is_in_use(&error.to_string());
    for _ in 0..LOCK_TRIES {
        match config.open() {
            Err(error) if locked(&error) => thread::sleep(LOCK_PAUSE),
            opened => return opened,
        }
    }
    config.open()
}

/// True if an index could not be opened because another process or handle has it open.
pub(crate) fn is_in_use(why: &str) -> bool {
    why.contains("could not acquire lock")
}

/// Returns the error of a disk that is full, over its quota, or read-only. Such an error is no
/// damage of the index. sled reports its cause only as text, which ends with the system's error
/// number.
pub(crate) fn refused_by_disk(why: &str) -> Option<io::Error> {
    let numbers = [NO_SPACE, 122, 30];
    let number = numbers
        .into_iter()
        .find(|number| why.contains(&format!("(os error {number})")))?;
    cfg!(target_os = "linux").then(|| io::Error::from_raw_os_error(number))
}

/// The number of epochs to advance. Garbage is freed two epochs later, and each advance starts with
/// a collection.
const EPOCHS: usize = 4;

const LOCK_TRIES: usize = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Runs an operation of sled, and turns a panic into an error.
pub(super) fn contained<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panic_text(&*panic)))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!("sled panicked: {}", text.unwrap_or("without a word"))
}
