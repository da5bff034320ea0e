#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::handshake::server::{Request as Handshake, Response};

use super::*;
use crate::control::Server;
use crate::control::server::Handler;

fn handler() -> Handler {
    Arc::new(|_, _| Box::pin(async { Reply::done(&1) }))
}

#[tokio::test]
async fn replaced_service_keeps_its_token_secret() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let first = Server::start(place, handler()).unwrap();
    // The client has read the control file.
    let seen = Offer::read(place).unwrap();
    first.end().await;
    // Another program binds the address of the stopped service, and a new service starts.
    let thief = TcpListener::bind(seen.address.address).await.unwrap();
    let second = Server::start(place, handler()).unwrap();
    assert_ne!(second.address().address, seen.address.address);
    // The client connects.
    let operator = tokio::spawn(Client::take(seen.clone()));
    let (mut stream, _) = thief.accept().await.unwrap();
    let mut shown = vec![0; 4096];
    let read = stream.read(&mut shown).await.unwrap();
    shown.truncate(read);
    let shown = String::from_utf8_lossy(&shown).into_owned();
    operator.abort();
    assert!(shown.contains(&seen.token.shown()), "{shown}");
    let current = Offer::read(place).unwrap();
    for secret in [
        serde_json::to_string(&current.token),
        serde_json::to_string(&current.proof),
        serde_json::to_string(&seen.proof),
    ] {
        let secret = secret.unwrap();
        assert!(!shown.contains(secret.trim_matches('"')), "{shown}");
    }
    // The captured token is not valid at the new service.
    let taken = Offer {
        address: current.address.clone(),
        ..seen
    };
    let refused = Client::take(taken).await.unwrap_err().to_string();
    assert!(refused.contains("401"), "{refused}");
    second.end().await;
}

#[tokio::test]
async fn start_removes_old_files_before_it_listens() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let killed = Offer::of_this_process("127.0.0.1:4711".parse().unwrap());
    killed.write(place).unwrap();
    fs::write(place.join("CONTROL.token"), "of an older version").unwrap();
    // This directory makes the start fail after it has removed the old files.
    fs::create_dir(place.join("CONTROL.new")).unwrap();
    assert!(Server::start(place, handler()).is_err());
    assert!(matches!(
        Client::connect(place).await,
        Err(ConnectError::NotOffered)
    ));
}

/// Listens as a service that proves its identity, or does not.
async fn false_service(place: &Path, proves: bool) -> (TcpListener, Offer) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let offer = Offer::of_this_process(listener.local_addr().unwrap());
    offer.write(place).unwrap();
    let mut offer = offer;
    if !proves {
        offer.proof = crate::control::token::Proof::random();
    }
    (listener, offer)
}

/// Accepts one connection.
#[expect(
    clippy::result_large_err,
    reason = "the library wants this type of a handshake callback"
)]
async fn let_in(listener: TcpListener, offer: Offer) -> WebSocketStream<TcpStream> {
    let (stream, _) = listener.accept().await.unwrap();
    let inspect = |handshake: &Handshake, mut response: Response| {
        let key = handshake.headers().get(SEC_WEBSOCKET_KEY).unwrap();
        let proof = offer.proof.shown_for(key.as_bytes());
        let proof = HeaderValue::try_from(proof).unwrap();
        response.headers_mut().insert(PROOF_HEADER, proof);
        Ok(response)
    };
    tokio_tungstenite::accept_hdr_async(stream, inspect)
        .await
        .unwrap()
}

#[tokio::test]
async fn unproven_service_gets_no_request() {
    let directory = tempfile::tempdir().unwrap();
    let (listener, offer) = false_service(directory.path(), false).await;
    let serving = tokio::spawn(let_in(listener, offer));
    let refused = Client::connect(directory.path()).await;
    assert!(
        matches!(refused, Err(ConnectError::Unproven(_))),
        "{refused:?}"
    );
    let next = serving.await.unwrap().next().await;
    assert!(matches!(next, None | Some(Err(_))), "{next:?}");
}

#[tokio::test]
async fn a_service_that_only_pings_is_lost_after_a_while() {
    let directory = tempfile::tempdir().unwrap();
    let (listener, offer) = false_service(directory.path(), true).await;
    let serving = tokio::spawn(let_in(listener, offer));
    let mut client = Client::connect(directory.path()).await.unwrap();
    let mut socket = serving.await.unwrap();
    tokio::time::pause();
    let pinging = tokio::spawn(async move {
        let mut often = tokio::time::interval(Duration::from_secs(1));
        loop {
            often.tick().await;
            let ping = Message::Ping(Vec::new().into());
            if socket.send(ping).await.is_err() {
                return;
            }
        }
    });
    let asked = client.done(&Request::Pending {});
    let asked = tokio::time::timeout(Duration::from_secs(3600), asked).await;
    let Ok(Err(Unanswered::Lost(why))) = asked else {
        unreachable!("{asked:?}")
    };
    assert_eq!(why, "it said nothing for 60 s");
    pinging.abort();
}

#[tokio::test]
async fn a_followed_log_may_be_silent() {
    let directory = tempfile::tempdir().unwrap();
    let (listener, offer) = false_service(directory.path(), true).await;
    let serving = tokio::spawn(let_in(listener, offer));
    let mut client = Client::connect(directory.path()).await.unwrap();
    let mut socket = serving.await.unwrap();
    let log = Request::Log {
        session: crate::session::SessionId(uuid::Uuid::nil()),
        from: crate::session::Seq(1),
        follow: true,
    };
    client.ask(&log).await.unwrap();
    socket.next().await.unwrap().unwrap();
    tokio::time::pause();
    let silent = tokio::time::timeout(Duration::from_secs(3600), client.next()).await;
    assert!(silent.is_err(), "{silent:?}");
    tokio::time::resume();
    socket.send(Message::text(r#"{"item":1}"#)).await.unwrap();
    assert!(matches!(client.next().await, Ok(Answered::Item(_))));
}

#[tokio::test]
async fn a_question_that_is_too_large_is_not_asked() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), handler()).unwrap();
    let mut client = Client::connect(directory.path()).await.unwrap();
    let answer = format!("\"{}\"", "x".repeat(5_000_000));
    let large = Request::Answer {
        request: crate::session::RequestId(uuid::Uuid::nil()),
        answer: RawValue::from_string(answer).unwrap(),
        claimed: None,
    };
    let refused = client.done(&large).await;
    assert!(
        matches!(refused, Err(Unanswered::TooLarge { bytes, .. }) if bytes > 5_000_000),
        "{refused:?}"
    );
    assert!(client.done(&Request::Pending {}).await.is_ok());
    server.end().await;
}
