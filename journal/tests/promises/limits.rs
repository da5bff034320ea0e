//! Large values do not make large pages in the index.

use std::fs;
use std::path::Path;

use recount_journal::{CompactOptions, DiskJournal, Journal, Object, block_on, compact};

use crate::stream::Stream;

/// Counts the files that sled creates for oversized pages, which it never syncs.
fn files_of_large_pages(path: &Path) -> usize {
    fs::read_dir(path.join("sled/blobs")).unwrap().count()
}

#[test]
fn large_values_make_no_large_index_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let journal = DiskJournal::open(path).unwrap();
    let mut stream = Stream::new(1);
    // Commits of one full or nearly full piece, of a few pieces, and of many, so that leaves fill
    // in every way.
    for size in [6_600, 6_700, 6_800, 20_000, 300].repeat(80) {
        let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(size));
        stream.append(&journal, &[&body]);
    }
    let object = Object::new(vec![7; 1 << 20]);
    let result = format!(r#"{{"result":"{}"}}"#, "x".repeat(1 << 20));
    let mut append = stream.next(&[&result, "{}"]);
    append.objects = vec![object.clone()];
    block_on(journal.append(append)).unwrap();
    block_on(journal.close()).unwrap();
    assert_eq!(files_of_large_pages(path), 0, "as it was written");
    compact(path, CompactOptions::default()).unwrap();
    assert_eq!(files_of_large_pages(path), 0, "compacted");
    fs::remove_dir_all(path.join("sled")).unwrap();
    let journal = DiskJournal::open(path).unwrap();
    stream.assert_in(&journal);
    let kept = block_on(journal.object(object.hash)).unwrap().unwrap();
    assert!(kept == object.bytes);
    block_on(journal.close()).unwrap();
    assert_eq!(files_of_large_pages(path), 0, "made again");
}
