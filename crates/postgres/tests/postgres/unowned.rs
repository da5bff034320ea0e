//! The streams that need a node and have none, among many that have one or need none.

use recount_journal::testing::Stream;
use recount_journal::{Journal, OpenItem, Unowned, WorkChange};
use recount_postgres::PostgresJournal;
use uuid::Uuid;

use crate::place::Place;

/// Appends to a new stream of a node, with an open item.
async fn begin(node: &PostgresJournal, number: u128, kind: &str, deadline_us: Option<i64>) -> Uuid {
    let mut stream = Stream::new(number);
    let mut append = stream.next(&["{}"]);
    append.open_work = vec![WorkChange::Put(OpenItem {
        session: stream.session,
        item: 1,
        kind: kind.to_owned(),
        since_us: 1,
        deadline_us,
        request: None,
        flags: if kind == "held" { 6 } else { 1 },
    })];
    node.append(append).await.unwrap();
    stream.session
}

async fn release(node: &PostgresJournal, session: Uuid) {
    let sharing = node.sharing().unwrap();
    let epoch = sharing.let_go(session).unwrap();
    sharing.release(session, epoch).await;
}

/// Looks for streams that need a node at the time 100.
async fn found(node: &PostgresJournal, after: Option<Uuid>, limit: usize) -> Vec<Uuid> {
    let sought = Unowned {
        kinds: &["ready", "running"],
        flags: 2,
        due_us: 100,
        after,
        limit,
    };
    node.sharing().unwrap().unowned(sought).await.unwrap()
}

/// The number of streams with an owner, or with the mark of those that were released.
async fn named_owners(place: &Place) -> u64 {
    let select = "SELECT FROM head WHERE owner IS NOT NULL";
    place.execute(select).await
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn released_streams_that_need_a_node_are_found() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let needing = begin(&a, 1, "ready", None).await;
    let waiting = begin(&a, 2, "confirmation", Some(101)).await;
    let held = begin(&a, 3, "held", None).await;
    let owned = begin(&a, 4, "running", Some(1)).await;
    let due = begin(&a, 5, "confirmation", Some(100)).await;
    assert!(found(&b, None, 9).await.is_empty());
    for session in [needing, waiting, held, due] {
        release(&a, session).await;
    }
    // Twice, since what needs nothing is looked at once.
    for named in [5, 3] {
        assert_eq!(named_owners(&place).await, named);
        assert_eq!(found(&b, None, 9).await, [needing, held, due]);
    }
    assert_eq!(found(&b, None, 2).await, [needing, held]);
    assert_eq!(found(&b, Some(held), 9).await, [due]);
    // One that was looked at is looked at anew when it was claimed and released since.
    let claimed = b.sharing().unwrap().claim(vec![waiting]).await;
    assert_eq!(claimed.unwrap(), [waiting]);
    place
        .execute("UPDATE work SET kind = 'ready' WHERE kind = 'confirmation'")
        .await;
    assert!(!found(&a, None, 9).await.contains(&waiting));
    release(&b, waiting).await;
    assert_eq!(found(&a, None, 9).await, [needing, waiting, held, due]);
    assert!(!found(&a, None, 9).await.contains(&owned));
}

/// They are found at once, among more than one look takes. Those that need nothing are freed for
/// good once the lease ended long ago, so that no renewal may have crossed the look.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn streams_of_a_node_that_is_gone_are_found() {
    const IDLE: u64 = 2500;
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let needing = begin(&a, u128::MAX, "running", None).await;
    let idle = format!(
        "INSERT INTO head SELECT md5(i::text)::uuid, n.id, 1, 1, 1, '\\x00'
         FROM generate_series(1, {IDLE}) i, node n WHERE n.name = 'a'"
    );
    place.execute(&idle).await;
    assert!(found(&b, None, 9).await.is_empty());
    place
        .execute("UPDATE node SET until = clock_timestamp() WHERE name = 'a'")
        .await;
    assert_eq!(found(&b, None, 9).await, [needing]);
    assert_eq!(named_owners(&place).await, IDLE + 1);
    let long_ago = "UPDATE node SET until = clock_timestamp() - interval '61 s' WHERE name = 'a'";
    place.execute(long_ago).await;
    assert_eq!(found(&b, None, 9).await, [needing]);
    assert_eq!(named_owners(&place).await, 1);
    place.execute("DELETE FROM node WHERE name = 'a'").await;
    assert_eq!(found(&b, None, 9).await, [needing]);
    let claimed = b.sharing().unwrap().claim(vec![needing]).await;
    assert_eq!(claimed.unwrap(), [needing]);
    assert!(found(&b, None, 9).await.is_empty());
}

/// Nodes that look at the same time, and a claim between the look and what it frees.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn look_waits_for_no_lock() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let waiting = begin(&a, 1, "confirmation", None).await;
    let needing = begin(&a, 2, "ready", None).await;
    for session in [waiting, needing] {
        release(&a, session).await;
    }
    let holder = place.client().await;
    let claim = "BEGIN; UPDATE head SET epoch = epoch + 1";
    holder.batch_execute(claim).await.unwrap();
    assert_eq!(found(&b, None, 9).await, [needing]);
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(named_owners(&place).await, 2);
    assert_eq!(found(&b, None, 9).await, [needing]);
    assert_eq!(named_owners(&place).await, 1);
}

/// The tables of the version before have no mark at streams that were released.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn streams_released_under_older_tables_are_found() {
    let place = Place::new();
    let a = place.node("a");
    let needing = begin(&a, 1, "ready", None).await;
    a.close().await.unwrap();
    let client = place.client().await;
    let older = "UPDATE head SET owner = NULL; UPDATE format SET version = 1;
         DROP TABLE opening; ALTER TABLE node DROP COLUMN applied; DROP INDEX head_owned;
         CREATE INDEX work_flagged ON work (session) WHERE flags <> 0";
    client.batch_execute(older).await.unwrap();
    let b = place.node("b");
    assert_eq!(found(&b, None, 9).await, [needing]);
}
