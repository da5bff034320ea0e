//! Appends that the server rejects, and roles that may only read.

use std::sync::Arc;

use recount_journal::testing::Stream;
use recount_journal::testing::suite::following::whole_log;
use recount_journal::{Error, Journal};
use recount_postgres::{Options, PostgresJournal};
use tokio_postgres::Client;

use crate::place::Place;

/// An append whose row the server cannot store, as of a damaged page.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn rejected_append_fails_alone() {
    const STREAMS: u128 = 24;
    let place = Place::new();
    let node = place.node("a");
    let mut streams: Vec<_> = (1..=STREAMS).map(Stream::new).collect();
    for stream in &mut streams {
        stream.append(&*node, &["{}"]);
    }
    let bad = streams[0].session;
    let reject = format!(
        "CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.session = '{bad}' THEN
                 RAISE EXCEPTION 'invalid page' USING ERRCODE = 'data_corrupted';
             END IF;
             RETURN NEW;
         END $$;
         CREATE TRIGGER rejected BEFORE INSERT ON append FOR EACH ROW EXECUTE FUNCTION reject()"
    );
    let holder = place.client().await;
    holder.batch_execute(&reject).await.unwrap();
    let hold = format!("BEGIN; SELECT FROM head WHERE session = '{bad}' FOR UPDATE");
    holder.batch_execute(&hold).await.unwrap();
    let appends: Vec<_> = streams
        .iter_mut()
        .map(|stream| {
            let (node, append) = (Arc::clone(&node), stream.next(&["{}"]));
            tokio::spawn(async move { node.append(append).await })
        })
        .collect();
    // While one waits for the row, the others gather behind it.
    place.blocked(1).await;
    holder.batch_execute("COMMIT").await.unwrap();
    for (append, stream) in appends.into_iter().zip(&streams) {
        let told = append.await.unwrap();
        if stream.session == bad {
            let error = told.unwrap_err();
            assert!(matches!(error, Error::Io { .. }), "{error}");
        } else {
            assert_eq!(told.ok(), stream.head());
        }
    }
}

/// A role that may read the journal, and nothing else.
pub(crate) async fn reading_role(place: &Place) -> (Client, Options) {
    let client = place.client().await;
    let role = place.role();
    let grants = format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {role};
         GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}",
        schema = place.schema(),
    );
    client.batch_execute(&grants).await.unwrap();
    let options = PostgresJournal::options(place.address_of(&role));
    (client, options.read_only())
}

async fn remove_role(client: Client, place: &Place) {
    let revoke = format!(
        "DROP OWNED BY {role}; DROP ROLE {role}",
        role = place.role()
    );
    client.batch_execute(&revoke).await.unwrap();
}

/// A reader that cannot give positions must not take a journal for a shorter one.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn reader_without_rights_sees_every_commit() {
    let place = Place::new();
    let node = place.node("a");
    let mut stream = Stream::new(1);
    for _ in 0..10 {
        stream.append(&*node, &["{}"]);
    }
    let (client, options) = reading_role(&place).await;
    let seen = tokio::task::spawn_blocking(move || whole_log(&options.open().unwrap()));
    let seen: Vec<_> = seen
        .await
        .unwrap()
        .into_iter()
        .map(|(_, line)| line)
        .collect();
    assert_eq!(seen, stream.lines);
    remove_role(client, &place).await;
}

/// Under load some commit never has a position. A reader waits for those before its look.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn reader_without_rights_waits_for_no_later_commit() {
    let place = Place::new();
    let node = place.node("a");
    let mut stream = Stream::new(1);
    stream.append(&*node, &["{}"]);
    stream.append(&*node, &["{}"]);
    assert_eq!(node.position().await.unwrap(), 2);
    let (client, options) = reading_role(&place).await;
    // The sequencer stands still, so the reader has to wait for the last commit. It gets a position
    // when another one, which never gets one, is there.
    node.close().await.unwrap();
    let load = "UPDATE batch SET position = NULL WHERE position = 2;
         UPDATE sequencer SET position = 1";
    client.batch_execute(load).await.unwrap();
    let reader = Arc::new(
        tokio::task::spawn_blocking(move || options.open().unwrap())
            .await
            .unwrap(),
    );
    let waiting = {
        let reader = Arc::clone(&reader);
        tokio::spawn(async move { reader.position().await })
    };
    // It has looked at least once when it is idle behind the look.
    let looked = "SELECT count(*) FROM pg_stat_activity
         WHERE usename = $1 AND state = 'idle' AND query LIKE '%id <= $1%'";
    let role = place.role();
    while client
        .query_one(looked, &[&role])
        .await
        .unwrap()
        .get::<_, i64>(0)
        == 0
    {}
    let given = "UPDATE batch SET position = 2 WHERE position IS NULL;
         UPDATE sequencer SET position = 2;
         INSERT INTO batch SELECT 1000 + id, NULL, sessions, firsts FROM batch WHERE position = 2";
    client.batch_execute(given).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), 2);
    remove_role(client, &place).await;
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn missing_last_position_is_damage() {
    let place = Place::new();
    let node = place.node("a");
    place.execute("DELETE FROM sequencer").await;
    let (client, options) = reading_role(&place).await;
    let reader = tokio::task::spawn_blocking(move || options.open().unwrap()).await;
    for error in [
        node.position().await.unwrap_err(),
        reader.unwrap().position().await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
    remove_role(client, &place).await;
}
