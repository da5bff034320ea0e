//! Reminders, escalations and digests.

use std::time::Duration;

use recount::prelude::ToolConfirmation;
use recount_notify::{Escalation, Notifier, Route};

use crate::receiver::{Receiver, within};
use crate::world::{World, route, webhook};

const A_MOMENT: Duration = Duration::from_secs(60);

/// Waits until the only sink has read the journal.
async fn caught_up(notifier: &Notifier) {
    let polling = async {
        while notifier.sinks().await.unwrap()[0].lag > 0 {
            tokio::task::yield_now().await;
        }
    };
    within(polling).await;
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

/// Reminds `ops` ten minutes before the expiry, and escalates to `boss` after a quarter of an hour.
fn timed() -> Route {
    Route {
        remind_before: Some(minutes(10)),
        escalation: Some(Escalation {
            after: minutes(15),
            to: vec!["boss".parse().unwrap()],
        }),
        ..route("ops", &[])
    }
}

#[tokio::test]
async fn open_request_is_escalated_and_reminded_of() {
    let world = World::new().await;
    let (mut ops, mut boss) = (Receiver::start().await, Receiver::start().await);
    let sinks = vec![webhook("ops", &ops), webhook("boss", &boss)];
    let _notifier = world.notify(world.settings(sinks, vec![timed()])).await;
    let asked = world.ask("pay").await;
    world.clock.forward(minutes(16));
    let message = boss.next().await;
    assert_eq!(message.kind(), "recount.escalated");
    assert_eq!(message.json()["data"]["request"], asked.id.0.to_string());
    world.clock.forward(minutes(35));
    let message = ops.next().await;
    assert_eq!(message.kind(), "recount.reminder");
    assert!(message.json()["data"]["expires"].is_string());
    assert!(boss.is_quiet() && ops.is_quiet());
}

#[tokio::test]
async fn decided_request_is_not_escalated() {
    let world = World::new().await;
    let mut boss = Receiver::start().await;
    let sinks = vec![webhook("boss", &boss)];
    let _notifier = world.notify(world.settings(sinks, vec![timed()])).await;
    let decided = world.ask("refund").await;
    let open = world.ask("refund").await;
    world.answer(&decided, ToolConfirmation::confirmed()).await;
    world.clock.forward(minutes(16));
    let message = boss.next().await;
    assert_eq!(message.json()["data"]["request"], open.id.0.to_string());
    assert!(boss.is_quiet());
}

#[tokio::test]
async fn request_decided_while_stopped_is_not_escalated() {
    let world = World::new().await;
    let mut boss = Receiver::start().await;
    let settings = world.settings(vec![webhook("boss", &boss)], vec![timed()]);
    let notifier = world.notify(settings.clone()).await;
    within(notifier.stop(A_MOMENT)).await;
    let decided = world.ask("refund").await;
    world.answer(&decided, ToolConfirmation::confirmed()).await;
    world.clock.forward(minutes(16));
    // The sink reads the question, which is due, before its answer.
    let notifier = world.notify(settings).await;
    caught_up(&notifier).await;
    let open = world.ask("refund").await;
    world.clock.forward(minutes(16));
    let message = boss.next().await;
    assert_eq!(message.json()["data"]["request"], open.id.0.to_string());
    assert!(boss.is_quiet());
}

#[tokio::test]
async fn escalation_survives_restarts_and_is_sent_once() {
    let world = World::new().await;
    let mut boss = Receiver::start().await;
    let settings = world.settings(vec![webhook("boss", &boss)], vec![timed()]);
    let notifier = world.notify(settings.clone()).await;
    world.ask("refund").await;
    within(notifier.stop(A_MOMENT)).await;
    world.clock.forward(minutes(16));
    let notifier = world.notify(settings.clone()).await;
    assert_eq!(boss.next().await.kind(), "recount.escalated");
    within(notifier.stop(A_MOMENT)).await;
    let _notifier = world.notify(settings).await;
    // The next one of another request shows that the first was not repeated.
    let other = world.ask("refund").await;
    world.clock.forward(minutes(16));
    let message = boss.next().await;
    assert_eq!(message.json()["data"]["request"], other.id.0.to_string());
}

#[tokio::test]
async fn clock_set_back_delays_no_escalation() {
    let world = World::new().await;
    let mut boss = Receiver::start().await;
    let sinks = vec![webhook("boss", &boss)];
    let notifier = world.notify(world.settings(sinks, vec![timed()])).await;
    let first = world.ask("refund").await;
    caught_up(&notifier).await;
    world.clock.back(Duration::from_secs(86_400));
    // Its records make the sink read the clock.
    let second = world.ask("refund").await;
    caught_up(&notifier).await;
    world.clock.forward(minutes(16));
    let (one, other) = (boss.next().await, boss.next().await);
    let requests = [one, other].map(|it| {
        assert_eq!(it.kind(), "recount.escalated");
        it.json()["data"]["request"].as_str().unwrap().to_owned()
    });
    for asked in [first, second] {
        assert!(requests.contains(&asked.id.0.to_string()), "{requests:?}");
    }
}

#[tokio::test]
async fn digest_counts_a_day() {
    let world = World::new().await;
    let mut ops = Receiver::start().await;
    let mut sink = webhook("ops", &ops);
    sink.digest = Some("09:00".parse().unwrap());
    let settings = world.settings(vec![sink], vec![route("ops", &[])]);
    let notifier = world.notify(settings.clone()).await;
    let (one, two) = (world.ask("refund").await, world.ask("refund").await);
    world.ask("refund").await;
    world.answer(&one, ToolConfirmation::confirmed()).await;
    world.answer(&two, ToolConfirmation::denied("no")).await;
    within(notifier.stop(A_MOMENT)).await;
    let mut notifier = world.notify(settings.clone()).await;
    caught_up(&notifier).await;
    world.clock.forward(minutes(61));
    let message = ops.next().await;
    assert_eq!(message.kind(), "recount.digest");
    let digest = message.json()["data"]["digest"].clone();
    assert_eq!((&digest["asked"], &digest["open"]), (&3.into(), &1.into()));
    assert_eq!(
        (&digest["approved"], &digest["denied"]),
        (&1.into(), &1.into())
    );
    // Neither a restart nor a clock that is set back repeats it.
    for back in [0, 30] {
        within(notifier.stop(A_MOMENT)).await;
        world.clock.back(minutes(back));
        notifier = world.notify(settings.clone()).await;
    }
    world.clock.forward(minutes(60 * 25));
    let next = ops.next().await;
    assert_ne!(next.id(), message.id());
    assert_eq!(next.json()["data"]["digest"]["asked"], 0);
}

/// A new sink, and a sink with a new route, start with what becomes due from then on.
#[tokio::test]
async fn new_sink_sends_no_old_escalation() {
    let world = World::new().await;
    let mut boss = Receiver::start().await;
    world.ask("refund").await;
    world.clock.forward(minutes(10));
    let waits = world.ask("refund").await;
    world.clock.forward(minutes(6));
    let sinks = vec![webhook("boss", &boss)];
    let escalating = world.settings(sinks.clone(), vec![timed()]);
    let without = world.settings(sinks, vec![route("boss", &[])]);
    let mut notifier = world.notify(without).await;
    for _ in 0..2 {
        within(notifier.stop(A_MOMENT)).await;
        notifier = world.notify(escalating.clone()).await;
        caught_up(&notifier).await;
    }
    world.clock.forward(minutes(10));
    let message = boss.next().await;
    assert_eq!(message.json()["data"]["request"], waits.id.0.to_string());
    let next = world.ask("refund").await;
    world.clock.forward(minutes(16));
    let message = boss.next().await;
    assert_eq!(message.json()["data"]["request"], next.id.0.to_string());
    assert!(boss.is_quiet());
}

#[tokio::test]
async fn escalation_of_a_decided_request_leaves_the_queue() {
    let world = World::new().await;
    let mut boss = Receiver::start().await;
    let settings = world.settings(vec![webhook("boss", &boss)], vec![timed()]);
    let notifier = world.notify(settings.clone()).await;
    let decided = world.ask("refund").await;
    let open = world.ask("refund").await;
    caught_up(&notifier).await;
    boss.answer(503, Some("3600"));
    world.clock.forward(minutes(16));
    boss.next().await;
    // Both are in the queue of a target that is down.
    let queued = async {
        while notifier.sinks().await.unwrap()[0].queued < 2 {
            tokio::task::yield_now().await;
        }
    };
    within(queued).await;
    world.answer(&decided, ToolConfirmation::confirmed()).await;
    within(notifier.stop(A_MOMENT)).await;
    let notifier = world.notify(settings).await;
    let message = boss.next().await;
    assert_eq!(message.status, 204);
    assert_eq!(message.json()["data"]["request"], open.id.0.to_string());
    let sent = async {
        while notifier.sinks().await.unwrap()[0].queued > 0 {
            tokio::task::yield_now().await;
        }
    };
    within(sent).await;
    assert!(boss.is_quiet());
}

/// A queue has at most 256 messages. The others follow when it has room.
#[tokio::test]
async fn many_escalations_of_a_session_are_all_sent() {
    const REQUESTS: usize = 300;
    let world = World::new().await;
    let mut boss = Receiver::start().await;
    let sinks = vec![webhook("boss", &boss)];
    let notifier = world.notify(world.settings(sinks, vec![timed()])).await;
    world.ask_often("refund", REQUESTS).await;
    caught_up(&notifier).await;
    boss.answer(503, Some("3600"));
    world.clock.forward(minutes(16));
    boss.next().await;
    assert!(notifier.sinks().await.unwrap()[0].queued <= 256);
    within(notifier.stop(A_MOMENT)).await;
    let settings = world.settings(vec![webhook("boss", &boss)], vec![timed()]);
    let _notifier = world.notify(settings).await;
    let mut requests = std::collections::BTreeSet::new();
    for _ in 0..REQUESTS {
        let message = boss.next().await.json();
        requests.insert(message["data"]["request"].to_string());
    }
    assert_eq!(requests.len(), REQUESTS);
}
