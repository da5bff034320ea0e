//! Servers and tables that a node refuses.

use std::thread;

use recount_journal::{Error, Journal};
use recount_postgres::PostgresJournal;
use uuid::Uuid;

use crate::place::Place;

fn read_only(place: &Place) -> Result<PostgresJournal, Error> {
    PostgresJournal::options(place.address()).read_only().open()
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn tables_of_a_newer_version_are_refused() {
    let place = Place::new();
    place.node("a").close().await.unwrap();
    place.execute("UPDATE format SET version = 1000").await;
    let before = place.execute("SELECT FROM node").await;
    for refused in [
        place.options(place.address(), "b").open(),
        read_only(&place),
    ] {
        let error = refused.err().unwrap();
        assert!(
            matches!(error, Error::NewerFormat { found: 1000, .. }),
            "{error}"
        );
    }
    assert_eq!(place.execute("SELECT FROM node").await, before);
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn reader_makes_no_tables() {
    let place = Place::new();
    let error = read_only(&place).err().unwrap();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    let error = read_only(&place).err().unwrap();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_start_together_make_the_tables_once() {
    let place = Place::new();
    thread::scope(|scope| {
        let start = |number: u32| {
            let place = &place;
            scope.spawn(move || place.node(&format!("n{number}")))
        };
        let nodes: Vec<_> = (0..4).map(start).collect();
        for node in nodes {
            node.join().unwrap();
        }
    });
    assert_eq!(place.execute("SELECT FROM format").await, 1);
    assert_eq!(place.execute("SELECT FROM node").await, 4);
}

/// A setting under which an acknowledged append may vanish is refused, or allowed by name and noted
/// in the journal.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn lossy_setting_is_refused_or_noted() {
    let place = Place::new();
    let lossy = "&options=-csynchronous_commit%3Doff";
    let server = std::env::var("RECOUNT_TEST_POSTGRES").unwrap();
    let lossy = || place.address_with(&server, lossy);
    let error = place.options(lossy(), "a").open().err().unwrap();
    let Error::Lossy { settings } = error else {
        panic!("{error}");
    };
    assert_eq!(settings, ["synchronous_commit = off"]);
    let other = place.options(lossy(), "a").allow_lossy("fsync = off");
    let error = other.open().err().unwrap();
    assert!(matches!(error, Error::Lossy { .. }), "{error}");
    let named = place.options(lossy(), "a").allow_lossy(&settings[0]);
    let journal = named.open().unwrap();
    let noted = journal.read(Uuid::nil(), 1, 9).await.unwrap();
    let record = noted[0].record().unwrap();
    assert_eq!((noted.len(), record.kind), (1, "lossy_settings_allowed"));
    assert!(record.body.get().contains(&settings[0]), "{record:?}");
}

/// A node of the earlier program starts calls, and cannot say that it has applied a pause.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn tables_of_an_earlier_version_are_brought_up_to_date() {
    let place = Place::new();
    let earlier = place.node("earlier");
    place.take_back(2).await;
    let error = read_only(&place).err().unwrap();
    assert!(matches!(error, Error::NotAJournal { .. }), "{error}");
    let newer = place.node("newer");
    assert!(read_only(&place).is_ok());
    let behind = newer.sharing().unwrap().behind(1).await.unwrap();
    assert_eq!(behind, ["earlier"]);
    earlier.close().await.unwrap();
    let behind = newer.sharing().unwrap().behind(1).await.unwrap();
    assert!(behind.is_empty(), "{behind:?}");
}
