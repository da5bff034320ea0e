//! How a repair and a compaction take effect: by a few changes of names, each durable before the
//! next one.
//!
//! ```text
//! repair      log.part → log.new                 from here on it is decided, and whoever comes next finishes it
//!             salvage.part → salvage-1.jsonl, sled → sled.damaged-1, BACKUP and snapshots removed, log → log.damaged-1, log.new → log
//! compaction  sled → sled.old                    decided likewise
//!             sled.new → sled, sled.old removed
//! ```
//!
//! A number is always the next free one. What was not decided is removed. Names only: what the
//! files hold is not known here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::sync_directory;

pub(crate) const BACKUP: &str = "BACKUP";
pub(crate) const LOG: &str = "log";
pub(crate) const LOG_NEW: &str = "log.new";
pub(crate) const LOG_PART: &str = "log.part";
pub(crate) const SALVAGE_PART: &str = "salvage.part";
pub(crate) const SLED: &str = "sled";
pub(crate) const SNAPSHOTS: &str = "snapshots";
pub(crate) const SLED_NEW: &str = "sled.new";
const SLED_OLD: &str = "sled.old";
const SLED_DAMAGED: &str = "sled.damaged-";

/// The names in a journal's directory.
#[derive(Clone)]
pub(crate) struct Names {
    directory: PathBuf,
    /// Is told of every step before it is done, so that tests can end the process there.
    seen: Arc<dyn Fn(&str) + Send + Sync>,
}

/// What a repair was given the names of.
#[derive(Debug, Default)]
pub(crate) struct SetAside {
    pub(crate) log: Option<String>,
    pub(crate) salvage: Option<String>,
}

impl Names {
    pub(crate) fn of(directory: &Path) -> Self {
        Self::seen_by(directory, Arc::new(|_| {}))
    }

    pub(crate) fn seen_by(directory: &Path, seen: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        let directory = directory.to_owned();
        Self { directory, seen }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        // A link that leads nowhere is there, too.
        fs::symlink_metadata(self.path(name)).is_ok()
    }

    /// Tells of a step that is about to be done.
    pub(crate) fn step(&self, what: &str) {
        (self.seen)(what);
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.step("sync the names");
        sync_directory(&self.directory)
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.step(&format!("rename {from} to {to}"));
        fs::rename(self.path(from), self.path(to))?;
        self.sync()
    }

    /// Removes a file or a directory with all that is in it, if it is there.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.path(name);
        let Ok(facts) = fs::symlink_metadata(&path) else {
            return Ok(());
        };
        self.step(&format!("remove {name}"));
        if facts.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
        self.sync()
    }

    /// Finishes what was decided before the process that decided it ended, and removes what was
    /// not.
    pub(crate) fn finish(&self) -> io::Result<()> {
        if self.has(LOG_NEW) {
            self.finish_repair()?;
        }
        self.remove(LOG_PART)?;
        self.remove(SALVAGE_PART)?;
        if self.has(SLED_OLD) && !self.has(SLED) {
            let whole = if self.has(SLED_NEW) {
                SLED_NEW
            } else {
                SLED_OLD
            };
            self.rename(whole, SLED)?;
        }
        self.remove(SLED_NEW)?;
        self.remove(SLED_OLD)
    }

    /// The index as it would be found by an opening.
    pub(crate) fn index(&self) -> Option<PathBuf> {
        let candidates = [SLED, SLED_NEW, SLED_OLD];
        let usable = |name: &&str| **name != *SLED_NEW || self.has(SLED_OLD);
        candidates
            .into_iter()
            .filter(usable)
            .find(|name| self.has(name))
            .map(|name| self.path(name))
    }

    /// The new log is whole and durable: from here on the repair is finished, whatever happens.
    pub(crate) fn decide_repair(&self) -> io::Result<SetAside> {
        self.rename(LOG_PART, LOG_NEW)?;
        self.finish_repair()
    }

    /// Puts the new log in the place of the old one. The index, which speaks of the old one, goes
    /// before that.
    fn finish_repair(&self) -> io::Result<SetAside> {
        let mut aside = SetAside::default();
        if self.has(SALVAGE_PART) {
            let name = self.free("salvage-", ".jsonl");
            self.rename(SALVAGE_PART, &name)?;
            aside.salvage = Some(name);
        }
        if self.has(SLED) {
            self.rename(SLED, &self.free(SLED_DAMAGED, ""))?;
        }
        // The new log goes on behind the end that this speaks of.
        self.remove(BACKUP)?;
        // Their readers would find out that they are of another log; those of a stream that is gone
        // nobody would ever replace.
        self.remove(SNAPSHOTS)?;
        if self.has(LOG) {
            let name = self.free("log.damaged-", "");
            self.rename(LOG, &name)?;
            aside.log = Some(name);
        }
        self.rename(LOG_NEW, LOG)?;
        Ok(aside)
    }

    /// Puts the new index in the place of the old one, and removes that and all that were set aside
    /// before.
    pub(crate) fn swap_index(&self) -> io::Result<()> {
        if self.has(SLED) {
            self.rename(SLED, SLED_OLD)?;
        }
        self.rename(SLED_NEW, SLED)?;
        self.remove(SLED_OLD)?;
        for name in self.set_aside()? {
            self.remove(&name)?;
        }
        Ok(())
    }

    /// The indexes that were set aside.
    pub(crate) fn set_aside(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix(SLED_DAMAGED);
            if number.is_some_and(|number| number.parse::<u64>().is_ok()) {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn free(&self, before: &str, behind: &str) -> String {
        let mut number = 1_u64;
        loop {
            let name = format!("{before}{number}{behind}");
            if !self.has(&name) {
                return name;
            }
            number += 1;
        }
    }
}
