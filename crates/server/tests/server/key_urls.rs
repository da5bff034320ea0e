//! The keys of an issuer from files and URLs, over real sockets.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use recount_server::{KeyFile, KeySource, KeyUrl};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::issuer::{SigningKey, set_of};

const CA: &[u8] = include_bytes!("../../../cli/tests/tls/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../../cli/tests/tls/certificate.pem");
const KEY: &[u8] = include_bytes!("../../../cli/tests/tls/key.pem");

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(tokio::spawn(axum::serve(listener, router).into_future()));
    address
}

async fn fetch(url: &str) -> Result<String, String> {
    let fetched = KeyUrl::parse(url).unwrap().fetch().await;
    fetched.map_err(|error| error.to_string())
}

#[tokio::test]
async fn keys_come_over_http_of_this_machine() {
    let set = set_of(&[&SigningKey::p256("one")]);
    let served = set.clone();
    let router = Router::new()
        .route("/jwks", get(|| async move { served }))
        .route("/moved", get(|| async { Redirect::temporary("/jwks") }))
        .route("/large", get(|| async { "x".repeat(1 << 20) }))
        .route(
            "/down",
            get(|| async { StatusCode::BAD_GATEWAY.into_response() }),
        );
    let address = serve(router).await;
    assert_eq!(
        fetch(&format!("http://{address}/jwks?a=b")).await,
        Ok(set.clone())
    );
    let port = address.port();
    assert_eq!(
        fetch(&format!("http://localhost:{port}/jwks")).await,
        Ok(set)
    );
    for (path, what) in [
        ("moved", "found 307"),
        ("down", "found 502"),
        ("gone", "found 404"),
        ("large", "length limit exceeded"),
    ] {
        let error = fetch(&format!("http://{address}/{path}"))
            .await
            .unwrap_err();
        assert!(error.contains(what), "{error}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    assert!(fetch(&format!("http://{address}/jwks")).await.is_err());
}

/// The time stands still, and goes to the next deadline when every task waits.
#[tokio::test(start_paused = true)]
async fn issuer_that_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let begun = tokio::time::Instant::now();
    let error = fetch(&format!("http://{address}/jwks")).await.unwrap_err();
    assert!(error.contains("too long"), "{error}");
    assert_eq!(begun.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn keys_come_over_tls_from_a_trusted_name() {
    let address = encrypted("{\"keys\":[]}").await;
    let url = |host: &str| KeyUrl::parse(&format!("https://{host}:{}/jwks", address.port()));
    let trusting = |host| url(host).unwrap().with_authorities(CA).unwrap();
    let fetched = trusting("localhost").fetch().await.unwrap();
    assert_eq!(fetched, "{\"keys\":[]}");
    assert!(trusting("127.0.0.1").fetch().await.is_ok());
    let untrusted = url("localhost").unwrap().fetch().await.unwrap_err();
    assert!(untrusted.to_string().contains("certificate"), "{untrusted}");
    let unfit = url("localhost").unwrap().with_authorities(b"none");
    assert!(unfit.is_err());
}

/// A server that answers each request with the text, over TLS.
async fn encrypted(text: &'static str) -> SocketAddr {
    let chain = CertificateDer::pem_slice_iter(CERTIFICATE).collect::<Result<_, _>>();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.unwrap(), key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that does not trust the certificate ends the handshake.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let length = text.len();
            let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{text}");
            stream.write_all(response.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    };
    drop(tokio::spawn(serving));
    address
}

#[tokio::test]
async fn keys_come_from_a_file_as_it_is_now() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("jwks.json");
    let file = KeyFile::new(&path);
    assert!(file.fetch().await.is_err());
    for text in ["one", "two"] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(file.fetch().await.unwrap(), text);
    }
    std::fs::write(&path, "x".repeat(1 << 20)).unwrap();
    let error = file.fetch().await.unwrap_err().to_string();
    assert!(
        error.contains("jwks.json") && !error.contains("xxx"),
        "{error}"
    );
}
