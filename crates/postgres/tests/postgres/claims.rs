//! Claims that wait for a lock, and sessions that a node owns without knowing it.

use std::sync::Arc;
use std::time::Duration;

use recount_journal::testing::Stream;
use recount_journal::{Error, Journal, Sharing};
use tokio_postgres::Client;

use crate::place::Place;

async fn until_us(client: &Client, node: &str) -> i64 {
    let select = "SELECT (extract(epoch FROM until) * 1000000)::bigint FROM node WHERE name = $1";
    client.query_one(select, &[&node]).await.unwrap().get(0)
}

async fn now_us(client: &Client) -> i64 {
    let select = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    client.query_one(select, &[]).await.unwrap().get(0)
}

/// The claim begins under one lease of the owner, and gets the lock under the next one.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn claim_that_waited_sees_that_the_lease_was_renewed() {
    let place = Place::new();
    let options = place.options(place.address(), "a");
    let a = Arc::new(options.lease(Duration::from_secs(1)).open().unwrap());
    let b = place.node("b");
    let mut stream = Stream::new(1);
    stream.append(&*a, &["{}"]);
    let (holder, looker) = (place.client().await, place.client().await);
    let first = until_us(&looker, "a").await;
    holder
        .batch_execute("BEGIN; SELECT FROM head FOR UPDATE")
        .await
        .unwrap();
    let session = stream.session;
    let claimant = Arc::clone(&b);
    let claim = tokio::spawn(async move { claimant.sharing().unwrap().claim(vec![session]).await });
    place.blocked(1).await;
    // The lease of which the claim knows is over.
    while now_us(&looker).await <= first {}
    assert!(until_us(&looker, "a").await > first);
    holder.batch_execute("COMMIT").await.unwrap();
    assert!(claim.await.unwrap().unwrap().is_empty());
    stream.append(&*a, &["{}"]);
}

/// A release that failed, or a claim whose reply was lost, leaves such a session.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_claims_its_own_session_anew() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let mut stream = Stream::new(1);
    stream.append(&*a, &["{}"]);
    let session = stream.session;
    let old = a.sharing().unwrap().let_go(session).unwrap();
    let claimed = b.sharing().unwrap().claim(vec![session]).await;
    assert!(claimed.unwrap().is_empty());
    stream.append(&*a, &["{}"]);
    // The late release of the earlier ownership gives nothing away.
    a.sharing().unwrap().release(session, old).await;
    let claimed = b.sharing().unwrap().claim(vec![session]).await;
    assert!(claimed.unwrap().is_empty());
    stream.append(&*a, &["{}"]);
    stream.assert_in(&place.reader());
}

/// The tasks of a journal must not keep its sessions.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn dropped_journal_renews_no_lease() {
    let place = Place::new();
    let options = place.options(place.address(), "a");
    let a = options.lease(Duration::from_secs(1)).open().unwrap();
    let mut stream = Stream::new(1);
    stream.append(&a, &["{}"]);
    drop(a);
    let b = place.node("b");
    let sharing: &dyn Sharing = b.sharing().unwrap();
    let mut seen = 0;
    while sharing
        .claim(vec![stream.session])
        .await
        .unwrap()
        .is_empty()
    {
        seen = sharing.changed(seen).await;
    }
    stream.append(&*b, &["{}"]);
}

/// The claim begins before another node does, and waits for the lock of one stream while that node
/// claims the other one.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn claim_that_waited_takes_nothing_from_a_newer_node() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let mut streams = [Stream::new(1), Stream::new(2)];
    for stream in &mut streams {
        stream.append(&*a, &["{}"]);
    }
    a.close().await.unwrap();
    let sessions = streams.each_ref().map(|it| it.session);
    let holder = place.client().await;
    let hold = format!(
        "BEGIN; SELECT FROM head WHERE session = '{}' FOR UPDATE",
        sessions[0]
    );
    holder.batch_execute(&hold).await.unwrap();
    let claimant = Arc::clone(&b);
    let claim =
        tokio::spawn(async move { claimant.sharing().unwrap().claim(sessions.to_vec()).await });
    place.blocked(1).await;
    let c = place.node("c");
    let claimed = c.sharing().unwrap().claim(vec![sessions[1]]).await;
    assert_eq!(claimed.unwrap(), [sessions[1]]);
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(claim.await.unwrap().unwrap(), [sessions[0]]);
    streams[0].append(&*b, &["{}"]);
    streams[1].append(&*c, &["{}"]);
}

/// A node that was away longer than its lease must not own what others will not look for.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_whose_lease_ended_claims_nothing() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let mut stream = Stream::new(1);
    stream.append(&*a, &["{}"]);
    a.close().await.unwrap();
    place
        .execute("UPDATE node SET until = clock_timestamp() WHERE name = 'b'")
        .await;
    let error = b.sharing().unwrap().claim(vec![stream.session]).await;
    let error = error.unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
}

/// Each command of the command line is a node, too.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_removes_those_that_are_long_gone() {
    let place = Place::new();
    let owner = place.node("owner");
    Stream::new(1).append(&*owner, &["{}"]);
    for node in [owner, place.node("idle"), place.node("late")] {
        node.close().await.unwrap();
    }
    let age = "UPDATE node SET until = clock_timestamp() - CASE name
             WHEN 'late' THEN interval '59 minutes' ELSE interval '61 minutes' END";
    place.execute(age).await;
    let _node = place.node("living");
    let client = place.client().await;
    let is_there = "SELECT FROM node WHERE name = 'idle'";
    while client.query_opt(is_there, &[]).await.unwrap().is_some() {}
    let names = "SELECT name FROM node ORDER BY name";
    let names = client.query(names, &[]).await.unwrap();
    let names: Vec<&str> = names.iter().map(|row| row.get(0)).collect();
    assert_eq!(names, ["late", "living", "owner"]);
}
