//! Journals on disk for tests, and their files.

use std::path::Path;

pub(crate) use recount_journal::testing::Stream;
use recount_journal::{DiskJournal, Journal, Options, block_on};

/// The options of crash and injury tests: small segments, so that the log rolls often, and no
/// free-space floor.
pub(crate) fn options(path: &Path) -> Options {
    DiskJournal::options(path)
        .segment_bytes(16 << 10)
        .floor_bytes(0)
}

/// Creates a closed journal of three streams. Returns the streams.
pub(crate) fn closed_journal(path: &Path) -> Vec<Stream> {
    let journal = DiskJournal::open(path).unwrap();
    let mut streams = [Stream::new(1), Stream::new(2), Stream::new(3)];
    for round in 0..5 {
        for stream in &mut streams {
            let body = format!(r#"{{"round":{round},"text":"{}"}}"#, "x".repeat(round * 40));
            stream.append(&journal, &[&body, "{}"]);
        }
    }
    block_on(journal.close()).unwrap();
    streams.to_vec()
}

/// Opens the index once its lock is free. A child process of another test shares the lock of a file
/// until it runs.
pub(crate) fn index(path: &Path) -> sled::Db {
    loop {
        match sled::open(path.join("sled")) {
            Ok(store) => return store,
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("could not acquire lock"), "{text}");
                std::thread::yield_now();
            }
        }
    }
}

/// The single file of the log.
pub(crate) fn log_file(path: &Path) -> std::path::PathBuf {
    path.join("log").join("0000000000000001.log")
}
