//! Restarts: nothing is lost, and a repeated message has its id.

use std::fs;
use std::time::Duration;

use recount::prelude::ToolConfirmation;
use recount_notify::{DeadLetterError, Occasion};

use crate::receiver::{Receiver, within};
use crate::world::{World, route, webhook};

const A_MOMENT: Duration = Duration::from_secs(60);
const BOTH: &[Occasion] = &[Occasion::Asked, Occasion::Decided];

#[tokio::test]
async fn new_sink_starts_at_the_end() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let before = world.ask("refund").await;
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", BOTH)]);
    let _notifier = world.notify(settings).await;
    world.answer(&before, ToolConfirmation::confirmed()).await;
    assert_eq!(receiver.next().await.kind(), "recount.decided");
}

#[tokio::test]
async fn next_start_continues_where_the_last_one_ended() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", BOTH)]);
    let notifier = world.notify(settings.clone()).await;
    world.ask("refund").await;
    let first = receiver.next().await;
    within(notifier.stop(A_MOMENT)).await;
    let between = world.ask("refund").await;
    let _notifier = world.notify(settings).await;
    let second = receiver.next().await;
    assert_ne!(first.id(), second.id());
    assert_eq!(second.json()["data"]["request"], between.id.0.to_string());
    assert!(receiver.is_quiet(), "a message was sent again");
}

/// The file is that of a moment before the delivery, as after a crash.
#[tokio::test]
async fn crash_repeats_a_message_with_its_id() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", BOTH)]);
    let notifier = world.notify(settings.clone()).await;
    let file = world.files().join("ops.json");
    let before = fs::read(&file).unwrap();
    world.ask("refund").await;
    let first = receiver.next().await;
    within(notifier.stop(A_MOMENT)).await;
    fs::write(&file, before).unwrap();
    let _notifier = world.notify(settings).await;
    assert_eq!(receiver.next().await.id(), first.id());
}

#[tokio::test]
async fn queued_message_survives_a_restart() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", BOTH)]);
    receiver.answer(503, Some("3600"));
    let notifier = world.notify(settings.clone()).await;
    world.ask("refund").await;
    let first = receiver.next().await;
    assert_eq!(first.status, 503);
    within(notifier.stop(A_MOMENT)).await;
    let _notifier = world.notify(settings).await;
    let again = receiver.next().await;
    assert_eq!((again.status, again.id()), (204, first.id()));
}

#[tokio::test]
async fn retry_after_is_heeded() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    // A wait that no clock has is as long as the longest one.
    receiver.answer(429, Some("99999999999999999999999"));
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", BOTH)]);
    let notifier = world.notify(settings).await;
    let asked = world.ask("refund").await;
    assert_eq!(receiver.next().await.status, 429);
    // The sink goes on to read, and sends nothing.
    world.answer(&asked, ToolConfirmation::confirmed()).await;
    within(async {
        while notifier.sinks().await.unwrap()[0].queued < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn journal_with_another_history_is_followed_from_its_end() {
    let mut receiver = Receiver::start().await;
    let (first, second) = (World::new().await, World::new().await);
    let mut settings = first.settings(vec![webhook("ops", &receiver)], vec![route("ops", BOTH)]);
    let notifier = first.notify(settings.clone()).await;
    first.ask("refund").await;
    receiver.next().await;
    within(notifier.stop(A_MOMENT)).await;
    // The second journal has more commits, so the place of the first one is within it.
    let old = second.ask("refund").await;
    second.ask("refund").await;
    settings.directory = first.files();
    let _notifier = second.notify(settings).await;
    second.answer(&old, ToolConfirmation::confirmed()).await;
    assert_eq!(receiver.next().await.kind(), "recount.decided");
}

/// The other sink delivers. Without the file, and after a reload, the first one does, too.
#[tokio::test]
async fn sink_with_a_damaged_file_fails_alone() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let mut well = Receiver::start().await;
    let sinks = vec![webhook("ops", &receiver), webhook("well", &well)];
    let settings = world.settings(sinks, vec![route("ops", BOTH), route("well", BOTH)]);
    let file = world.files().join("ops.json");
    fs::create_dir_all(world.files()).unwrap();
    for damaged in ["{", "", "{\"version\":99}"] {
        fs::write(&file, damaged).unwrap();
        let notifier = world.notify(settings.clone()).await;
        world.ask("refund").await;
        well.next().await;
        let status = notifier.sinks().await.unwrap().remove(0);
        let error = status.error.unwrap();
        assert!(
            error.contains("ops.json") && error.contains("move it away"),
            "{error}"
        );
        assert!(status.failing_since.is_some());
        let letter = notifier.retry("ops", uuid::Uuid::nil()).await;
        assert_eq!(letter, Err(DeadLetterError::Stopped));
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            damaged,
            "it may be mended"
        );
        fs::remove_file(&file).unwrap();
        within(notifier.replace(settings.clone())).await.unwrap();
        world.ask("refund").await;
        receiver.next().await;
        well.next().await;
        let status = notifier.sinks().await.unwrap().remove(0);
        assert_eq!((status.error, status.failing_since), (None, None));
        within(notifier.stop(A_MOMENT)).await;
    }
    assert!(receiver.is_quiet() && well.is_quiet());
}

/// As on a disk that is full or read-only. The sink delivers, and operators see the reason.
#[tokio::test]
async fn sink_whose_file_cannot_be_written_delivers() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", BOTH)]);
    let (files, aside) = (world.files(), world.directory.path().join("aside"));
    let notifier = world.notify(settings.clone()).await;
    within(notifier.stop(A_MOMENT)).await;
    fs::rename(&files, &aside).unwrap();
    std::os::unix::fs::symlink(world.directory.path().join("none/none"), &files).unwrap();
    let notifier = world.notify(settings).await;
    world.ask("refund").await;
    receiver.next().await;
    let status = async || notifier.sinks().await.unwrap().remove(0);
    let failing = within(status()).await;
    assert!(failing.failing_since.is_some());
    let error = failing.error.unwrap();
    assert!(error.contains("ops.json cannot be written"), "{error}");
    // The next save, after the next delivery at the latest, shows that all is well.
    fs::remove_file(&files).unwrap();
    fs::rename(&aside, &files).unwrap();
    world.ask("refund").await;
    receiver.next().await;
    let well = async {
        while status().await.error.is_some() {
            tokio::task::yield_now().await;
        }
    };
    within(well).await;
    assert_eq!(status().await.failing_since, None);
}

#[tokio::test]
async fn unusable_files_are_found_without_a_start() {
    let (world, receiver) = (World::new().await, Receiver::start().await);
    let sinks = ["damaged", "new", "well"].map(|it| webhook(it, &receiver));
    let settings = world.settings(sinks.into(), Vec::new());
    within(world.notify(settings.clone()).await.stop(A_MOMENT)).await;
    fs::write(world.files().join("damaged.json"), "{").unwrap();
    fs::remove_file(world.files().join("new.json")).unwrap();
    let found = settings.unusable_files();
    assert_eq!(found.len(), 1, "{found:?}");
    let (name, reason) = &found[0];
    assert_eq!(name.as_str(), "damaged");
    assert!(reason.to_string().contains("damaged.json"), "{reason}");
    assert!(!world.files().join("new.json").exists());
}

#[tokio::test]
async fn reload_with_a_damaged_file_keeps_running_sinks() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let routes = vec![route("ops", BOTH)];
    let mut settings = world.settings(vec![webhook("ops", &receiver)], routes);
    let notifier = world.notify(settings.clone()).await;
    // The state of a running sink is in its task, which replaces the file.
    fs::write(world.files().join("ops.json"), "{").unwrap();
    fs::write(world.files().join("new.json"), "{").unwrap();
    settings.sinks.push(webhook("new", &receiver));
    within(notifier.replace(settings)).await.unwrap();
    world.ask("refund").await;
    receiver.next().await;
    let status = notifier.sinks().await.unwrap();
    let errors = status
        .iter()
        .map(|it| (it.name.as_str(), it.error.is_some()));
    assert!(errors.eq([("new", true), ("ops", false)]));
}

#[tokio::test]
async fn replaced_sinks_go_on_in_their_place() {
    let (mut old, mut new) = (Receiver::start().await, Receiver::start().await);
    let world = World::new().await;
    let settings = world.settings(vec![webhook("ops", &old)], vec![route("ops", BOTH)]);
    let notifier = world.notify(settings).await;
    world.ask("refund").await;
    old.next().await;
    let settings = world.settings(vec![webhook("ops", &new)], vec![route("ops", BOTH)]);
    within(notifier.replace(settings)).await.unwrap();
    let second = world.ask("refund").await;
    let message = new.next().await;
    assert_eq!(message.json()["data"]["request"], second.id.0.to_string());
    assert!(old.is_quiet() && new.is_quiet());
    assert_eq!(notifier.sinks().await.unwrap().len(), 1);
}

#[tokio::test]
async fn removed_sink_with_messages_is_named() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let sinks = vec![webhook("idle", &receiver), webhook("ops", &receiver)];
    let settings = world.settings(sinks, vec![route("ops", BOTH)]);
    let notifier = world.notify(settings).await;
    receiver.answer(503, Some("3600"));
    world.ask("refund").await;
    receiver.next().await;
    let sinks = vec![webhook("renamed", &receiver)];
    let settings = world.settings(sinks, vec![route("renamed", BOTH)]);
    let removed = within(notifier.replace(settings.clone())).await.unwrap();
    assert_eq!(removed.len(), 1, "{removed:?}");
    let removed = &removed[0];
    assert_eq!((removed.name.as_str(), removed.queued), ("ops", 1));
    assert_eq!(removed.file, world.files().join("ops.json"));
    let again = within(notifier.replace(settings)).await.unwrap();
    assert_eq!(again, []);
}
