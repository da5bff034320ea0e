//! The file of a close with the rows of waiting streams makes reads faster, and changes nothing
//! else.

use std::fs;
use std::path::Path;

use recount_journal::testing::suite::spans::{assert_reads, waiting_streams};
use recount_journal::{DiskJournal, Journal, WorkChange, block_on};

use crate::index_states::copy_directory;
use crate::stream::Stream;

/// Settles the open item of a stream.
fn settle(journal: &dyn Journal, stream: &mut Stream) {
    let (session, item) = (stream.session, 2);
    let mut append = stream.next(&["{}"]);
    append.open_work = vec![WorkChange::Remove { session, item }];
    block_on(journal.append(append)).unwrap();
}

fn kept(journal: &Path) -> std::path::PathBuf {
    journal.join("snapshots").join("waiting")
}

#[test]
fn close_keeps_rows_of_waiting_streams() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let mut streams = waiting_streams(&journal);
    assert!(!kept(directory.path()).exists(), "not before");
    block_on(journal.close()).unwrap();
    let of_two = fs::metadata(kept(directory.path())).unwrap().len();

    let journal = DiskJournal::open(directory.path()).unwrap();
    settle(&journal, &mut streams[0]);
    block_on(journal.close()).unwrap();
    assert!(fs::metadata(kept(directory.path())).unwrap().len() < of_two);

    let journal = DiskJournal::open(directory.path()).unwrap();
    settle(&journal, &mut streams[1]);
    block_on(journal.close()).unwrap();
    assert!(!kept(directory.path()).exists());
    assert_reads(&DiskJournal::open(directory.path()).unwrap(), &streams);
}

#[test]
fn kept_rows_never_mislead() {
    let directory = tempfile::tempdir().unwrap();
    let (path, beside) = (
        directory.path().join("journal"),
        directory.path().join("beside"),
    );
    let journal = DiskJournal::open(&path).unwrap();
    let mut streams = waiting_streams(&journal);
    block_on(journal.close()).unwrap();
    let older = fs::read(kept(&path)).unwrap();
    let journal = DiskJournal::open(&path).unwrap();
    for stream in &mut streams {
        stream.append(&journal, &["{}"]);
    }
    block_on(journal.close()).unwrap();
    let newer = fs::read(kept(&path)).unwrap();

    let mut flipped = newer.clone();
    flipped[newer.len() - 1] ^= 1;
    let of_another = {
        let path = directory.path().join("another");
        let journal = DiskJournal::open(&path).unwrap();
        waiting_streams(&journal);
        block_on(journal.close()).unwrap();
        fs::read(kept(&path)).unwrap()
    };
    let torn = newer[..newer.len() / 2].to_vec();
    for (what, bytes) in [
        ("as it is", None),
        ("older", Some(older)),
        ("torn", Some(torn)),
        ("flipped", Some(flipped)),
        ("of another journal", Some(of_another)),
        ("empty", Some(Vec::new())),
        ("something else", Some(b"x".repeat(5_000))),
    ] {
        // Copied files are newer than `CLOSED`, so the journal is closed again, and only then gets
        // its file.
        let _absent = fs::remove_dir_all(&beside);
        copy_directory(&path, &beside);
        let mut streams = streams.clone();
        block_on(DiskJournal::open(&beside).unwrap().close()).unwrap();
        if let Some(bytes) = bytes {
            fs::write(kept(&beside), &bytes).unwrap();
        }
        for looking in [true, false] {
            let options = DiskJournal::options(&beside);
            let options = if looking {
                options.read_only()
            } else {
                options
            };
            let journal = options.open().unwrap();
            assert!(
                !journal.opened().read_whole,
                "{what}: nothing speaks against the close"
            );
            assert_reads(&journal, &streams);
            if !looking {
                // More than one group of positions after the kept ones.
                for _ in 0..40 {
                    for stream in &mut streams {
                        stream.append(&journal, &["{}"]);
                    }
                }
                assert_reads(&journal, &streams);
            }
            block_on(journal.close()).unwrap();
        }
        assert_reads(&DiskJournal::open(&beside).unwrap(), &streams);
    }
}
