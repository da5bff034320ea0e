//! Refusals, further attempts and dead letters.

use recount_notify::{DeadLetterError, Notifier, Occasion, SinkStatus};
use uuid::Uuid;

use crate::receiver::{Receiver, within};
use crate::world::{World, route, webhook};

const ASKED: &[Occasion] = &[Occasion::Asked];

/// The status of the only sink, once it has this property.
async fn status(notifier: &Notifier, has: impl Fn(&SinkStatus) -> bool) -> SinkStatus {
    let polling = async {
        loop {
            let status = notifier.sinks().await.unwrap().remove(0);
            if has(&status) {
                return status;
            }
            tokio::task::yield_now().await;
        }
    };
    within(polling).await
}

#[tokio::test]
async fn failed_message_is_sent_again_with_its_id() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    for status in [500, 503, 408, 429, 401, 403, 404] {
        receiver.answer(status, None);
    }
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", ASKED)]);
    let notifier = world.notify(settings).await;
    world.ask("refund").await;
    let mut ids = Vec::new();
    for expected in [500, 503, 408, 429, 401, 403, 404, 204] {
        let message = receiver.next().await;
        assert_eq!(message.status, expected);
        ids.push(message.id());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    let status = status(&notifier, |it| it.queued == 0 && it.delivered == 1).await;
    assert_eq!((status.failures, status.failing_since), (7, None));
    assert_eq!((status.queued, status.dead_letters.len()), (0, 0));
}

#[tokio::test]
async fn refused_message_is_a_dead_letter_at_once() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    receiver.answer(410, None);
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", ASKED)]);
    let notifier = world.notify(settings).await;
    let asked = world.ask("refund").await;
    let refused = receiver.next().await;
    let status = status(&notifier, |it| !it.dead_letters.is_empty()).await;
    let letter = &status.dead_letters[0];
    assert_eq!(letter.id.to_string(), refused.id());
    assert_eq!((letter.attempts, letter.reason.as_str()), (1, "410 Gone"));
    assert_eq!(
        (letter.session, letter.call),
        (Some(asked.session), Some(asked.call))
    );
    // The next message does not wait for it.
    world.ask("pay").await;
    let next = receiver.next().await;
    assert_eq!((next.status, next.id() != refused.id()), (204, true));
}

#[tokio::test]
async fn message_dies_after_its_last_attempt() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let mut sink = webhook("ops", &receiver);
    sink.patience.attempts = 3;
    for _ in 0..3 {
        receiver.answer(500, None);
    }
    let settings = world.settings(vec![sink], vec![route("ops", ASKED)]);
    let notifier = world.notify(settings).await;
    world.ask("refund").await;
    for _ in 0..3 {
        assert_eq!(receiver.next().await.status, 500);
    }
    let status = status(&notifier, |it| !it.dead_letters.is_empty()).await;
    assert_eq!((status.dead_letters[0].attempts, status.failures), (3, 3));
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn dead_letter_is_sent_again_or_discarded() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    receiver.answer(400, None);
    receiver.answer(400, None);
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", ASKED)]);
    let notifier = world.notify(settings.clone()).await;
    world.ask("refund").await;
    world.ask("pay").await;
    let first = receiver.next().await;
    receiver.next().await;
    let dead = status(&notifier, |it| it.dead_letters.len() == 2).await;
    let (one, other) = (dead.dead_letters[0].id, dead.dead_letters[1].id);
    within(notifier.retry("ops", one)).await.unwrap();
    let again = receiver.next().await;
    assert_eq!((again.status, again.id()), (204, first.id()));
    within(notifier.discard("ops", other)).await.unwrap();
    // It is durable before the answer.
    let file = std::fs::read_to_string(world.files().join("ops.json")).unwrap();
    assert!(!file.contains(&other.to_string()), "{file}");
    let gone = within(notifier.discard("ops", other)).await;
    assert_eq!(gone, Err(DeadLetterError::UnknownLetter { id: other }));
    let nowhere = within(notifier.retry("nowhere", Uuid::nil())).await;
    assert!(matches!(nowhere, Err(DeadLetterError::UnknownSink { .. })));
    status(&notifier, |it| it.queued == 0).await;
    // What was discarded is gone for good.
    within(notifier.stop(std::time::Duration::from_secs(60))).await;
    let notifier = world.notify(settings).await;
    assert_eq!(status(&notifier, |_| true).await.dead_letters, []);
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn all_dead_letters_are_sent_again() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", ASKED)]);
    let notifier = world.notify(settings).await;
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..3 {
        receiver.answer(410, None);
        world.ask("refund").await;
        ids.insert(receiver.next().await.id());
    }
    status(&notifier, |it| it.dead_letters.len() == 3).await;
    assert_eq!(within(notifier.retry_all("ops")).await, Ok(3));
    for _ in 0..3 {
        let again = receiver.next().await;
        assert_eq!(again.status, 204);
        assert!(ids.remove(&again.id()));
    }
    let status = status(&notifier, |it| it.queued == 0).await;
    assert_eq!(status.dead_letters, []);
    assert_eq!(within(notifier.retry_all("ops")).await, Ok(0));
}

#[tokio::test]
async fn dropped_dead_letters_are_counted() {
    const LETTERS: usize = 1_002;
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", ASKED)]);
    let notifier = world.notify(settings.clone()).await;
    (0..LETTERS).for_each(|_| receiver.answer(410, None));
    // A session has a limit of open calls.
    for _ in 0..2 {
        world.ask_often("refund", LETTERS / 2).await;
    }
    for _ in 0..LETTERS {
        receiver.next().await;
    }
    let found = status(&notifier, |it| {
        it.dropped_dead_letters > 0 && it.queued == 0
    })
    .await;
    assert_eq!(
        (found.dead_letters.len(), found.dropped_dead_letters),
        (1_000, 2)
    );
    within(notifier.stop(std::time::Duration::from_secs(60))).await;
    let notifier = world.notify(settings).await;
    assert_eq!(status(&notifier, |_| true).await.dropped_dead_letters, 2);
}
