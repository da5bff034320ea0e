//! Only the owner of a session appends to it: the database refuses an older epoch, whatever a node
//! believes.

use std::sync::Arc;
use std::time::Duration;

use recount_journal::testing::Stream;
use recount_journal::{Append, Error, Journal, Object, OpenItem, WorkChange};
use recount_postgres::PostgresJournal;
use uuid::Uuid;

use crate::place::Place;
use crate::proxy::Proxy;

/// Ends the lease of node `a` in the database. The node does not know that.
const END_LEASE: &str = "UPDATE node SET until = clock_timestamp() WHERE name = 'a'";

/// Releases a session of a node.
async fn release(node: &PostgresJournal, session: Uuid) {
    let sharing = node.sharing().unwrap();
    let epoch = sharing.let_go(session).unwrap();
    sharing.release(session, epoch).await;
}

/// The next append of a stream, with an object, an open item and a request id.
fn laden(stream: &mut Stream) -> Append {
    let mut append = stream.next(&[r#"{"by":"a"}"#, "{}"]);
    let object = format!("of {} at {}", stream.session, append.expected);
    append.objects = vec![Object::new(object.into_bytes())];
    append.open_work = vec![WorkChange::Put(OpenItem {
        session: stream.session,
        item: append.expected + 1,
        kind: "call".to_owned(),
        since_us: 0,
        deadline_us: Some(1),
        request: Some(Uuid::from_u128(77)),
        flags: 0,
    })];
    append
}

/// Asserts that a journal has the records of a stream, and nothing of an append.
async fn assert_unwritten(journal: &dyn Journal, stream: &Stream, append: &Append) {
    stream.assert_in(journal);
    let object = journal.object(append.objects[0].hash).await.unwrap();
    assert_eq!(object, None);
    assert_eq!(journal.open_work(None, 9).await.unwrap(), []);
    let request = journal.request(Uuid::from_u128(77)).await.unwrap();
    assert_eq!(request, None);
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_whose_lease_ended_is_fenced() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let mut stream = Stream::new(1);
    stream.append(&*a, &["{}"]);
    place.execute(END_LEASE).await;
    let behind = laden(&mut stream.clone());
    stream.append(&*b, &[r#"{"by":"b"}"#]);
    // It has read what the new owner appended, so only its epoch is old.
    let late = laden(&mut stream.clone());
    let error = a.append(late.clone()).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Fenced { session, held: 1, current: 2 } if session == stream.session
        ),
        "{error}"
    );
    assert_unwritten(&*b, &stream, &late).await;
    // It owns the stream no more, and may claim none.
    for again in [late, behind] {
        let error = a.append(again.clone()).await.unwrap_err();
        assert!(matches!(error, Error::Poisoned { .. }), "{error}");
        assert_unwritten(&*b, &stream, &again).await;
    }
    stream.append(&*b, &["{}"]);
    stream.assert_in(&*a);
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn append_in_flight_is_fenced_by_a_takeover() {
    let place = Place::new();
    let (a, _b) = (place.node("a"), place.node("b"));
    let mut stream = Stream::new(1);
    stream.append(&*a, &["{}"]);
    let owner = place.client().await;
    let lock = "BEGIN; SELECT FROM head WHERE seq = 1 FOR NO KEY UPDATE";
    owner.batch_execute(lock).await.unwrap();
    let late = laden(&mut stream.clone());
    let pending = tokio::spawn({
        let (a, late) = (Arc::clone(&a), late.clone());
        async move { a.append(late).await }
    });
    place.blocked(1).await;
    let take = "UPDATE head SET owner = (SELECT id FROM node WHERE name = 'b'), epoch = epoch + 1;
         COMMIT";
    owner.batch_execute(take).await.unwrap();
    let error = pending.await.unwrap().unwrap_err();
    assert!(
        matches!(
            error,
            Error::Fenced {
                held: 1,
                current: 2,
                ..
            }
        ),
        "{error}"
    );
    assert_unwritten(&place.reader(), &stream, &late).await;
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn session_has_one_owner_until_it_is_released() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let mut stream = Stream::new(1);
    stream.append(&*a, &["{}"]);
    let session = stream.session;
    let refused = laden(&mut stream.clone());
    let error = b.append(refused.clone()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Owned { owner, .. } if owner == "a"),
        "{error}"
    );
    assert_unwritten(&*a, &stream, &refused).await;
    release(&a, session).await;
    stream.append(&*b, &["{}"]);
    let error = a.append(laden(&mut stream.clone())).await.unwrap_err();
    assert!(
        matches!(&error, Error::Owned { owner, .. } if owner == "b"),
        "{error}"
    );
    // A close releases all.
    b.close().await.unwrap();
    stream.append(&*a, &["{}"]);
    let epochs = place.execute("UPDATE head SET epoch = epoch WHERE epoch = 3");
    assert_eq!(epochs.await, 1);
    stream.assert_in(&place.reader());
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn unowned_session_has_one_of_many_claimants() {
    let place = Place::new();
    let mut stream = Stream::new(1);
    let first = place.node("first");
    stream.append(&*first, &["{}"]);
    first.close().await.unwrap();
    let nodes: Vec<_> = (0..4).map(|it| place.node(&format!("n{it}"))).collect();
    let session = stream.session;
    let claims = nodes.iter().map(|node| {
        let node = Arc::clone(node);
        tokio::spawn(async move { node.sharing().unwrap().claim(vec![session]).await })
    });
    let mut owners = Vec::new();
    for (claim, node) in claims.collect::<Vec<_>>().into_iter().zip(&nodes) {
        if claim.await.unwrap().unwrap() == [session] {
            owners.push(node);
        }
    }
    assert_eq!(owners.len(), 1);
    stream.append(&**owners[0], &["{}"]);
}

/// A node that is cut off from the database stops before another one may take over.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_that_cannot_renew_stops_by_itself() {
    let place = Place::new();
    let proxy = Proxy::start(place.server()).await;
    let options = place.options(place.address_at(proxy.port()), "a");
    let a = options.lease(Duration::from_secs(1)).open().unwrap();
    let b = place.node("b");
    let mut stream = Stream::new(1);
    stream.append(&a, &["{}"]);
    assert!(a.sharing().unwrap().lease().is_ok());
    proxy.refuse();
    proxy.cut();
    let late = laden(&mut stream.clone());
    let error = a.append(late.clone()).await.unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    let lease = a.sharing().unwrap().lease();
    assert!(matches!(lease, Err(Error::Poisoned { .. })), "{lease:?}");
    assert!(matches!(a.room(), Err(Error::Poisoned { .. })));
    proxy.admit();
    let again = a.append(late.clone()).await.unwrap_err();
    assert!(matches!(again, Error::Poisoned { .. }), "{again}");
    let sharing = b.sharing().unwrap();
    while sharing
        .claim(vec![stream.session])
        .await
        .unwrap()
        .is_empty()
    {
        sharing.changed(0).await;
    }
    assert_unwritten(&*b, &stream, &late).await;
    stream.append(&*b, &["{}"]);
}
