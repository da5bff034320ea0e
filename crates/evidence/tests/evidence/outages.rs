//! Checkpoints while their journal is out of reach.

use std::sync::Arc;
use std::time::Duration;

use recount::testing::{ManualClock, UnreachableJournal};
use recount_evidence::{Anchor, Anchoring, CHECKPOINT_SIGNED, Following, StatusBoard};
use recount_journal::{Error, Journal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::journals::{add, following, key, open, session, settings};

/// The longest wait of a test. Only a defect takes so long.
const HANGS_AFTER: Duration = Duration::from_secs(120);

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANGS_AFTER, what).await.unwrap()
}

/// A following over a journal that a test puts out of reach.
struct Behind {
    _directory: tempfile::TempDir,
    inner: Arc<dyn Journal>,
    journal: Arc<UnreachableJournal>,
    clock: Arc<ManualClock>,
    board: StatusBoard,
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), Error>>,
}

impl Behind {
    async fn start() -> Behind {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let (inner, clock) = (open(&path), ManualClock::new());
        let journal = UnreachableJournal::new(inner.clone());
        let following = Following::open(settings(key()), &path, journal.clone(), clock.clone());
        let following = following.await.unwrap();
        let board = following.status().clone();
        let (stop, stopped) = watch::channel(false);
        Behind {
            _directory: directory,
            inner,
            journal,
            clock,
            board,
            stop,
            task: tokio::spawn(following.run(stopped)),
        }
    }

    async fn checkpoints(&self) -> usize {
        let own = self.inner.read(Uuid::nil(), 1, 1_000).await.unwrap();
        let records = own.iter().map(|line| line.record().unwrap());
        records.filter(|it| it.kind == CHECKPOINT_SIGNED).count()
    }

    /// Waits for a number of checkpoints, while the time goes on.
    async fn until(&self, count: usize) {
        while self.checkpoints().await < count {
            assert!(!self.task.is_finished(), "no checkpoints are made any more");
            self.clock.advance(Duration::from_millis(100));
            tokio::task::yield_now().await;
        }
    }

    async fn stop(self) {
        self.stop.send_replace(true);
        self.task.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn checkpoints_go_on_after_an_outage_of_the_journal() {
    let behind = Behind::start().await;
    behind.journal.cut();
    within(behind.journal.failed(3)).await;
    add(&*behind.inner, session(1), &["confirmation_answered"]).await;
    behind.journal.heal();
    behind.until(1).await;
    behind.stop().await;
}

/// The outcome of the append is unknown, so another checkpoint is made.
#[tokio::test]
async fn checkpoint_with_an_unknown_outcome_is_made_again() {
    let behind = Behind::start().await;
    behind.journal.lose_append();
    add(&*behind.inner, session(1), &["confirmation_answered"]).await;
    within(behind.journal.failed(1)).await;
    behind.until(2).await;
    // The last one may just be on its way to the status.
    while behind.board.read().error.is_some() {
        tokio::task::yield_now().await;
    }
    behind.stop().await;
}

#[tokio::test]
async fn checkpoints_end_with_a_damaged_journal() {
    let behind = Behind::start().await;
    behind.journal.damage();
    let error = behind.task.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn anchor_goes_on_after_an_outage_of_the_journal() {
    let directory = tempfile::tempdir().unwrap();
    let (path, files) = (
        directory.path().join("journal"),
        directory.path().join("files"),
    );
    std::fs::create_dir(&files).unwrap();
    let (inner, clock) = (open(&path), ManualClock::new());
    add(&*inner, session(1), &["a"]).await;
    let mut made = following(settings(key()), &path, &inner, &clock).await;
    made.finish().await.unwrap();
    let (journal, anchor) = (
        UnreachableJournal::new(inner),
        Anchor::Directory(files.clone()),
    );
    let board = StatusBoard::default();
    let task = Anchoring::open(("files", anchor), &path, journal.clone(), clock, &board).unwrap();
    journal.cut();
    let ((_made, made), (stop, stopped)) = (watch::channel(1), watch::channel(false));
    let task = tokio::spawn(task.run(made, stopped));
    within(journal.failed(3)).await;
    journal.heal();
    while std::fs::read_dir(&files).unwrap().count() == 0 {
        assert!(
            !task.is_finished(),
            "the anchor gets no checkpoints any more"
        );
        tokio::task::yield_now().await;
    }
    stop.send_replace(true);
    task.await.unwrap().unwrap();
}
