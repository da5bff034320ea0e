//! The checks of all stores, with the journal in memory and with the journal on disk.

use std::fs;
use std::sync::Arc;

use recount_journal::testing::suite::Open;
use recount_journal::{DiskJournal, MemoryJournal};

mod in_memory {
    recount_journal::journal_suite!(super::with_memory);
}

mod on_disk {
    recount_journal::journal_suite!(super::with_disk);
}

mod on_disk_without_index {
    recount_journal::journal_suite!(super::with_disk_whose_index_is_lost);
}

fn with_memory(check: fn(Open<'_>)) {
    check(&|_| Arc::new(MemoryJournal::new()));
}

fn with_disk(check: fn(Open<'_>)) {
    let directory = tempfile::tempdir().unwrap();
    check(&|name| Arc::new(DiskJournal::open(directory.path().join(name)).unwrap()));
}

/// Whenever the journal is opened again, its index must be made from its log.
fn with_disk_whose_index_is_lost(check: fn(Open<'_>)) {
    let directory = tempfile::tempdir().unwrap();
    check(&|name| {
        let path = directory.path().join(name);
        if path.exists() {
            fs::remove_dir_all(path.join("sled")).unwrap();
        }
        Arc::new(DiskJournal::open(path).unwrap())
    });
}
