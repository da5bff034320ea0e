//! The streams that need a node and have none, among many that have one or need none.

use std::time::Duration;

use futures_util::future::join_all;
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
    place.take_back(1).await;
    place.execute("UPDATE head SET owner = NULL").await;
    let b = place.node("b");
    assert_eq!(found(&b, None, 9).await, [needing]);
}

/// Waits until no notification comes for a while, and returns their number.
async fn seen(node: &PostgresJournal) -> u64 {
    let (sharing, mut seen) = (node.sharing().unwrap(), 0);
    loop {
        let now = sharing.changed(seen).await;
        if now == seen {
            return seen;
        }
        seen = now;
    }
}

/// Each stream is for one of the nodes, and most are for the one that owns less. None is for `c`,
/// which starts nothing.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn streams_without_a_node_are_shared_by_what_the_nodes_own() {
    let place = Place::new();
    let (a, b, c) = (place.node("a"), place.node("b"), place.node("c"));
    for node in [&a, &b] {
        node.sharing().unwrap().applied(0).await.unwrap();
    }
    let mut found = Vec::new();
    for number in 1..=60 {
        found.push(begin(&c, number, "ready", None).await);
    }
    for session in &found {
        release(&c, *session).await;
    }
    for number in 101..=140 {
        begin(&b, number, "ready", None).await;
    }
    place
        .execute("UPDATE node SET owned = 40 WHERE name = 'b'")
        .await;
    let before = seen(&b).await;
    let share = async |node: &PostgresJournal| {
        let sharing = node.sharing().unwrap();
        sharing.share(found.clone()).await.unwrap()
    };
    let (of_a, of_b) = (share(&a).await, share(&b).await);
    assert!(of_a.len() > of_b.len(), "{} and {}", of_a.len(), of_b.len());
    let mut all = [of_a.as_slice(), of_b.as_slice()].concat();
    all.sort_unstable();
    assert_eq!(all, found);
    assert_ne!(b.sharing().unwrap().changed(before).await, before);
    // A node that is alone takes all.
    b.close().await.unwrap();
    assert_eq!(share(&a).await, found);
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_notes_how_many_streams_it_owns() {
    let place = Place::new();
    let options = place.options(place.address(), "a");
    let a = options.lease(Duration::from_secs(5)).open().unwrap();
    for number in 1..=3 {
        begin(&a, number, "ready", None).await;
    }
    while place.execute("SELECT FROM node WHERE owned = 3").await == 0 {}
    a.close().await.unwrap();
}

/// A batch finds its streams by their ids. By the index of owners it would read all of the node.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn appends_do_not_look_through_the_streams_of_the_node() {
    let place = Place::new();
    let a = place.node("a");
    let mut streams: Vec<Stream> = (1..=20).map(Stream::new).collect();
    for _ in 0..3 {
        let appends = streams.iter_mut().map(|it| a.append(it.next(&["{}"])));
        for appended in join_all(appends).await {
            appended.unwrap();
        }
    }
    a.close().await.unwrap();
    // The server knows of the updates once the connections are gone.
    let heads = "SELECT FROM pg_stat_user_tables WHERE schemaname = current_schema()
         AND relname LIKE 'head%' HAVING sum(n_tup_upd) >= 40";
    while place.execute(heads).await == 0 {}
    let scans = "SELECT FROM pg_stat_user_indexes WHERE schemaname = current_schema()
         AND indexrelname LIKE '%owner%' AND idx_scan > 0";
    assert_eq!(place.execute(scans).await, 0);
}
