#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::time::Duration;

use tokio::io::DuplexStream;
use tokio::time::{Instant, advance, interval, timeout};
use tokio_tungstenite::tungstenite::protocol::Role;

use super::*;

#[test]
fn tls_uses_the_chosen_provider() {
    let TlsConnector::Rustls(config) = &*TLS else {
        panic!("without TLS")
    };
    let chosen = rustls::crypto::ring::default_provider();
    let provider = config.crypto_provider();
    assert_eq!(provider.cipher_suites, chosen.cipher_suites);
}

type Service = WebSocketStream<DuplexStream>;

/// A connection with a ping every ten seconds, and the service at its other end.
async fn connected(keepalive: Keepalive) -> (Connection, Service) {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let ours = WebSocketStream::from_raw_socket(ours, Role::Client, None).await;
    let theirs = WebSocketStream::from_raw_socket(theirs, Role::Server, None).await;
    (over(ours, keepalive, Unsaid::default()), theirs)
}

fn every_ten_seconds() -> Keepalive {
    Keepalive::every(Duration::from_secs(10))
}

/// Reads frames, answers pings and counts them, until no frame comes for a while.
async fn pings(service: &mut Service) -> usize {
    let mut pings = 0;
    let soon = Duration::from_millis(1);
    while let Ok(Some(Ok(message))) = timeout(soon, service.next()).await {
        pings += usize::from(message.is_ping());
    }
    pings
}

#[tokio::test(start_paused = true)]
async fn service_silent_for_three_intervals_is_dead() {
    let (mut connection, mut service) = connected(every_ten_seconds()).await;
    let begin = Instant::now();
    let lost = connection.receiver.receive().await.unwrap_err();
    assert_eq!(begin.elapsed().as_secs(), 30);
    assert_eq!(lost.code, None);
    assert_eq!(
        lost.reason,
        "nothing came for 30s, not even the answer to a ping"
    );
    assert_eq!(pings(&mut service).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_harms_nothing() {
    let (mut connection, mut service) = connected(every_ten_seconds()).await;
    let service = async {
        let mut asked = 0;
        // The service reads later than one interval after a ping, so another ping precedes the
        // first pong.
        let mut looks = interval(Duration::from_secs(25));
        for _ in 0..20 {
            looks.tick().await;
            asked += pings(&mut service).await;
        }
        assert!(asked > 20, "{asked}");
        service.send(Message::text("{}")).await.unwrap();
    };
    let (received, ()) = tokio::join!(connection.receiver.receive(), service);
    assert_eq!(received.unwrap(), "{}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_speaks_is_not_asked() {
    let (mut connection, mut service) = connected(every_ten_seconds()).await;
    for _ in 0..20 {
        service.send(Message::text("{}")).await.unwrap();
        connection.receiver.receive().await.unwrap();
        // A dropped wait loses no tick.
        for _ in 0..7 {
            let quiet = timeout(Duration::from_secs(1), connection.receiver.receive()).await;
            assert!(quiet.is_err());
        }
    }
    assert_eq!(pings(&mut service).await, 0);
}

#[tokio::test(start_paused = true)]
async fn unread_frames_count_as_signs_of_life() {
    let (mut connection, mut service) = connected(every_ten_seconds()).await;
    for _ in 0..5 {
        service.send(Message::text("{}")).await.unwrap();
        advance(Duration::from_secs(3_600)).await;
        assert_eq!(connection.receiver.receive().await.unwrap(), "{}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_keepalive_no_pings_and_no_end() {
    let (mut connection, mut service) = connected(Keepalive::off()).await;
    let hour = Duration::from_secs(3_600);
    assert!(timeout(hour, connection.receiver.receive()).await.is_err());
    assert_eq!(pings(&mut service).await, 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_writer_does_not_stop_keepalive() {
    let (mut connection, _service) = connected(every_ten_seconds()).await;
    // The message is larger than the buffer, so the writer waits while it holds the lock.
    let large = connection.sender.send("x".repeat(1 << 20));
    let (written, lost) = tokio::join!(
        timeout(Duration::from_secs(60), large),
        connection.receiver.receive()
    );
    assert!(written.is_err());
    assert!(lost.unwrap_err().reason.starts_with("nothing came"));
}

#[tokio::test(start_paused = true)]
async fn slowly_reading_service_is_not_dead() {
    let (mut connection, mut service) = connected(every_ten_seconds()).await;
    let writes = async {
        for _ in 0..40 {
            connection.sender.send("x".repeat(200 << 10)).await.unwrap();
        }
    };
    // The service answers every ping and sends nothing else.
    let listens = async {
        let mut takes = interval(Duration::from_secs(5));
        for _ in 0..40 {
            takes.tick().await;
            service.next().await.unwrap().unwrap();
        }
        service.send(Message::text("{}")).await.unwrap();
    };
    let (received, (), ()) = tokio::join!(connection.receiver.receive(), writes, listens);
    assert_eq!(received.unwrap(), "{}");
}
