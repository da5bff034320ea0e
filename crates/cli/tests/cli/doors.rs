//! Who gets at a running service and who does not, and what is left of one that was killed.

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

/// Knocks with these headers; the token stands for `TOKEN`.
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
fn only_whoever_shows_the_token_and_is_no_web_page_is_let_in() {
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
fn nonsense_is_neither_consent_nor_denial_and_is_refused_on_record() {
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
fn a_message_that_is_none_is_refused_and_the_next_one_is_taken() {
    let service = Service::start();
    service.runtime.block_on(async {
        let right = ("authorization", "Bearer TOKEN");
        let mut socket = knock(&service.bench, &[right]).await.unwrap();
        let nobody = service.session();
        let forged = format!(
            r#"{{"answer":{{"request":"{nobody}","answer":{{"confirmed":true}},"by":{{"name":"ada","authenticated_by":"embedder"}}}}}}"#
        );
        let vague = format!(r#"{{"answer":{{"request":"{nobody}","answer":{{"confirmed":"yes"}}}}}}"#);
        let unknown = format!(r#"{{"answer":{{"request":"{nobody}","answer":{{"confirmed":true}}}}}}"#);
        let named_twice = format!(r#"{{"respond":{{"ticket":{{"session":"{nobody}","call":1,"tool":"pay","id":"{nobody}"}},"response":{{}}}}}}"#);
        let listed = format!(r#"{{"respond":{{"ticket":["{nobody}",1,"pay"],"response":{{}}}}}}"#);
        let deep = format!(r#"{{"respond":{{"ticket":{{"session":"{nobody}","call":1,"tool":"pay"}},"response":{}1{}}}}}"#,
            "[".repeat(70), "]".repeat(70));
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
            (r#"{"log":{"session":"00000000-0000-0000-0000-000000000001"}}"#, "unknown_session"),
        ] {
            let said = ask(&mut socket, message).await;
            assert!(said.starts_with(&format!(r#"{{"error":{{"code":"{code}""#)), "{message}: {said}");
        }
        assert_eq!(ask(&mut socket, r#"{"pending":{}}"#).await, r#"{"done":{}}"#);
        // More than any answer takes ends the connection, and nothing else.
        let large = format!(r#"{{"pending":{{"x":"{}"}}}}"#, "x".repeat(5 << 20));
        let _ = socket.send(Message::text(large)).await;
        let ends = |next: &Option<Result<Message, Error>>| {
            matches!(next, None | Some(Ok(Message::Close(_)) | Err(_)))
        };
        let next = socket.next().await;
        assert!(ends(&next), "{next:?}");
        let mut socket = knock(&service.bench, &[right]).await.unwrap();
        assert_eq!(ask(&mut socket, r#"{"pending":{}}"#).await, r#"{"done":{}}"#);
    });
    service.shut_down();
}

#[test]
#[cfg(unix)]
fn a_token_that_others_can_read_opens_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let service = Service::start();
    let token = service.bench.path("j/CONTROL");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&token), 0o600);
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    service
        .run("pending j")
        .fails(1, "control-token")
        .complains(&["j/CONTROL", "mode is 644", "restart the service"]);
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let offered = fs::read_to_string(&token).unwrap();
    let mut other: serde_json::Value = serde_json::from_str(&offered).unwrap();
    other["token"] = "0".repeat(64).into();
    fs::write(&token, other.to_string()).unwrap();
    service
        .run("pending j")
        .fails(1, "control")
        .complains(&[&format!("process {}", std::process::id()), "401"]);
    fs::write(&token, "x".repeat(5000)).unwrap();
    service
        .run("pending j")
        .fails(1, "control")
        .complains(&["4096 bytes at most"]);
    fs::remove_file(&token).unwrap();
    service.run("pending j").fails(1, "journal-in-use");
    service.shut_down();
}

#[test]
fn a_killed_service_leaves_files_that_mean_nothing_and_are_replaced() {
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
    serving.until("told the model about refund");
    let pid = serving.id();
    let request = bench.run("pending j --json").ends_with(0).json_lines();
    let request = request[0]["request"].as_str().unwrap();
    let backup = bench.run("backup j beside").ends_with(0);
    drop(backup);
    serving.kill();
    let stale = fs::read_to_string(bench.path("j/CONTROL")).unwrap();
    assert!(stale.contains(&format!("\"pid\":{pid}")), "{stale}");

    // Somebody who offers nothing has the journal open now.
    let held = DiskJournal::open_existing(bench.path("j")).unwrap();
    bench
        .run("pending j")
        .fails(1, "journal-in-use")
        .complains(&[&format!("process {pid}"), "nobody answers", "CONTROL"]);
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
        .says(&["starts with the next process"]);

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
fn two_engines_never_share_a_journal_and_the_second_disturbs_nobody() {
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
fn command_for_unknown_session_says_unknown_session() {
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

/// A span prints nothing by itself; records and starts of tools are told by kind, never by content.
#[test]
fn trace_level_tells_what_happens_without_content() {
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
}

#[test]
fn an_engine_that_hears_nobody_leaves_the_journal_in_use() {
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
fn an_engine_that_is_dropped_lets_go_of_journal_and_operators() {
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
    assert!(!bench.path("j/CONTROL").exists());
    let gone = runtime.block_on(Client::connect(&bench.path("j")));
    assert!(matches!(gone, Err(ConnectError::NotOffered)));
    // Whatever was on its way comes, and then the end.
    while runtime.block_on(client.next()).is_ok() {}
    let engine = open().unwrap();
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
}
