//! Clients of `recount gateway` over real sockets: a held call, tokens, and the end.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use futures_util::{SinkExt, StreamExt};
use recount::live::wire::{ClientMessage, Setup};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::program::{Bench, Started};
use crate::service::runtime;
use crate::web::{Web, secret, token};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

const SCRIPT: &str = concat!(
    r#"{"on": {"text": "please"}, "send": [{"call": [{"id": "r1", "name": "refund", "#,
    r#""args": {"order": "A-17"}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["r1"]}, "send": [{"say": "It is refunded."}]}"#,
    "\n",
    r#"{"on": "otherwise", "send": [{"say": "Noted."}]}"#,
    "\n",
);

const PATH: &str = "//ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";

/// A gateway in front of the simulator, and the simulator.
fn start(bench: &Bench, options: &str) -> (Web, Started) {
    let (simulator, url) = bench.simulate(SCRIPT);
    let command = format!(
        "gateway --listen 127.0.0.1:0 --api-listen 127.0.0.1:0 --upstream {url} --json {options}"
    );
    (Web::of(bench.start(&command)), simulator)
}

async fn connect(web: &Web, key: &str) -> Result<Socket, Error> {
    let address = web.ready["gateway"]["address"].as_str().unwrap();
    let url = format!("ws://{address}{PATH}?key={key}");
    connect_async(url).await.map(|(socket, _)| socket)
}

/// The status with which the handshake of a client is refused.
async fn refusal(web: &Web, key: &str) -> u16 {
    match connect(web, key).await {
        Err(Error::Http(response)) => response.status().as_u16(),
        other => panic!("expected a refusal, found {other:?}"),
    }
}

async fn send(socket: &mut Socket, message: &Value) {
    let text = message.to_string();
    socket.send(Message::text(text)).await.unwrap();
}

/// Receives messages until one has this member, and returns it.
async fn until(socket: &mut Socket, member: &str) -> Value {
    loop {
        let frame = socket.next().await.unwrap().unwrap();
        if !frame.is_text() && !frame.is_binary() {
            continue;
        }
        let message: Value = serde_json::from_slice(&frame.into_data()).unwrap();
        if let Some(found) = message.get(member) {
            return found.clone();
        }
    }
}

/// The close code with which the gateway ends a connection.
async fn closed(socket: &mut Socket) -> CloseCode {
    loop {
        match socket.next().await {
            Some(Ok(Message::Close(Some(frame)))) => return frame.code,
            Some(Ok(_)) => {}
            other => panic!("expected a close frame, found {other:?}"),
        }
    }
}

/// A client that has the tool `refund`, after its setup.
async fn client(web: &Web, key: &str, model: &str) -> Socket {
    let mut socket = connect(web, key).await.unwrap();
    let setup = ClientMessage::setup(Setup {
        model: model.to_owned(),
        ..Setup::default()
    });
    let mut setup: Value = serde_json::from_str(&setup.encode()).unwrap();
    let refund = json!({"name": "refund", "description": "Refunds an order"});
    setup["setup"]["tools"] = json!([{"functionDeclarations": [refund]}]);
    send(&mut socket, &setup).await;
    socket
}

/// True if a file in the directory has the text.
fn has(directory: &Path, text: &str) -> bool {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|it| it.unwrap().path());
    let mut entries = entries.collect::<Vec<_>>().into_iter();
    entries.any(|path| match path.is_dir() {
        true => has(&path, text),
        false => {
            let bytes = fs::read(&path).unwrap_or_default();
            bytes.windows(text.len()).any(|it| it == text.as_bytes())
        }
    })
}

#[test]
fn held_call_reaches_the_client_once_approved() {
    let bench = Bench::new();
    bench.write(
        "p.toml",
        "[tools.refund]\nconfirm = \"Refund this order?\"\n",
    );
    let (web, _simulator) = start(&bench, "--policies p.toml --journal j");
    let ada = token(&bench, "ada --role approver");
    runtime().block_on(async {
        let mut socket = client(&web, "the-vendors-key", "models/m").await;
        until(&mut socket, "setupComplete").await;
        send(&mut socket, &json!({"realtimeInput": {"text": "please"}})).await;
        let waiting = loop {
            let pending = web.get(secret(&ada), "/v1/pending").json();
            if let Some(first) = pending["items"].as_array().unwrap().first() {
                break first["confirmation"].clone();
            }
        };
        assert_eq!(waiting["hint"], "Refund this order?");
        let request = waiting["request"].as_str().unwrap();
        let path = format!("/v1/requests/{request}/answer");
        let answered = web.post(secret(&ada), &path, &json!({"confirmed": true}));
        assert_eq!(answered.status, 200, "{answered:?}");
        let call = until(&mut socket, "toolCall").await;
        assert_eq!(call["functionCalls"][0]["name"], "refund");
        assert_eq!(call["functionCalls"][0]["args"], json!({"order": "A-17"}));
        let response = json!({"id": "r1", "name": "refund", "response": {"refunded": true}});
        let answer = json!({"toolResponse": {"functionResponses": [response]}});
        send(&mut socket, &answer).await;
        let said = until(&mut socket, "serverContent").await;
        assert!(said.to_string().contains("It is refunded."), "{said}");
    });
    assert!(!has(&bench.path("j"), "the-vendors-key"));
    assert!(
        has(&bench.path("j"), "A-17"),
        "the search finds what is there"
    );
    bench.run("verify j").ends_with(0);
}

#[test]
fn tokens_open_the_gateway_in_place_of_the_vendors_key() {
    let bench = Bench::new();
    let section = "[gateway]\ncredentials = \"tokens\"\nvendor_key_file = \"vendor-key\"\n";
    bench.write("recount.toml", section);
    bench.write("vendor-key", "AIzaTheVendors\n");
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(bench.path("vendor-key"), mode).unwrap();
    }
    let (web, _simulator) = start(&bench, "--journal j");
    let shop = token(&bench, "shop --role client --model m");
    let elsewhere = token(&bench, "shop --role client --agent other");
    let viewer = token(&bench, "ada --role viewer");
    runtime().block_on(async {
        assert_eq!(refusal(&web, "rct_unknown").await, 401);
        assert_eq!(refusal(&web, "AIzaTheVendors").await, 401);
        assert_eq!(refusal(&web, secret(&viewer)).await, 403);
        assert_eq!(refusal(&web, secret(&elsewhere)).await, 403);
        let mut socket = client(&web, secret(&shop), "models/m").await;
        until(&mut socket, "setupComplete").await;
        let mut socket = client(&web, secret(&shop), "models/other").await;
        assert_eq!(closed(&mut socket).await, CloseCode::Policy);
    });
    for text in ["AIzaTheVendors", secret(&shop)] {
        assert!(!has(&bench.path("j"), text));
        assert!(
            !fs::read_to_string(bench.path("j.gateway"))
                .unwrap_or_default()
                .contains(text)
        );
    }
}

#[test]
#[cfg(unix)]
fn jwts_open_the_gateway_with_the_grants_of_their_roles() {
    use crate::identities::{FOREIGN, JWKS, JWT, TOKEN};
    let bench = Bench::new();
    bench.write("jwks.json", JWKS);
    let role = "role = \"client\"\nmodels = [\"models/live\"]\n";
    let issuer = JWT
        .replace("role = \"approver\"\n", role)
        .replace("journal = \"j\"\n", "");
    bench.write("recount.toml", &issuer);
    bench.write("vendor-key", "AIzaTheVendors\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(bench.path("vendor-key"), mode).unwrap();
    let (web, _simulator) = start(
        &bench,
        "--journal j --credentials tokens --vendor-key-file vendor-key",
    );
    let address = web.ready["gateway"]["address"].as_str().unwrap().to_owned();
    let opened = async |token: &str, tenant: &'static str| {
        let mut request = format!("ws://{address}{PATH}")
            .into_client_request()
            .unwrap();
        let headers = request.headers_mut();
        headers.insert("x-goog-api-key", token.parse().unwrap());
        headers.insert("x-recount-label-tenant", tenant.parse().unwrap());
        match connect_async(request).await {
            Ok((socket, _)) => Ok(socket),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("expected a response, found {error}"),
        }
    };
    runtime().block_on(async {
        assert_eq!(opened(FOREIGN, "acme").await.unwrap_err(), 401);
        assert_eq!(opened(TOKEN, "globex").await.unwrap_err(), 403);
        let setup = |model: &str, tool: &str| {
            let tools = json!([{"functionDeclarations": [{"name": tool}]}]);
            json!({"setup": {"model": model, "tools": tools}})
        };
        let mut socket = opened(TOKEN, "acme").await.unwrap();
        send(&mut socket, &setup("models/live", "refund")).await;
        until(&mut socket, "setupComplete").await;
        for (model, tool) in [("models/pro", "refund"), ("models/live", "wipe")] {
            let mut socket = opened(TOKEN, "acme").await.unwrap();
            send(&mut socket, &setup(model, tool)).await;
            assert_eq!(closed(&mut socket).await, CloseCode::Policy);
        }
    });
    // The record of a connection follows its setup.
    web.ask_to_end();
    assert!(web.program.ends_well());
    assert!(!has(&bench.path("j"), TOKEN));
    assert!(
        has(&bench.path("j"), "models/live"),
        "the search finds what is there"
    );
}

#[test]
fn vendor_that_is_down_is_logged_once() {
    let bench = Bench::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let vendor = free.local_addr().unwrap();
    drop(free);
    let log = bench.path("log");
    let command = format!(
        "gateway --listen 127.0.0.1:0 --api-listen 127.0.0.1:0 --upstream ws://{vendor} --json"
    );
    let mut command = bench.command(&command);
    let command = command.stdout(Stdio::piped());
    let command = command.stderr(fs::File::create(&log).unwrap());
    let web = Web::of(Started::of(command.spawn().unwrap()));
    runtime().block_on(async {
        for _ in 0..5 {
            assert_eq!(refusal(&web, "key").await, 502);
        }
        let vendor = TcpListener::bind(vendor).await.unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = vendor.accept().await {
                drop(tokio_tungstenite::accept_async(stream).await);
            }
        });
        for _ in 0..2 {
            connect(&web, "key").await.unwrap();
        }
    });
    let log = fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = log.lines().filter(|it| it.contains("vendor")).collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].contains("the vendor cannot be reached") && lines[0].contains("attempts=1"));
    assert!(lines[1].contains("can be reached again") && lines[1].contains("attempts=5"));
}

#[test]
#[cfg(unix)]
fn gateway_that_ends_sends_its_clients_away() {
    let bench = Bench::new();
    bench.write("recount.toml", "[limits]\ngrace = \"2s\"\n");
    let (web, _simulator) = start(&bench, "");
    runtime().block_on(async {
        let mut socket = client(&web, "key", "models/m").await;
        until(&mut socket, "setupComplete").await;
        web.ask_to_end();
        loop {
            match connect(&web, "key").await {
                // It came before the signal.
                Ok(early) => drop(early),
                Err(Error::Http(response)) => {
                    assert_eq!(response.status(), 503);
                    break;
                }
                Err(error) => panic!("expected 503, found {error}"),
            }
        }
        assert_eq!(closed(&mut socket).await, CloseCode::Away);
    });
    assert!(web.program.ends_well());
    bench.run("verify recount-journal").ends_with(0);
}
