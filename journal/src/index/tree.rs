//! sled as the store of the index: opened, written and flushed, its panics and errors as values.

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
use super::{blocks, rows};
use crate::files::disk::{Disk, RealDisk, sync_directory};
use crate::files::private::private;
use crate::log::Written;

/// sled, opened.
pub(crate) struct Index {
    pub(super) store: sled::Db,
    /// The first frame whose key is not there yet.
    pub(super) keys_end: AtomicU64,
}

impl Index {
    /// Opens or makes the store. sled panics on some damage, so that happens on a thread of its
    /// own.
    pub(crate) fn open(path: &Path, cache_bytes: u64) -> Result<Self, String> {
        expect_room(path).map_err(|error| error.to_string())?;
        for_its_user(path).map_err(|error| error.to_string())?;
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
            .map_err(|panic| told(&*panic))?;
        let store = opened.map_err(|error| error.to_string())?;
        let keys_end = contained(|| blocks::keys_end(&store))?;
        Ok(Self {
            store,
            keys_end: AtomicU64::new(keys_end),
        })
    }

    /// Up to where the index has come and how many records that is, `None` for a new one.
    pub(crate) fn mark(&self, journal: Uuid) -> Result<Option<(Written, u64)>, String> {
        contained(|| {
            let mut mark = None;
            for key in [&rows::MARK[..], &rows::MARK_OF_WHOLE_FRAMES] {
                let value = self.store.get(key).map_err(|error| error.to_string())?;
                mark = mark.or(value.map(|value| (key, value)));
            }
            let Some((key, value)) = mark else {
                // Frames may have come in before the first mark, with which the first head comes.
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

    /// Puts rows in together with the mark that says up to where they speak. All frames up to there
    /// must be in.
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

    /// Frees the pages that sled has replaced. By itself it does so a few at a time, and seldom: at
    /// every 128th operation, and a batch of hundreds of rows is one.
    pub(crate) fn free_garbage() -> Result<(), String> {
        contained(|| {
            for _ in 0..EPOCHS {
                crossbeam_epoch::pin().flush();
            }
            Ok(())
        })
    }

    /// Makes everything durable, so that an index that is behind a closed log is known to be
    /// damaged.
    ///
    /// sled's own flush leaves the disk's cache and new files alone; hence the files are synced
    /// here.
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

/// Makes the directory, if there is none, for its user alone: sled makes its files for all.
fn for_its_user(path: &Path) -> io::Result<()> {
    match private().create(path) {
        // sled says what is wrong with what is there.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The free space, in bytes, below which sled is not opened and nothing is put into it. It writes
/// up to a segment of 512 KiB at a time, and what it opens for the first time after a write that
/// had no room it calls corrupted.
pub(crate) const ROOM_LEAST: u64 = 1 << 20;

/// Refuses a disk without room for what sled writes when it is opened.
fn expect_room(path: &Path) -> io::Result<()> {
    if RealDisk::new(path).free_space()? < ROOM_LEAST {
        return Err(no_room());
    }
    Ok(())
}

/// The error of the system for a disk without room.
fn no_room() -> io::Error {
    if cfg!(target_os = "linux") {
        io::Error::from_raw_os_error(NO_SPACE)
    } else {
        io::ErrorKind::StorageFull.into()
    }
}

/// The number that Linux has for a disk without room.
const NO_SPACE: i32 = 28;

/// Opens sled, waiting a little for its lock. The journal's own lock is held, so whoever has sled's
/// is on the way out: a read that still runs after a close, or a child process just being started,
/// which shares the file until it runs.
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

/// The error of a disk that took nothing more, which says nothing against the index: full, over its
/// quota, or read-only. sled hands its cause on in words only, which end with the system's number.
pub(crate) fn refused_by_disk(why: &str) -> Option<io::Error> {
    let numbers = [NO_SPACE, 122, 30];
    let number = numbers
        .into_iter()
        .find(|number| why.contains(&format!("(os error {number})")))?;
    cfg!(target_os = "linux").then(|| io::Error::from_raw_os_error(number))
}

/// What was let go of is freed two epochs later; each begins with a look at what there is to free.
const EPOCHS: usize = 4;

const LOCK_TRIES: usize = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Runs something inside sled, whose panics become errors.
pub(super) fn contained<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(told(&*panic)))
}

fn told(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!("sled panicked: {}", text.unwrap_or("without a word"))
}
