//! Checkpoints behind a journal: when they are made, and what they say.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use recount::testing::ManualClock;
use recount_evidence::{
    CHECKPOINT_SIGNED, Checkpoint, Checkpoints, KeptTree, Leaves, Note, SignedCheckpoint, Signer,
};
use recount_journal::{DiskJournal, Journal};
use tokio::sync::watch;
use uuid::Uuid;

use crate::journals::{add, following, key, open, session, settings};

/// The checkpoints on record, each checked against the records before it.
async fn on_record(journal: &dyn Journal) -> Vec<Checkpoint> {
    let leaves = Leaves::of(journal).await.unwrap();
    let own = journal.read(Uuid::nil(), 1, 1_000).await.unwrap();
    let records = own.iter().map(|line| line.record().unwrap());
    let signed = records.filter(|it| it.kind == CHECKPOINT_SIGNED);
    signed
        .map(|record| {
            let body: SignedCheckpoint = serde_json::from_str(record.body.get()).unwrap();
            let note: Note = body.note.parse().unwrap();
            let checkpoint = Checkpoint::of(&note).unwrap();
            assert_eq!(checkpoint.size, body.size);
            assert_eq!(leaves.root_at(body.size), Some(checkpoint.root));
            checkpoint
        })
        .collect()
}

/// Runs the following until the journal has `count` checkpoints, and stops it.
async fn until(
    count: usize,
    checkpoints: Checkpoints,
    (path, journal): (&Path, &Arc<DiskJournal>),
    clock: &Arc<ManualClock>,
) -> Vec<Checkpoint> {
    let following = following(checkpoints, path, journal, clock).await;
    let (stop, stopped) = watch::channel(false);
    let task = tokio::spawn(following.run(stopped));
    let mut position = 0;
    while on_record(&**journal).await.len() < count {
        position = journal.follow(position).await.unwrap().position;
    }
    let found = on_record(&**journal).await;
    stop.send(true).unwrap();
    task.await.unwrap().unwrap();
    found
}

#[tokio::test]
async fn answer_is_followed_by_a_checkpoint_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let (journal, clock) = (open(&path), ManualClock::new());
    add(&*journal, session(1), &["asked", "confirmation_answered"]).await;
    let found = until(1, settings(key()), (&path, &journal), &clock).await;
    // The opening of the journal, the question and the answer.
    assert_eq!(found[0].size, 3);
}

#[tokio::test]
async fn many_records_are_followed_by_a_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let (journal, clock) = (open(&path), ManualClock::new());
    add(&*journal, session(1), &["a", "b", "c", "d"]).await;
    let settings = Checkpoints {
        every_records: 4,
        ..settings(key())
    };
    let found = until(1, settings, (&path, &journal), &clock).await;
    assert_eq!(found[0].size, 4);
}

#[tokio::test]
async fn close_makes_the_last_checkpoint_and_quiet_makes_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let (journal, clock) = (open(&path), ManualClock::new());
    add(&*journal, session(1), &["a", "b"]).await;
    let mut task = following(settings(key()), &path, &journal, &clock).await;
    task.finish().await.unwrap();
    task.finish().await.unwrap();
    assert_eq!(on_record(&*journal).await.len(), 1);
}

#[tokio::test]
async fn time_makes_a_checkpoint_only_after_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let (journal, clock) = (open(&path), ManualClock::new());
    let task = following(settings(key()), &path, &journal, &clock).await;
    let (stop, stopped) = watch::channel(false);
    let task = tokio::spawn(task.run(stopped));
    add(&*journal, session(1), &["a"]).await;
    let mut position = 0;
    while on_record(&*journal).await.is_empty() {
        clock.advance(Duration::from_secs(61));
        let next = journal.follow(position);
        tokio::select! {
            commit = next => position = commit.unwrap().position,
            () = tokio::task::yield_now() => {}
        }
    }
    let records = journal.position().await.unwrap();
    for _ in 0..100 {
        clock.advance(Duration::from_secs(61));
        tokio::task::yield_now().await;
    }
    assert_eq!(journal.position().await.unwrap(), records);
    stop.send(true).unwrap();
    task.await.unwrap().unwrap();
    assert_eq!(on_record(&*journal).await.len(), 1);
}

#[tokio::test]
async fn tree_goes_on_after_a_restart_and_without_its_folder() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let clock = ManualClock::new();
    for round in 0..6 {
        let journal = open(&path);
        add(
            &*journal,
            session(round + 1),
            &["a", "confirmation_answered"],
        )
        .await;
        let mut task = following(settings(key()), &path, &journal, &clock).await;
        task.finish().await.unwrap();
        // `on_record` compares each root with the records.
        assert_eq!(
            on_record(&*journal).await.len(),
            usize::try_from(round).unwrap() + 1
        );
        let kept = KeptTree::leaves(&path, &*journal).await.unwrap();
        let read = Leaves::of(&*journal).await.unwrap();
        assert_eq!(kept.root_at(kept.size()), read.root_at(read.size()));
        journal.close().await.unwrap();
        let tree = path.join("tree");
        match round {
            0 | 1 => {}
            2 => std::fs::remove_dir_all(&tree).unwrap(),
            3 => std::fs::write(tree.join("mark"), b"{").unwrap(),
            4 => std::fs::write(tree.join("leaves"), b"short").unwrap(),
            _ => {}
        }
    }
}

#[tokio::test]
async fn altered_leaves_are_not_used_for_proofs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let (journal, clock) = (open(&path), ManualClock::new());
    add(&*journal, session(1), &["a", "b", "c"]).await;
    let mut task = following(settings(key()), &path, &journal, &clock).await;
    task.finish().await.unwrap();
    let leaves = path.join("tree").join("leaves");
    let mut bytes = std::fs::read(&leaves).unwrap();
    bytes[33] ^= 1;
    std::fs::write(&leaves, bytes).unwrap();
    let kept = KeptTree::leaves(&path, &*journal).await.unwrap();
    let read = Leaves::of(&*journal).await.unwrap();
    assert_eq!(kept.root_at(kept.size()), read.root_at(read.size()));
}

#[tokio::test]
async fn signer_that_fails_leaves_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let (journal, clock) = (open(&path), ManualClock::new());
    add(&*journal, session(1), &["a"]).await;
    let mut settings = settings(key());
    let command = |words: &[&str]| Signer::Command(words.iter().map(ToString::to_string).collect());
    settings.signers.push(command(&["false"]));
    settings.signers.push(command(&["echo", "no signature"]));
    let signed = format!("\u{2014} other.example {}", "AAAAAWFi");
    settings.signers.push(command(&["echo", &signed]));
    let mut task = following(settings, &path, &journal, &clock).await;
    task.finish().await.unwrap();
    let own = journal.read(Uuid::nil(), 1, 10).await.unwrap();
    let body = own.last().unwrap().record().unwrap();
    let body: SignedCheckpoint = serde_json::from_str(body.body.get()).unwrap();
    let note: Note = body.note.parse().unwrap();
    let names: Vec<_> = note
        .signatures()
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["example.com/journal", "other.example"]);
}

#[tokio::test]
async fn journal_without_a_signature_gets_no_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let (journal, clock) = (open(&path), ManualClock::new());
    add(&*journal, session(1), &["confirmation_answered"]).await;
    let settings = Checkpoints {
        signers: vec![Signer::Command(vec!["false".to_owned()])],
        ..settings(key())
    };
    let mut task = following(settings, &path, &journal, &clock).await;
    task.finish().await.unwrap();
    assert!(on_record(&*journal).await.is_empty());
}
