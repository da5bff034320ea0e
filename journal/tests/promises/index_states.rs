//! The states in which sled's files may be found after a power loss. Nothing in them is made
//! durable while a journal is open, so every state is possible.

use std::fs;
use std::path::{Path, PathBuf};

use recount_journal::disk::{Disk, RealDisk};
use tempfile::TempDir;

use crate::random::Random;

/// Copies of a journal's directory without its log, each with the time from which it may be found.
pub(crate) struct IndexStates {
    copies: Vec<(u64, PathBuf)>,
}

impl IndexStates {
    pub(crate) fn new() -> Self {
        Self { copies: Vec::new() }
    }

    /// Copies the current directory. `now` must be called only after that.
    pub(crate) fn keep(&mut self, journal: &Path, beside: &Path, now: impl Fn() -> u64) {
        let copy = beside.join(format!("copy-{}", self.copies.len()));
        copy_directory(journal, &copy);
        self.copies.push((now(), copy));
    }

    /// Creates a directory whose index is in a possible state of a time. Returns a description.
    pub(crate) fn make(&self, at: &Path, moment: u64, random: &mut Random) -> &'static str {
        let known = self.copies.partition_point(|(then, _)| *then <= moment);
        let (_, first) = &self.copies[0];
        fs::create_dir_all(at).unwrap();
        fs::copy(first.join("JOURNAL"), at.join("JOURNAL")).unwrap();
        let index = at.join("sled");
        let from = |copy: usize| self.copies[copy].1.join("sled");
        match random.below(8) {
            // Copying takes most of the time, so most cases do without it.
            0..3 => "gone",
            3 => {
                fs::create_dir(&index).unwrap();
                "empty"
            }
            _ if known == 0 => "gone",
            4 | 5 => {
                copy_directory(&from(known - 1), &index);
                "as it is"
            }
            6 => {
                copy_directory(&from(random.index(known)), &index);
                "older"
            }
            _ => {
                copy_directory(&from(known - 1), &index);
                let files = files(&index);
                if !files.is_empty() {
                    tear(
                        &random.one_of(&files.iter().collect::<Vec<_>>()).clone(),
                        random,
                    );
                }
                "torn"
            }
        }
    }
}

/// Returns a directory for tests that do not depend on the disk: in memory, if the system has such
/// a place with room.
pub(crate) fn scratch() -> TempDir {
    let memory = RealDisk::new("/dev/shm");
    let room =
        Path::new("/dev/shm").is_dir() && memory.free_space().is_ok_and(|free| free > 1 << 30);
    let made = room
        .then(|| tempfile::tempdir_in("/dev/shm").ok())
        .flatten();
    made.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// Returns all files below a directory, sorted.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

pub(crate) fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let from = entry.unwrap().path();
        let to = to.join(from.file_name().unwrap());
        if from.is_dir() {
            copy_directory(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

/// Cuts a file or overwrites a part of it.
fn tear(file: &Path, random: &mut Random) {
    let mut bytes = fs::read(file).unwrap();
    let at = random.index(bytes.len().max(1));
    if random.below(3) == 0 {
        bytes.truncate(at);
    } else {
        let length = random.index(4_096);
        let filler = u8::try_from(random.below(256)).unwrap();
        bytes
            .iter_mut()
            .skip(at)
            .take(length)
            .for_each(|byte| *byte = filler);
    }
    fs::write(file, bytes).unwrap();
}
