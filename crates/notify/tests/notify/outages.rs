//! The notifications while their journal cannot be read.

use recount::ledger::Ledger;
use recount::testing::UnreachableJournal;
use recount_notify::{DeadLetterError, Notifier, Occasion};
use uuid::Uuid;

use crate::receiver::{Receiver, within};
use crate::world::{World, route, webhook};

const ASKED: &[Occasion] = &[Occasion::Asked];

/// Several failures in a row, so that the pauses grow, and one that ends a wait for a commit.
#[tokio::test]
async fn sink_goes_on_after_an_outage_of_the_journal() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let journal = UnreachableJournal::new(world.engine.ledger().journal().clone());
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", ASKED)]);
    let ledger = Ledger::new(journal.clone());
    let starting = Notifier::start(ledger, world.clock.clone(), settings);
    let notifier = within(starting).await.unwrap();
    world.ask("refund").await;
    assert_eq!(receiver.next().await.kind(), "recount.asked");
    journal.cut();
    within(journal.failed(3)).await;
    let asked = world.ask("refund").await;
    journal.heal();
    let data = receiver.next().await.json()["data"].clone();
    assert_eq!(data["request"], asked.id.0.to_string());
    let status = notifier.sinks().await.unwrap();
    assert_eq!(status[0].error, None);
}

#[tokio::test]
async fn sink_ends_with_a_damaged_journal() {
    let (world, receiver) = (World::new().await, Receiver::start().await);
    let journal = UnreachableJournal::new(world.engine.ledger().journal().clone());
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", ASKED)]);
    let ledger = Ledger::new(journal.clone());
    let starting = Notifier::start(ledger, world.clock.clone(), settings);
    let notifier = within(starting).await.unwrap();
    journal.damage();
    within(journal.failed(1)).await;
    // There is no such letter, and no task that says so once it has ended.
    let ended = async {
        while notifier.discard("ops", Uuid::nil()).await != Err(DeadLetterError::Stopped) {
            tokio::task::yield_now().await;
        }
    };
    within(ended).await;
    journal.heal();
    let error = notifier.sinks().await.unwrap()[0].error.clone();
    assert!(
        error.is_some_and(|it| it.contains("is damaged")),
        "no reason"
    );
}
