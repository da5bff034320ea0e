//! A single process has a journal, whatever happens to its names. A second one is rejected, and a
//! journal that is moved, replaced or removed accepts no append any more.

use std::fs;
use std::path::Path;

use recount_journal::{
    CompactOptions, DiskJournal, Error, Journal, RepairOptions, backup, block_on, compact, repair,
    verify,
};

use crate::stream::{Stream, log_file, options};

fn is_in_use<T>(opened: Result<T, Error>) -> bool {
    matches!(opened, Err(Error::InUse { .. }))
}

/// Asserts that every operation that needs exclusive access is rejected.
fn assert_in_use(path: &Path) {
    assert!(is_in_use(DiskJournal::open(path)), "open");
    let reading = DiskJournal::options(path).read_only().open();
    assert!(is_in_use(reading), "open to read");
    assert!(is_in_use(verify::directory(path)), "verify");
    assert!(is_in_use(repair(path, RepairOptions::default())), "repair");
    let compacted = compact(path, CompactOptions::default());
    assert!(is_in_use(compacted), "compact");
    assert!(
        !path.join("sled.damaged-1").exists(),
        "nothing is set aside"
    );
}

#[cfg(unix)]
#[test]
fn lock_file_removed_second_opener_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = DiskJournal::open(&path).unwrap();
    let mut stream = Stream::new(1);
    stream.append(&journal, &["{}"]);
    fs::remove_file(path.join("LOCK")).unwrap();
    assert_in_use(&path);
    // The first attempt created it again.
    assert!(path.join("LOCK").exists());
    assert_in_use(&path);
    fs::remove_file(path.join("LOCK")).unwrap();
    fs::write(path.join("LOCK"), "").unwrap();
    assert_in_use(&path);

    // The holder continues, and a backup beside it still works.
    stream.append(&journal, &["{}", "{}"]);
    backup::directory(&path, directory.path().join("copy"), |_| {}).unwrap();
    block_on(journal.close()).unwrap();
    assert!(verify::directory(&path).unwrap().is_sound());
    stream.assert_in(&DiskJournal::open(&path).unwrap());
}

#[cfg(unix)]
#[test]
fn journal_in_use_is_refused_under_every_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = DiskJournal::open(&path).unwrap();
    Stream::new(1).append(&journal, &["{}"]);
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_in_use(&link);
    let moved = directory.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    assert_in_use(&moved);
    fs::remove_file(moved.join("LOCK")).unwrap();
    assert_in_use(&moved);
}

/// Asserts that after a change of names of an open journal, the next append and all later ones
/// fail.
fn appends_after(change: impl Fn(&Path)) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = DiskJournal::open(&path).unwrap();
    let mut stream = Stream::new(1);
    stream.append(&journal, &["{}"]);
    change(&path);
    let before = fs::read_dir(directory.path()).unwrap().count();
    for _ in 0..2 {
        let error = block_on(journal.append(stream.clone().next(&["{}"]))).unwrap_err();
        assert!(matches!(error, Error::Poisoned { .. }), "{error}");
        assert!(
            error.to_string().contains("moved, replaced or removed"),
            "{error}"
        );
    }
    let kept = block_on(journal.keep_snapshot(stream.session, vec![1]));
    assert!(kept.is_err());
    assert!(block_on(journal.close()).is_err());
    let after = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(after, before, "nothing is made where it was");
}

#[cfg(unix)]
#[test]
fn moved_or_removed_journal_takes_no_append() {
    appends_after(|path| fs::remove_dir_all(path).unwrap());
    appends_after(|path| fs::rename(path, path.with_file_name("moved")).unwrap());
    appends_after(|path| fs::remove_dir_all(path.join("log")).unwrap());
    appends_after(|path| fs::remove_file(log_file(path)).unwrap());
    // The journal is replaced by a copy, and by a new journal.
    appends_after(|path| {
        let whole = fs::read(log_file(path)).unwrap();
        fs::remove_file(log_file(path)).unwrap();
        fs::write(log_file(path), whole).unwrap();
    });
    appends_after(|path| {
        fs::rename(path, path.with_file_name("moved")).unwrap();
        block_on(DiskJournal::open(path).unwrap().close()).unwrap();
    });
}

/// The preparation of a segment must not create a directory in place of a moved one.
#[cfg(unix)]
#[test]
fn moved_journal_does_not_roll_into_new_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = options(&path).open().unwrap();
    let mut stream = Stream::new(1);
    let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(2_000));
    for _ in 0..6 {
        stream.append(&journal, &[&body]);
    }
    fs::rename(&path, path.with_file_name("moved")).unwrap();
    // The log rolls at once.
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(12_000));
    let error = block_on(journal.append(stream.next(&[&large]))).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
}
