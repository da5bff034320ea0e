//! Followers of all nodes see one order without gaps, in which no commit appears behind them.

use std::sync::Arc;

use recount_journal::testing::Stream;
use recount_journal::testing::suite::following::whole_log;
use recount_journal::{Actor, Error, Journal, Line, own_append};
use recount_postgres::PostgresJournal;
use uuid::Uuid;

use crate::place::Place;

/// Follows a node until it has this many records.
async fn order(node: Arc<PostgresJournal>, count: usize) -> Vec<(Uuid, Line)> {
    let (mut lines, mut position) = (Vec::new(), 0);
    while lines.len() < count {
        let commit = node.follow(position).await.unwrap();
        // No position is left out, so none can be filled later.
        assert_eq!(commit.position, position + 1);
        position = commit.position;
        for (session, more) in commit.appends {
            lines.extend(more.into_iter().map(|line| (session, line)));
        }
    }
    lines
}

/// Appends to the journal's own stream, to which every node appends.
async fn note(node: &PostgresJournal, kind: &str) {
    loop {
        let head = node.head(Uuid::nil()).await.unwrap();
        let append = own_append(head.as_ref(), 7, Actor::new("engine"), kind, "{}");
        match node.append(append).await {
            Err(Error::Conflict { .. }) => {}
            told => {
                told.unwrap();
                return;
            }
        }
    }
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn followers_of_all_nodes_see_one_order() {
    const NODES: usize = 3;
    const STREAMS: usize = 4;
    const APPENDS: usize = 40;
    let place = Place::new();
    let nodes: Vec<_> = (0..NODES).map(|it| place.node(&format!("n{it}"))).collect();
    let records = NODES * STREAMS * APPENDS * 2 + NODES * APPENDS;
    let mut writers = Vec::new();
    for (nth, node) in nodes.iter().enumerate() {
        for of_node in 0..STREAMS {
            let node = Arc::clone(node);
            let mut stream = Stream::new((nth * 100 + of_node + 1) as u128);
            writers.push(tokio::spawn(async move {
                for _ in 0..APPENDS {
                    let append = stream.next(&["{}", r#"{"n":1}"#]);
                    assert_eq!(node.append(append).await.ok(), stream.head());
                }
                stream.assert_in(&*node);
            }));
        }
        let node = Arc::clone(node);
        writers.push(tokio::spawn(async move {
            for _ in 0..APPENDS {
                note(&node, "noted").await;
            }
        }));
    }
    let orders = nodes
        .iter()
        .map(|node| tokio::spawn(order(Arc::clone(node), records)));
    let orders: Vec<_> = orders.collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let log = whole_log(&place.reader());
    for order in orders {
        assert!(order.await.unwrap() == log);
    }
    for stream in nodes[0].sessions(None, 100).await.unwrap() {
        let lines = log.iter().filter(|(session, _)| *session == stream.0);
        let lines: Vec<Line> = lines.map(|(_, line)| line.clone()).collect();
        assert_eq!(lines, nodes[0].read(stream.0, 1, 1000).await.unwrap());
    }
}

/// A commit that began first and ends last gets the later position.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn late_commit_is_not_put_behind_a_follower() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let (mut slow, mut swift) = (Stream::new(1), Stream::new(2));
    let holder = place.client().await;
    // The transaction of the first stream has its number, and waits within its commit.
    let hold = format!(
        "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF '{}'::uuid = ANY (NEW.sessions) THEN PERFORM pg_advisory_xact_lock(4343); END IF;
             RETURN NULL;
         END $$;
         CREATE CONSTRAINT TRIGGER held AFTER INSERT ON batch DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION hold();
         SELECT pg_advisory_lock(4343);",
        slow.session
    );
    holder.batch_execute(&hold).await.unwrap();
    let append = slow.next(&["{}"]);
    let pending = tokio::spawn({
        let a = Arc::clone(&a);
        async move { a.append(append).await }
    });
    place.blocked(1).await;
    swift.append(&*b, &["{}"]);
    let seen = b.follow(0).await.unwrap();
    assert_eq!(seen.appends, [(swift.session, swift.lines.clone())]);
    assert_eq!(b.position().await.unwrap(), seen.position);
    assert!(!pending.is_finished());
    let release = "SELECT pg_advisory_unlock(4343)";
    holder.batch_execute(release).await.unwrap();
    assert_eq!(pending.await.unwrap().ok(), slow.head());
    let later = b.follow(seen.position).await.unwrap();
    assert_eq!(later.appends, [(slow.session, slow.lines.clone())]);
    let order = whole_log(&place.reader());
    let order: Vec<Uuid> = order.into_iter().map(|(session, _)| session).collect();
    assert_eq!(order, [swift.session, slow.session]);
}
