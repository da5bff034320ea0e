//! Access to a running service, and the files of a killed one.

use std::fs;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use recount::Engine;
use recount::control::{Client, ConnectError, Request};
use recount::session::{Event, Observation, Seq};
use recount_journal::DiskJournal;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::program::Bench;
use crate::service::{Service, runtime};

type Socket = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

/// Connects with these headers. `TOKEN` in a value is replaced by the token.
async fn knock(bench: &Bench, headers: &[(&'static str, &str)]) -> Result<Socket, Box<Error>> {
    let control = fs::read_to_string(bench.path("j/CONTROL")).unwrap();
    let control: serde_json::Value = serde_json::from_str(&control).unwrap();
    let token = control["token"].as_str().unwrap();
    let url = format!("ws://{}/", control["address"].as_str().unwrap());
    let mut request = url.into_client_request().unwrap();
    for (name, value) in headers {
        let value = value.replace("TOKEN", token);
        request.headers_mut().append(*name, value.parse().unwrap());
    }
    connect_async(request)
        .await
        .map(|(socket, _)| socket)
        .map_err(Box::new)
}

async fn ask(socket: &mut Socket, text: &str) -> String {
    socket.send(Message::text(text)).await.unwrap();
    socket.next().await.unwrap().unwrap().to_string()
}

#[test]
fn only_clients_with_the_token_and_no_origin_connect() {
    let service = Service::start();
    service.runtime.block_on(async {
        let right = ("authorization", "Bearer TOKEN");
        let refused: [(&[(&str, &str)], u16); 6] = [
            (&[], 401),
            (&[("authorization", "Bearer 0")], 401),
            (&[("authorization", "TOKEN")], 401),
            (&[right, right], 401),
            (&[right, ("origin", "http://127.0.0.1")], 403),
            (&[right, ("origin", "null")], 403),
        ];
        for (headers, expected) in refused {
            match knock(&service.bench, headers).await.map_err(|it| *it) {
                Err(Error::Http(answer)) => {
                    assert_eq!(answer.status().as_u16(), expected, "{headers:?}");
                }
                other => panic!("expected {expected} for {headers:?}, found {other:?}"),
            }
        }
        let mut socket = knock(&service.bench, &[right]).await.unwrap();
        assert_eq!(
            ask(&mut socket, r#"{"pending":{}}"#).await,
            r#"{"done":{}}"#
        );
    });
    service.shut_down();
}

#[test]
fn malformed_answers_are_refused_and_recorded() {
    let mut service = Service::start();
    let request = service.ask_for("refund");
    let nonsense = [
        "{}",
        r#""yes""#,
        "1",
        "null",
        r#"{"confirmed":"yes"}"#,
        r#"{"approved":true}"#,
        r#"{"confirmed":false,"confirmed":true}"#,
    ];
    service.runtime.block_on(async {
        let right = ("authorization", "Bearer TOKEN");
        let mut socket = knock(&service.bench, &[right]).await.unwrap();
        for answer in nonsense {
            let answer = format!(r#"{{"answer":{{"request":"{request}","answer":{answer}}}}}"#);
            let said = ask(&mut socket, &answer).await;
            let refused = r#"{"refused":{"code":"malformed_answer""#;
            assert!(said.starts_with(refused), "{answer}: {said}");
        }
        let waiting = service.engine.pending().await.unwrap();
        assert_eq!(waiting.len(), 1, "it stays open");
        let facts = service.engine.ledger();
        let facts = facts.facts(waiting[0].session, Seq(1), 1_000).await;
        let refusals = facts
            .unwrap()
            .into_iter()
            .filter_map(|fact| match fact.event {
                Event::Observed(Observation::AnswerRefused(it)) => Some(it.refusal),
                Event::Observed(_) | Event::Decided(_) => None,
            });
        assert_eq!(
            refusals.collect::<Vec<_>>(),
            vec!["malformed_answer"; nonsense.len()]
        );
        let right =
            format!(r#"{{"answer":{{"request":"{request}","answer":{{"confirmed":true}}}}}}"#);
        assert!(ask(&mut socket, &right).await.starts_with(r#"{"done":"#));
    });
    service.until_answered();
    assert_eq!(service.refunds(), 1);
    service.shut_down();
}

#[test]
fn malformed_message_does_not_end_the_connection() {
    let service = Service::start();
    service.runtime.block_on(async {
        let right = ("authorization", "Bearer TOKEN");
        let mut socket = knock(&service.bench, &[right]).await.unwrap();
        let session = service.session();
        let answer =
            |answer: &str| format!(r#"{{"answer":{{"request":"{session}","answer":{answer}}}}}"#);
        let respond = |ticket: &str, response: &str| {
            format!(r#"{{"respond":{{"ticket":{ticket},"response":{response}}}}}"#)
        };
        let by = r#"{"name":"ada","authenticated_by":"embedder"}"#;
        let confirmed = r#""answer":{"confirmed":true}"#;
        let forged = format!(r#"{{"answer":{{"request":"{session}",{confirmed},"by":{by}}}}}"#);
        let vague = answer(r#"{"confirmed":"yes"}"#);
        let unknown = answer(r#"{"confirmed":true}"#);
        let members = format!(r#""session":"{session}","call":1,"tool":"pay""#);
        let named_twice = respond(&format!(r#"{{{members},"id":"{session}"}}"#), "{}");
        let listed = respond(&format!(r#"["{session}",1,"pay"]"#), "{}");
        let nested = format!("{}1{}", "[".repeat(70), "]".repeat(70));
        let deep = respond(&format!("{{{members}}}"), &nested);
        for (message, code) in [
            ("{", "bad_request"),
            ("[]", "bad_request"),
            (r#"{"pending":[]}"#, "bad_request"),
            (&named_twice, "bad_request"),
            (&listed, "bad_request"),
            (&forged, "bad_request"),
            (&vague, "unknown_request"),
            (&unknown, "unknown_request"),
            (&deep, "bad_json"),
            (
                r#"{"log":{"session":"00000000-0000-0000-0000-000000000001"}}"#,
                "unknown_session",
            ),
        ] {
            let said = ask(&mut socket, message).await;
            let refused = format!(r#"{{"error":{{"code":"{code}""#);
            assert!(said.starts_with(&refused), "{message}: {said}");
        }
        assert_eq!(
            ask(&mut socket, r#"{"pending":{}}"#).await,
            r#"{"done":{}}"#
        );
        // A message over the limit ends the connection, and nothing else.
        let large = format!(r#"{{"pending":{{"x":"{}"}}}}"#, "x".repeat(5 << 20));
        let _ = socket.send(Message::text(large)).await;
        let ends = |next: &Option<Result<Message, Error>>| {
            matches!(next, None | Some(Ok(Message::Close(_)) | Err(_)))
        };
        let next = socket.next().await;
        assert!(ends(&next), "{next:?}");
        let mut socket = knock(&service.bench, &[right]).await.unwrap();
        assert_eq!(
            ask(&mut socket, r#"{"pending":{}}"#).await,
            r#"{"done":{}}"#
        );
    });
    service.shut_down();
}

#[test]
#[cfg(unix)]
fn token_that_others_can_read_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let service = Service::start();
    let token = service.bench.path("j/CONTROL");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&token), 0o600);
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    service
        .run("pending j")
        .fails(1, "control-token")
        .prints_error(&["j/CONTROL", "mode is 644", "restart the service"]);
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let offered = fs::read_to_string(&token).unwrap();
    let mut other: serde_json::Value = serde_json::from_str(&offered).unwrap();
    other["token"] = "0".repeat(64).into();
    fs::write(&token, other.to_string()).unwrap();
    service
        .run("pending j")
        .fails(1, "control")
        .prints_error(&[&format!("process {}", std::process::id()), "401"]);
    fs::write(&token, "x".repeat(5000)).unwrap();
    service
        .run("pending j")
        .fails(1, "control")
        .prints_error(&["4096 bytes at most"]);
    fs::remove_file(&token).unwrap();
    service.run("pending j").fails(1, "journal-in-use");
    service.shut_down();
}

#[test]
fn files_of_a_killed_service_are_replaced() {
    let bench = Bench::new();
    bench.write(
        "t.toml",
        "[[tool]]\nname = \"refund\"\ndescription = \"r\"\ncommand = [\"true\"]\nconfirm = \"?\"\n",
    );
    let script =
        r#"{"on": {"text": "please"}, "send": [{"call": [{"id": "r", "name": "refund"}]}]}"#;
    let (_simulator, url) = bench.simulate(script);
    let mut serving = bench.start(&format!(
        "run --tools t.toml --endpoint {url} --journal j --text please"
    ));
    serving.until("sent to the model: refund");
    let pid = serving.id();
    let request = bench.run("pending j --json").ends_with(0).json_lines();
    let request = request[0]["request"].as_str().unwrap();
    let backup = bench.run("backup j beside").ends_with(0);
    drop(backup);
    serving.kill();
    let stale = fs::read_to_string(bench.path("j/CONTROL")).unwrap();
    assert!(stale.contains(&format!("\"pid\":{pid}")), "{stale}");

    // A process that is no service has the journal open now.
    let held = DiskJournal::open_existing(bench.path("j")).unwrap();
    bench
        .run("pending j")
        .fails(1, "journal-in-use")
        .prints_error(&[&format!("process {pid}"), "no process answers", "CONTROL"]);
    drop(held);

    for command in [
        "verify j",
        "backup j copy",
        "export j --out j.jsonl",
        "compact j",
        "repair j",
        "replay j",
    ] {
        bench.run(command).ends_with(0);
    }
    bench.run("verify copy").ends_with(0);
    assert!(!bench.path("copy/CONTROL").exists());
    bench
        .run(&format!("approve j {request}"))
        .ends_with(0)
        .prints(&["starts when a process serves the session again"]);

    let runtime = runtime();
    let engine = Engine::builder(bench.path("j")).open();
    let engine = runtime.block_on(engine).unwrap();
    let fresh = fs::read_to_string(bench.path("j/CONTROL")).unwrap();
    assert!(fresh.contains(&format!("\"pid\":{}", std::process::id())));
    bench.run("sessions j").ends_with(0);
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    assert!(!bench.path("j/CONTROL").exists());
}

#[test]
fn second_engine_does_not_disturb_the_first() {
    let service = Service::start();
    let control = || fs::read_to_string(service.bench.path("j/CONTROL")).unwrap();
    let before = control();
    let second = Engine::builder(service.bench.path("j")).open();
    assert!(service.runtime.block_on(second).is_err());
    assert_eq!(control(), before);
    service.run("pending j").ends_with(0);
    service.shut_down();
}

#[test]
fn command_for_unknown_session_is_refused() {
    use recount::session::{Actor, Seq, SessionId};
    let service = Service::start();
    // 0 is the stream of the journal itself, which has records and is no session either.
    for number in [7, 0] {
        let session = SessionId(uuid::Uuid::from_u128(number));
        let cancelled = service
            .engine
            .cancel(session, Seq(1), None, Actor::embedder("ada"));
        let error = service.runtime.block_on(cancelled).unwrap_err();
        let told = format!("{error:?}");
        assert!(told.contains("UnknownSession"), "{told}");
    }
    service.shut_down();
}

/// The trace has the kinds of records and the starts of tools, never their content.
#[test]
fn trace_has_no_content() {
    let bench = Bench::new();
    let demo = bench
        .command("demo --approve --journal demo")
        .env("RECOUNT_LOG", "trace")
        .output()
        .unwrap();
    let told = String::from_utf8(demo.stderr).unwrap();
    for words in [
        "batch appended",
        "tool starts",
        "session_opened",
        "connected",
    ] {
        assert!(told.contains(words), "expected {words:?} in {told}");
    }
    assert!(!told.contains("amount_cents"), "{told}");
    // The ids of the session's OpenTelemetry span stand beside the session.
    let trace_id = bench.session("demo").replace('-', "");
    assert!(
        told.contains(&format!("trace_id={trace_id} span_id=")),
        "{told}"
    );
}

#[test]
fn engine_without_control_leaves_the_journal_in_use() {
    let bench = Bench::new();
    let runtime = runtime();
    let open = || Engine::builder(bench.path("j")).without_control().open();
    let engine = runtime.block_on(open()).unwrap();
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    bench.write("j/CONTROL", "what a killed service left");
    let engine = runtime.block_on(open()).unwrap();
    assert!(!bench.path("j/CONTROL").exists());
    for command in ["pending j", "approve j abcd", "log j abcd", "sessions j"] {
        bench.run(command).fails(1, "journal-in-use");
    }
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
}

#[test]
fn dropped_engine_closes_journal_and_connections() {
    let bench = Bench::new();
    let runtime = runtime();
    let open = || {
        runtime.block_on(
            Engine::builder(bench.path("j"))
                .wait(Duration::from_secs(20))
                .open(),
        )
    };
    let engine = open().unwrap();
    let followed = async {
        let mut client = Client::connect(&bench.path("j")).await.unwrap();
        client.ask(&Request::Pending {}).await.unwrap();
        client
    };
    let mut client = runtime.block_on(followed);
    drop(engine);
    // The request in flight may still hold the engine.
    while bench.path("j/CONTROL").exists() {
        runtime.block_on(tokio::task::yield_now());
    }
    let gone = runtime.block_on(Client::connect(&bench.path("j")));
    assert!(matches!(gone, Err(ConnectError::NotOffered)));
    // Messages in flight arrive, and then the end.
    while runtime.block_on(client.next()).is_ok() {}
    let engine = open().unwrap();
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
}
