//! A follower sees a commit only after its sync.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use recount_journal::testing::{Fault, MemoryDisk};
use recount_journal::{DiskJournal, Error, Journal, block_on};

use crate::stream::Stream;

#[test]
fn unsynced_commit_is_never_seen() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let journal = DiskJournal::options(directory.path())
        .disk(Arc::new(disk.clone()))
        .open()
        .unwrap();
    let mut stream = Stream::new(1);
    stream.append(&journal, &["{}"]);
    let now = block_on(journal.position()).unwrap();
    let mut waiting = journal.follow(now);
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(
        pin!(&mut waiting).poll(&mut context),
        Poll::Pending
    ));
    disk.fail(Fault::Sync, 1);
    let error = block_on(journal.append(stream.next(&["{}"]))).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    let error = block_on(waiting).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
}
