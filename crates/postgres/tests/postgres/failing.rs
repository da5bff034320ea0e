//! Appends that the server rejects, and roles that may only read.

use std::sync::Arc;

use recount_journal::testing::Stream;
use recount_journal::testing::suite::following::whole_log;
use recount_journal::{Error, Journal};
use recount_postgres::PostgresJournal;

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
    // Apart from the trigger, whose transaction locks the table for every append.
    let lock = format!("BEGIN; SELECT FROM head WHERE session = '{bad}' FOR UPDATE");
    holder.batch_execute(&lock).await.unwrap();
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
    let client = place.client().await;
    let role = place.role();
    let grants = format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {role};
         GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}",
        schema = place.schema(),
    );
    client.batch_execute(&grants).await.unwrap();
    let options = PostgresJournal::options(place.address_of(&role)).read_only();
    let seen = tokio::task::spawn_blocking(move || whole_log(&options.open().unwrap()));
    let seen: Vec<_> = seen
        .await
        .unwrap()
        .into_iter()
        .map(|(_, line)| line)
        .collect();
    assert_eq!(seen, stream.lines);
    let revoke = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    client.batch_execute(&revoke).await.unwrap();
}
