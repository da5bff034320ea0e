//! Anchors get each checkpoint, also after they failed or the process ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recount::testing::ManualClock;
use recount_evidence::{Anchor, Anchoring, StatusBoard, on_record};
use recount_journal::DiskJournal;
use tempfile::TempDir;
use tokio::sync::watch;

use crate::journals::{add, following, key, open, session, settings};

async fn checkpoint(path: &Path, journal: &Arc<DiskJournal>, clock: &Arc<ManualClock>) {
    add(&**journal, session(1), &["a"]).await;
    let mut task = following(settings(key()), path, journal, clock).await;
    task.finish().await.unwrap().unwrap();
}

fn anchoring(
    anchor: Anchor,
    path: &Path,
    journal: &Arc<DiskJournal>,
    clock: &Arc<ManualClock>,
) -> Anchoring {
    let (journal, clock) = (Arc::clone(journal), Arc::clone(clock));
    let board = StatusBoard::default();
    Anchoring::open(("elsewhere", anchor), path, journal, clock, &board).unwrap()
}

/// A directory with the place of a journal and a mount.
fn journal_and_mount() -> (TempDir, PathBuf, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let (path, place) = (
        directory.path().join("journal"),
        directory.path().join("mount"),
    );
    fs::create_dir(&place).unwrap();
    (directory, path, place)
}

fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[tokio::test]
async fn directory_gets_each_checkpoint_once() {
    let (_directory, path, place) = journal_and_mount();
    let (journal, clock) = (open(&path), ManualClock::new());
    let anchor = Anchor::Directory(place.clone());
    for round in 1..4 {
        checkpoint(&path, &journal, &clock).await;
        // A new task each time, as after a restart.
        let mut task = anchoring(anchor.clone(), &path, &journal, &clock);
        assert!(task.hand_over().await.unwrap());
        assert_eq!(files(&place).len(), round);
    }
    let found = on_record(&*journal).await.unwrap();
    for (name, it) in files(&place).iter().zip(&found) {
        assert_eq!(
            fs::read_to_string(place.join(name)).unwrap(),
            it.note.to_string()
        );
    }
    // A place that was lost hands everything over again, without harm.
    fs::remove_file(path.join("tree/anchor-elsewhere.json")).unwrap();
    let mut task = anchoring(anchor, &path, &journal, &clock);
    assert!(task.hand_over().await.unwrap());
    assert_eq!(files(&place).len(), 3);
}

#[tokio::test]
async fn directory_refuses_another_history() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("mount");
    fs::create_dir(&place).unwrap();
    let clock = ManualClock::new();
    for (name, is_taken) in [("journal", true), ("rewritten", false)] {
        let path = directory.path().join(name);
        let journal = open(&path);
        checkpoint(&path, &journal, &clock).await;
        let mut task = anchoring(Anchor::Directory(place.clone()), &path, &journal, &clock);
        assert_eq!(task.hand_over().await.unwrap(), is_taken, "{name}");
    }
    assert_eq!(files(&place).len(), 1);
}

#[tokio::test]
async fn failed_anchor_is_tried_again_and_misses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (path, place) = (
        directory.path().join("journal"),
        directory.path().join("mount"),
    );
    let (journal, clock) = (open(&path), ManualClock::new());
    checkpoint(&path, &journal, &clock).await;
    checkpoint(&path, &journal, &clock).await;
    let task = anchoring(Anchor::Directory(place.clone()), &path, &journal, &clock);
    let (stop, stopped) = watch::channel(false);
    let (_made, made) = watch::channel(0);
    let task = tokio::spawn(task.run(made, stopped));
    tokio::task::yield_now().await;
    // The mount comes back, and the time of the next attempt.
    fs::create_dir(&place).unwrap();
    while files(&place).len() < 2 {
        clock.advance(std::time::Duration::from_secs(300));
        tokio::task::yield_now().await;
    }
    stop.send_replace(true);
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn command_gets_the_note() {
    let directory = tempfile::tempdir().unwrap();
    let (path, taken) = (
        directory.path().join("journal"),
        directory.path().join("taken"),
    );
    let (journal, clock) = (open(&path), ManualClock::new());
    checkpoint(&path, &journal, &clock).await;
    let script = format!("cat >> '{}'", taken.display());
    let words = ["sh", "-c", script.as_str()].map(str::to_owned);
    let mut task = anchoring(Anchor::Command(words.to_vec()), &path, &journal, &clock);
    assert!(task.hand_over().await.unwrap());
    let found = on_record(&*journal).await.unwrap();
    assert_eq!(
        fs::read_to_string(taken).unwrap(),
        found[0].note.to_string()
    );
    let refuses = Anchor::Command(vec!["false".to_owned()]);
    checkpoint(&path, &journal, &clock).await;
    let mut task = anchoring(refuses, &path, &journal, &clock);
    assert!(!task.hand_over().await.unwrap());
}

#[tokio::test]
async fn place_that_the_journal_does_not_have_begins_anew() {
    let (_directory, path, place) = journal_and_mount();
    let (journal, clock) = (open(&path), ManualClock::new());
    checkpoint(&path, &journal, &clock).await;
    let anchor = Anchor::Directory(place.clone());
    let kept = path.join("tree/anchor-elsewhere.json");
    let mut task = anchoring(anchor.clone(), &path, &journal, &clock);
    assert!(task.hand_over().await.unwrap());
    let sound = fs::read_to_string(&kept).unwrap();
    let root = sound.split('"').nth(5).unwrap().to_owned();
    // A record behind the end of the log, and the root of another history.
    let other = sound.replace(&root, &"0".repeat(64));
    for text in [r#"{"seq":500}"#, r#"{"seq":18446744073709551615}"#, &other] {
        fs::write(&kept, text).unwrap();
        fs::remove_file(place.join(&files(&place)[0])).unwrap();
        let mut task = anchoring(anchor.clone(), &path, &journal, &clock);
        assert!(task.hand_over().await.unwrap());
        assert_eq!(files(&place).len(), 1, "{text}");
        assert_eq!(fs::read_to_string(&kept).unwrap(), sound);
    }
}
