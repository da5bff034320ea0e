//! Each platform and kind of authentication is reached as by the vendor's own libraries, and no
//! secret is revealed.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::SinkExt;
use recount::live::{AccessToken, ConnectError, Connector, Endpoint, Limits, Platform, TokenError};
use recount::prelude::*;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use crate::door::{Asked, Door, receive};

const KEY: &str = "test-key";
const EPHEMERAL: &str = "auth_tokens/test-token";
const TOKEN: &str = "ya29.test-token";
const MODEL: &str = "gemini-live-test";

impl Door {
    /// Answers the next client with a status only.
    async fn turn_away(&self, status: &str) {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(tokio::io::AsyncReadExt::read_u8(&mut stream).await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        // A service that repeats the request that it received.
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{head}",
            head.len()
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

/// The recorded handshakes, in the order of the file.
fn recorded() -> Vec<Asked> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/gemini-live/handshakes.jsonl"
    );
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let message = &line["message"];
        let headers = message["headers"].as_object().unwrap();
        Asked {
            path: message["path"].as_str().unwrap().to_owned(),
            headers: headers
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                .collect(),
        }
    });
    lines.collect()
}

/// The endpoints of the recorded handshakes in the same order, each with the name of its model.
fn endpoints(host: &str) -> Vec<(Endpoint, &'static str)> {
    let google_ai = || Endpoint::google_ai(KEY).base_url(host);
    let ephemeral = || Endpoint::google_ai(EPHEMERAL).base_url(host);
    let vertex = || Endpoint::vertex("test-project", "us-central1", TOKEN).base_url(host);
    let express = || Endpoint::vertex_express(KEY).base_url(host);
    let gateway = || Endpoint::url(format!("{host}/my/gateway/path")).serving(Platform::Vertex);
    let prefix = || Endpoint::google_ai(KEY).base_url(format!("{host}/prefix/"));
    let of_google_ai = "models/gemini-live-test";
    let of_project =
        "projects/test-project/locations/us-central1/publishers/google/models/gemini-live-test";
    let published = "publishers/google/models/gemini-live-test";
    vec![
        (google_ai().api_version("v1"), of_google_ai),
        (vertex(), of_project),
        (google_ai().key_in_query(), of_google_ai),
        (vertex(), of_project),
        (ephemeral().api_version("v1"), of_google_ai),
        (express(), published),
        (gateway(), published),
        (google_ai().api_version("v1alpha"), of_google_ai),
        (google_ai(), of_google_ai),
        (prefix().api_version("v1"), of_google_ai),
        (
            ephemeral().api_version("v1beta").key_in_query(),
            of_google_ai,
        ),
        (express(), published),
        (gateway(), published),
        (prefix().key_in_query(), of_google_ai),
    ]
}

#[tokio::test]
async fn url_headers_and_setup_are_those_of_the_vendors_libraries() {
    let door = Door::open().await;
    let recorded = recorded();
    let endpoints = endpoints(&door.host);
    assert_eq!(recorded.len(), endpoints.len());
    for (recorded, (endpoint, model)) in recorded.iter().zip(endpoints) {
        let service = async {
            let (asked, mut socket) = door.let_in().await;
            let setup = receive(&mut socket).await;
            socket
                .send(Message::binary(r#"{"setupComplete":{}}"#))
                .await
                .unwrap();
            (asked, setup, socket)
        };
        let connecting = Live::builder().model(MODEL).connect_with(endpoint);
        let ((asked, setup, _socket), live) = tokio::join!(service, connecting);
        live.unwrap().disconnect().await.unwrap();

        let case = &recorded.path;
        // One library joins host and path with a slash too many.
        assert_eq!(asked.path, case.replacen("//", "/", 1));
        // Compression is not offered, and the client's name differs.
        let theirs = recorded.headers.keys().map(String::as_str);
        let theirs: Vec<_> = theirs
            .filter(|name| *name != "sec-websocket-extensions")
            .collect();
        let ours = asked.headers.keys().map(String::as_str);
        let ours: Vec<_> = ours
            .filter(|name| !["host", "sec-websocket-key"].contains(name))
            .collect();
        assert_eq!(ours, theirs, "{case}");
        for (name, value) in &recorded.headers {
            let ours = asked.headers.get(name).map(String::as_str);
            let expected = match (name.as_str(), value.as_str()) {
                ("sec-websocket-extensions" | "user-agent" | "x-goog-api-client", _) => continue,
                ("authorization", "<redacted:Bearer>") => "Bearer ya29.test-token",
                ("authorization", "<redacted:Token>") => "Token auth_tokens/test-token",
                ("x-goog-api-key", _) if case.contains("Constrained") => EPHEMERAL,
                ("x-goog-api-key", _) => KEY,
                (_, value) => value,
            };
            let same = ours.is_some_and(|it| it.eq_ignore_ascii_case(expected));
            assert!(same, "{case}: {name}: {ours:?}");
        }
        let expected = json!({"setup": {
            "model": model,
            "generationConfig": {"responseModalities": ["TEXT"]},
            // The libraries ask for no handles by default; a session that outlives its connection
            // always does.
            "sessionResumption": {},
        }});
        assert_eq!(setup, expected, "{case}");
    }
}

/// Both of the vendor's libraries send this program's simplest setup.
#[test]
fn the_simplest_setup_is_on_record_from_the_vendors_libraries() {
    for (file, model) in [
        ("client_python_google_ai", "models/gemini-live-test"),
        ("client_js_google_ai", "models/gemini-live-test"),
        (
            "client_js_vertex",
            "projects/test-project/locations/us-central1/publishers/google/models/gemini-live-test",
        ),
    ] {
        let path = format!(
            "{}/fixtures/gemini-live/{file}.jsonl",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = fs::read_to_string(path).unwrap();
        let expected = json!({"setup": {
            "model": model,
            "generationConfig": {"responseModalities": ["TEXT"]},
        }});
        let mut frames = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let found = frames.find(|frame| frame["case"] == "setup.text_modality");
        assert_eq!(found.unwrap()["message"], expected, "{file}");
    }
}

#[test]
fn each_platform_has_its_hosts() {
    let of = |endpoint: Endpoint| endpoint.endpoint();
    assert_eq!(
        of(Endpoint::google_ai(KEY)),
        "wss://generativelanguage.googleapis.com"
    );
    assert_eq!(
        of(Endpoint::vertex("p", "europe-west4", TOKEN)),
        "wss://europe-west4-aiplatform.googleapis.com"
    );
    for global in [
        Endpoint::vertex("p", "global", TOKEN),
        Endpoint::vertex_express(KEY),
    ] {
        assert_eq!(of(global), "wss://aiplatform.googleapis.com");
    }
}

#[test]
fn a_model_is_named_as_the_vendors_libraries_name_it() {
    let google_ai = Endpoint::google_ai(KEY);
    let vertex = Endpoint::vertex("p", "l", TOKEN);
    let cases = [
        (
            "m",
            "models/m",
            "projects/p/locations/l/publishers/google/models/m",
        ),
        ("models/m", "models/m", "models/m"),
        (
            "tunedModels/m",
            "tunedModels/m",
            "projects/p/locations/l/publishers/tunedModels/models/m",
        ),
        (
            "publishers/google/models/m",
            "models/publishers/google/models/m",
            "projects/p/locations/l/publishers/google/models/m",
        ),
        (
            "google/m",
            "models/google/m",
            "projects/p/locations/l/publishers/google/models/m",
        ),
        (
            "projects/p/locations/l/publishers/google/models/m",
            "models/projects/p/locations/l/publishers/google/models/m",
            "projects/p/locations/l/publishers/google/models/m",
        ),
    ];
    for (named, on_google_ai, on_vertex) in cases {
        assert_eq!(google_ai.model_name(named), on_google_ai);
        assert_eq!(vertex.model_name(named), on_vertex);
    }
    let gateway = Endpoint::url("wss://gateway.example/x");
    assert_eq!(
        gateway.model_name("publishers/a/models/m"),
        "publishers/a/models/m"
    );
    assert_eq!(gateway.model_name("m"), "models/m");
}

/// A token source that returns `token-1`, then `token-2`, and so on.
fn counting(asked: &Arc<AtomicU32>) -> impl recount::live::TokenSource {
    let asked = asked.clone();
    move || {
        let n = asked.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            let token = AccessToken::new(format!("token-{n}"));
            Ok::<_, TokenError>(token.lasting(Duration::from_secs(3600)))
        }
    }
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_then_kept() {
    let door = Door::open().await;
    let asked = Arc::new(AtomicU32::new(0));
    let endpoint = Endpoint::vertex("p", "l", counting(&asked)).base_url(&door.host);
    let service = async {
        door.turn_away("401 Unauthorized").await;
        let renewed = door.let_in().await;
        let kept = door.let_in().await;
        [renewed, kept].map(|(asked, _socket)| asked.headers["authorization"].clone())
    };
    let client = async {
        endpoint.connect().await.unwrap();
        endpoint.connect().await.unwrap();
    };
    let (shown, ()) = tokio::join!(service, client);
    assert_eq!(shown, ["Bearer token-2", "Bearer token-2"]);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_token_that_is_refused_twice_or_has_no_other_is_given_up() {
    for (times, endpoint) in [
        (2, Endpoint::vertex("p", "l", counting(&Arc::default()))),
        (1, Endpoint::vertex("p", "l", TOKEN)),
        // Another status says nothing about the token.
        (0, Endpoint::vertex("p", "l", counting(&Arc::default()))),
    ] {
        let door = Door::open().await;
        let endpoint = endpoint.base_url(&door.host);
        let service = async {
            for _ in 0..times {
                door.turn_away("401 Unauthorized").await;
            }
            if times == 0 {
                door.turn_away("403 Forbidden").await;
            }
        };
        let ((), connected) = tokio::join!(service, endpoint.connect());
        let error = connected.err().unwrap();
        assert!(
            matches!(
                error,
                ConnectError::HandshakeRefused {
                    status: 401 | 403,
                    ..
                }
            ),
            "{error}"
        );
    }
}

/// No secret is revealed, however it was set and however the peer repeats it.
#[tokio::test]
async fn no_secret_stands_in_what_is_shown_and_told() {
    let door = Door::open().await;
    let host = &door.host;
    let endpoints = [
        Endpoint::google_ai("very secret").base_url(host),
        Endpoint::google_ai("very-secret")
            .base_url(host)
            .key_in_query(),
        Endpoint::google_ai("auth_tokens/very-secret").base_url(host),
        Endpoint::google_ai("auth_tokens/very-secret")
            .base_url(host)
            .key_in_query(),
        Endpoint::vertex("p", "l", "very-secret").base_url(host),
        Endpoint::vertex("p", "l", AccessToken::new("very-secret")).base_url(host),
        Endpoint::vertex_express("very-secret").base_url(host),
        Endpoint::url(format!("{host}/x?token=very-secret")),
        Endpoint::url(host).header("authorization", "Bearer very-secret"),
    ];
    for endpoint in endpoints {
        let shown = format!("{endpoint:?} {}", endpoint.endpoint());
        assert!(!shown.contains("secret"), "{shown}");

        let ((), refused) = tokio::join!(door.turn_away("404 Not Found"), endpoint.connect());
        let error = refused.err().unwrap();
        let told = format!("{error} {error:?}");
        assert!(!told.contains("secret"), "{told}");

        let closing = async {
            let (asked, mut socket) = door.let_in().await;
            let mut repeated = format!("{} {:?}", asked.path, asked.headers);
            if let Some(at) = repeated.find("secret") {
                repeated = repeated.split_off(at.saturating_sub(20));
            }
            repeated.truncate(100);
            assert!(repeated.contains("secret"), "{repeated}");
            let frame = CloseFrame {
                code: 1008.into(),
                reason: repeated.into(),
            };
            socket.close(Some(frame)).await.unwrap();
        };
        let ((), connected) = tokio::join!(closing, endpoint.connect());
        let lost = connected.unwrap().receiver.receive().await.unwrap_err();
        assert_eq!(lost.code, Some(1008));
        assert!(!lost.to_string().contains("secret"), "{lost}");
    }
}

#[tokio::test]
async fn invalid_endpoint_is_rejected_before_connecting() {
    let far = "ws://service.example";
    for (endpoint, problem) in [
        (Endpoint::google_ai(KEY).base_url(far), "over wss:// only"),
        (
            Endpoint::vertex("p", "l", TOKEN).base_url(far),
            "over wss:// only",
        ),
        (
            Endpoint::vertex("p", "evil.example/", TOKEN),
            "expected a location",
        ),
        (
            Endpoint::vertex("", "global", TOKEN),
            "expected the id of a project",
        ),
        (Endpoint::google_ai(" "), "its key is empty"),
        (Endpoint::google_ai("two\nlines"), "no header can carry"),
        (
            Endpoint::google_ai(KEY).api_version("v1/../x"),
            "expected an API version",
        ),
        (Endpoint::url("not a URL"), "begins with ws:// or wss://"),
        (Endpoint::url("https://x.example"), "found \"https\""),
        (Endpoint::url("wss://two words"), "its URL cannot be used"),
        (
            Endpoint::url("wss://x.example").header("no name", ""),
            "no header can have the name",
        ),
    ] {
        let error = endpoint.connect().await.err().unwrap();
        assert!(
            matches!(error, ConnectError::Misconfigured { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(problem), "{error}");
    }
    let several = Endpoint::vertex("", "evil.example/", TOKEN).header("no name", "");
    assert_eq!(several.mistakes().len(), 3, "{:?}", several.mistakes());
    let failing = || async { Err::<AccessToken, _>(TokenError::new("the vault is shut")) };
    let error = Endpoint::vertex("p", "l", failing)
        .connect()
        .await
        .err()
        .unwrap();
    assert!(matches!(error, ConnectError::NoToken { .. }), "{error:?}");
}

#[tokio::test]
async fn message_or_frame_above_limit_ends_connection_with_reason() {
    let door = Door::open().await;
    for limits in [
        Limits {
            message_bytes_max: 1000,
            ..Limits::default()
        },
        Limits {
            frame_bytes_max: 1000,
            ..Limits::default()
        },
    ] {
        let endpoint = Endpoint::url(&door.host).limits(limits);
        let service = async {
            let (_, mut socket) = door.let_in().await;
            socket
                .send(Message::binary("x".repeat(1000)))
                .await
                .unwrap();
            socket.send(Message::text("x".repeat(1001))).await.unwrap();
            socket
        };
        let (_socket, connected) = tokio::join!(service, endpoint.connect());
        let mut receiver = connected.unwrap().receiver;
        assert_eq!(receiver.receive().await.unwrap().len(), 1000);
        let lost = receiver.receive().await.unwrap_err();
        assert_eq!(
            lost.to_string(),
            "the connection was lost with code 1009: a message of 1001 bytes, the limit is 1000"
        );
    }
}
