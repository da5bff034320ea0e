//! The renames with which a repair and a compaction take effect. Each is durable before the next
//! one.
//!
//! ```text
//! repair      log.part → log.new      from here on decided: any later opening finishes it
//!             salvage.part → salvage-1.jsonl, sled → sled.damaged-1,
//!             BACKUP and snapshots removed, log → log.damaged-1, log.new → log
//! compaction  sled → sled.old         decided likewise
//!             sled.new → sled, sled.old removed
//! ```
//!
//! A number is the next free one. Undecided changes are removed. This module does not know the
//! content of the files.

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
    /// Called before every step, so that tests can end the process there.
    seen: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The names under which a repair set files aside.
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
        // A dangling link counts as present.
        fs::symlink_metadata(self.path(name)).is_ok()
    }

    /// Reports a step that is about to run.
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

    /// Removes a file, or a directory with its content, if it exists.
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

    /// Finishes the changes that were decided before their process ended, and removes the others.
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

    /// Returns the index that an opening would use.
    pub(crate) fn index(&self) -> Option<PathBuf> {
        let candidates = [SLED, SLED_NEW, SLED_OLD];
        let usable = |name: &&str| **name != *SLED_NEW || self.has(SLED_OLD);
        candidates
            .into_iter()
            .filter(usable)
            .find(|name| self.has(name))
            .map(|name| self.path(name))
    }

    /// Decides the repair: the new log is complete and durable, and from here on any opening
    /// finishes it.
    pub(crate) fn decide_repair(&self) -> io::Result<SetAside> {
        self.rename(LOG_PART, LOG_NEW)?;
        self.finish_repair()
    }

    /// Replaces the old log with the new one. The index, which belongs to the old log, is set aside
    /// first.
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
        // The new log continues after the end that `BACKUP` names.
        self.remove(BACKUP)?;
        // Readers would notice that the snapshots belong to another log. But the snapshot of a lost
        // stream would never be replaced.
        self.remove(SNAPSHOTS)?;
        if self.has(LOG) {
            let name = self.free("log.damaged-", "");
            self.rename(LOG, &name)?;
            aside.log = Some(name);
        }
        self.rename(LOG_NEW, LOG)?;
        Ok(aside)
    }

    /// Replaces the old index with the new one. It removes the old one and the indexes that were
    /// set aside before.
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

    /// Returns the names of the indexes that were set aside.
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
