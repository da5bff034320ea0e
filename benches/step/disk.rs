//! The disk space of a journal.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The disk space of a directory, in bytes.
pub(crate) fn disk(path: &Path) -> u64 {
    let entries = fs::read_dir(path).expect("a directory");
    let sizes = entries.map(|entry| {
        let entry = entry.expect("an entry");
        let metadata = entry.metadata().expect("what it takes");
        if metadata.is_dir() {
            disk(&entry.path())
        } else {
            metadata.blocks() * 512
        }
    });
    sizes.sum()
}
