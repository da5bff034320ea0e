//! TLS to the server: all connections have it, and no other server is spoken to.

use std::io::{Read, Write};
use std::net::TcpListener;

use recount_journal::{Error, Journal};
use recount_postgres::{Address, PostgresJournal};
use uuid::Uuid;

use crate::place::Place;

/// The parameters for the certificate of the test's server.
fn verified() -> String {
    let roots = std::env::var("RECOUNT_TEST_POSTGRES_CA").unwrap();
    format!("&sslmode=verify-full&sslrootcert={roots}")
}

/// The text of the error with which an address does not open.
fn refusal(address: Address) -> String {
    let opened = PostgresJournal::options(address).open();
    let Err(Error::Io { doing, source }) = opened.map(drop) else {
        panic!("expected an error of the connection");
    };
    format!("{doing}: {source}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
async fn every_connection_of_a_node_is_encrypted() {
    let place = Place::new();
    let server = std::env::var("RECOUNT_TEST_POSTGRES").unwrap();
    let more = format!("{}&application_name={}", verified(), place.schema());
    let address = place.address_with(&server, &more);
    let node = place.options(address, "n").open().unwrap();
    node.head(Uuid::nil()).await.unwrap();
    let client = place.client().await;
    let of_node = "SELECT count(*), count(*) FILTER (WHERE ssl)
         FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = $1";
    // For reads, the committer and the news. The last of them may just be on its way.
    let mut connections = 0;
    while connections < 3 {
        let row = client.query_one(of_node, &[&place.schema()]).await.unwrap();
        connections = row.get::<_, i64>(0);
        assert_eq!(row.get::<_, i64>(1), connections);
    }
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn certificate_of_another_authority_or_host_is_refused() {
    let place = Place::new();
    let server = std::env::var("RECOUNT_TEST_POSTGRES").unwrap();
    let unknown = place.address_with(&server, "&sslmode=verify-full");
    let text = refusal(unknown);
    assert!(text.contains("UnknownIssuer"), "{text}");
    assert!(text.contains("sslrootcert=FILE"), "{text}");
    let elsewhere = server.replace("127.0.0.1", "localhost");
    let text = refusal(place.address_with(&elsewhere, &verified()));
    assert!(text.contains("not valid for name"), "{text}");
}

/// An attacker between a node and its server may answer that there is no TLS.
#[test]
fn server_without_tls_gets_neither_name_nor_password() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 8];
        stream.read_exact(&mut request).unwrap();
        stream.write_all(b"N").unwrap();
        stream.read(&mut [0]).unwrap()
    });
    let address = format!("postgres://u:secret@127.0.0.1:{port}/d?sslmode=verify-full");
    let text = refusal(address.parse().unwrap());
    assert!(text.contains("server does not support TLS"), "{text}");
    assert_eq!(heard.join().unwrap(), 0);
}

/// The caller may be in a runtime, which lets no other one be dropped.
#[tokio::test]
async fn unreadable_authorities_are_an_error() {
    let address = "postgres://u@127.0.0.1:1/d?sslmode=verify-full&sslrootcert=/nowhere/ca.pem";
    let text = refusal(address.parse().unwrap());
    assert!(text.contains("sslrootcert \"/nowhere/ca.pem\""), "{text}");
}

/// Such as one that was stopped, or whose network drops what it answers.
#[test]
fn server_that_says_nothing_ends_the_opening() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for mode in ["disable", "verify-full"] {
        let address = format!("postgres://u@127.0.0.1:{port}/d?connect_timeout=1&sslmode={mode}");
        let text = refusal(address.parse().unwrap());
        assert!(text.contains("did not answer within 1s"), "{text}");
    }
}
