//! The baseline: one write of so many bytes into an existing file, and a sync.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const FILE_BYTES: u64 = 64 << 20;

/// A file of zeros that is allocated and synced.
pub(crate) struct Raw {
    file: File,
    offset: u64,
    bytes: Vec<u8>,
}

impl Raw {
    /// Makes the file, and the bytes of one write.
    pub(crate) fn new(path: &Path, bytes: usize) -> Raw {
        let file = File::create(path).expect("a file");
        let zeros = vec![0; 64 << 10];
        for offset in (0..FILE_BYTES).step_by(zeros.len()) {
            file.write_all_at(&zeros, offset).expect("room");
        }
        file.sync_all().expect("a sync");
        let bytes = vec![b'x'; bytes];
        Raw {
            file,
            offset: 0,
            bytes,
        }
    }

    /// The time of each of so many writes with their syncs.
    pub(crate) fn writes(&mut self, count: usize) -> Vec<Duration> {
        let write = |_| {
            if self.offset + self.bytes.len() as u64 > FILE_BYTES {
                self.offset = 0;
            }
            let begun = Instant::now();
            self.file
                .write_all_at(&self.bytes, self.offset)
                .expect("a write into a file that is there");
            self.file.sync_data().expect("a sync");
            self.offset += self.bytes.len() as u64;
            begun.elapsed()
        };
        (0..count).map(write).collect()
    }
}
