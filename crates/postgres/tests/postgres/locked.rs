//! Rows and tables that something else has locked, and nodes that are cut off with locks.

use std::sync::Arc;

use recount_journal::testing::Stream;
use recount_journal::{Append, Journal};
use recount_postgres::PostgresJournal;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::place::Place;
use crate::proxy::{Fault, Proxy};

/// Appends to new streams of a node, which releases them.
async fn released(node: &PostgresJournal, count: u128) -> Vec<Uuid> {
    let mut sessions = Vec::new();
    for number in 1..=count {
        let mut stream = Stream::new(number);
        stream.append(node, &["{}"]);
        let sharing = node.sharing().unwrap();
        let epoch = sharing.let_go(stream.session).unwrap();
        sharing.release(stream.session, epoch).await;
        sessions.push(stream.session);
    }
    sessions
}

async fn claimed(node: &PostgresJournal, sessions: &[Uuid]) -> Vec<Uuid> {
    let claimed = node.sharing().unwrap().claim(sessions.to_vec()).await;
    claimed.unwrap()
}

async fn holder(place: &Place, lock: &str) -> Client {
    let client = place.client().await;
    let begin = format!("BEGIN; {lock}");
    client.batch_execute(&begin).await.unwrap();
    client
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn session_whose_row_is_locked_does_not_keep_the_others() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let sessions = released(&a, 3).await;
    let lock = format!(
        "SELECT FROM head WHERE session = '{}' FOR UPDATE",
        sessions[1]
    );
    let holder = holder(&place, &lock).await;
    assert_eq!(claimed(&b, &sessions).await, [sessions[0], sessions[2]]);
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(claimed(&b, &sessions[1..2]).await, [sessions[1]]);
}

/// Its transaction would otherwise hold the sessions that it was about to claim.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn locks_of_a_node_that_is_cut_off_are_released() {
    let place = Place::new();
    let proxy = Proxy::start(place.server()).await;
    let options = place.options(place.address_at(proxy.port()), "cut");
    let (a, cut, next) = (place.node("a"), options.open().unwrap(), place.node("next"));
    let sessions = released(&a, 1).await;
    // With its end, which "READ COMMITTED" does not have.
    proxy.fail_at("COMMIT\0", Fault::Halted);
    let wanted = sessions.clone();
    let claiming = tokio::spawn(async move { cut.sharing().unwrap().claim(wanted).await });
    proxy.failed().await;
    while claimed(&next, &sessions).await.is_empty() {}
    claiming.abort();
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn append_that_waits_for_long_makes_its_node_unready() {
    let place = Place::new();
    let node = place.node("a");
    let mut stream = Stream::new(1);
    stream.append(&*node, &["{}"]);
    let holder = holder(&place, "LOCK TABLE append").await;
    let (appender, append): (_, Append) = (Arc::clone(&node), stream.next(&["{}"]));
    let appended = tokio::spawn(async move { appender.append(append).await });
    while node.sharing().unwrap().takes_appends().is_ok() {
        tokio::task::yield_now().await;
    }
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(appended.await.unwrap().ok(), stream.head());
    node.sharing().unwrap().takes_appends().unwrap();
}

/// Such as a backup. The renewals of leases would queue behind a change that waits.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn change_of_tables_that_others_read_keeps_no_lease() {
    let place = Place::new();
    let a = place.node("a");
    place.take_back(2).await;
    let reader = holder(&place, "SELECT FROM node").await;
    let options = place.options(place.address(), "b");
    let opening = tokio::task::spawn_blocking(move || options.open());
    place.blocked(1).await;
    let renewed = place.execute("UPDATE node SET until = until").await;
    assert_eq!(renewed, 1);
    reader.batch_execute("COMMIT").await.unwrap();
    let b = opening.await.unwrap().unwrap();
    b.close().await.unwrap();
    a.close().await.unwrap();
}
