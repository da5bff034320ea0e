//! The simulator behaves as the service does, as far as its script says: over a socket and without
//! one.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod connections;
mod faults;
mod free;
mod manual;
mod service;
mod sockets;

use std::fs;

use futures_util::{SinkExt, StreamExt};
use recount::live::wire::{ClientMessage, FunctionResponse, ServerMessage, Setup};
use recount::simulator::{
    Action, ConnectionId, Event, Player, Running, Script, Side, Simulator, Standing,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

const TWO_CALLS: &str = r#"
    {"on":{"text":"go"},"once":false,"send":[{"call":[{"id":"c1","name":"a","args":{"n":9007199254740993}},{"id":"c2","name":"b"}]}]}
    {"on":{"responses_to":["c1","c2"]},"once":false,"send":[{"say":"Both."}]}
    {"on":{"responses_to":["c1"]},"send":[{"say":"First."}]}
"#;

fn script(text: &str) -> Script {
    Script::parse(text).unwrap()
}

fn setup() -> ClientMessage {
    ClientMessage::setup(Setup {
        model: "models/m".into(),
        ..Setup::default()
    })
}

fn answer(id: &str) -> ClientMessage {
    ClientMessage::tool_response([FunctionResponse::new(id, "a", json!({"ok": true}))])
}

/// The actions of the player on `message`: messages as JSON, and a close as its code.
fn does(player: &mut Player, connection: ConnectionId, message: &ClientMessage) -> Vec<Value> {
    player
        .receive(connection, message)
        .into_iter()
        .map(|action| match action {
            Action::Send(message) => serde_json::from_str(&message.encode()).unwrap(),
            Action::SendRaw(frame) => json!(String::from_utf8(frame.bytes).unwrap()),
            Action::Read(reads) => json!({ "reads": reads }),
            Action::Close { code, .. } => json!(code),
        })
        .collect()
}

/// The texts that the model says on `message`.
fn says(player: &mut Player, connection: ConnectionId, message: &ClientMessage) -> Vec<String> {
    player
        .receive(connection, message)
        .into_iter()
        .filter_map(|action| match action {
            Action::Send(message) => Some(message.server_content?.model_turn?.spoken()),
            Action::SendRaw(_) | Action::Read(_) | Action::Close { .. } => None,
        })
        .collect()
}

fn connected(player: &mut Player) -> ConnectionId {
    let connection = player.connect();
    assert_eq!(
        does(player, connection, &setup()),
        [json!({"setupComplete": {}})]
    );
    connection
}

fn standings(player: &Player) -> Vec<(u32, Standing)> {
    player
        .transcript()
        .answers()
        .map(|(connection, _, standing)| (connection.0, standing))
        .collect()
}

#[test]
fn calls_of_one_frame_are_answered_in_any_order_and_grouping() {
    let mut player = Player::new(script(TWO_CALLS));
    let connection = connected(&mut player);
    let calls = does(&mut player, connection, &ClientMessage::user_text("GO on"));
    assert_eq!(calls.len(), 1);
    assert_eq!(
        calls[0]["toolCall"]["functionCalls"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert!(says(&mut player, connection, &answer("c2")).is_empty());
    assert_eq!(
        says(&mut player, connection, &answer("c1")),
        ["Both.", "First."]
    );
    assert!(
        says(&mut player, connection, &answer("c1")).is_empty(),
        "a second answer counts for nothing"
    );
    assert_eq!(
        standings(&player),
        [
            (1, Standing::Accepted),
            (1, Standing::Accepted),
            (1, Standing::AlreadyAnswered)
        ]
    );
}

#[test]
fn repeatable_rule_waits_until_its_calls_are_issued_again() {
    let mut player = Player::new(script(
        r#"{"on":{"text":"go"},"once":false,"send":[{"call":[{"id":"c1","name":"a"},{"id":"c2","name":"b"}]}]}
           {"on":{"responses_to":["c1"]},"once":false,"send":[{"say":"First."}]}"#,
    ));
    let connection = connected(&mut player);
    for _ in 0..2 {
        does(&mut player, connection, &ClientMessage::user_text("go"));
        assert_eq!(says(&mut player, connection, &answer("c1")), ["First."]);
        assert!(
            says(&mut player, connection, &answer("c2")).is_empty(),
            "not its call"
        );
    }
}

#[test]
fn a_call_of_an_older_connection_is_unknown_to_the_next() {
    let mut player = Player::new(script(TWO_CALLS));
    let first = connected(&mut player);
    does(&mut player, first, &ClientMessage::user_text("go"));
    player.disconnect(first, 1006, "");
    let second = connected(&mut player);
    assert!(does(&mut player, second, &answer("c1")).is_empty());
    assert_eq!(standings(&player), [(2, Standing::UnknownId)]);
    does(&mut player, second, &ClientMessage::user_text("go"));
    assert_eq!(says(&mut player, second, &answer("c1")), ["First."]);
    assert!(
        player.receive(first, &answer("c1")).is_empty(),
        "a closed connection hears nothing"
    );
    assert_eq!(player.transcript().connections(), 2);
}

#[test]
fn only_a_final_answer_settles_a_call() {
    let mut player = Player::new(script(TWO_CALLS));
    let connection = connected(&mut player);
    does(&mut player, connection, &ClientMessage::user_text("go"));
    let mut progress = FunctionResponse::new("c1", "a", json!({"progress": 1}));
    progress.will_continue = Some(true);
    assert!(
        says(
            &mut player,
            connection,
            &ClientMessage::tool_response([progress])
        )
        .is_empty()
    );
    let mut nameless = FunctionResponse::new("", "b", json!({}));
    nameless.id = None;
    assert!(
        says(
            &mut player,
            connection,
            &ClientMessage::tool_response([nameless])
        )
        .is_empty()
    );
    assert_eq!(
        says(&mut player, connection, &answer("c1")),
        ["Both.", "First."]
    );
    assert_eq!(
        standings(&player),
        [
            (1, Standing::Continues),
            (1, Standing::Accepted),
            (1, Standing::Accepted)
        ]
    );
}

#[test]
fn the_answer_to_a_cancelled_call_is_noted_and_ignored() {
    let mut player = Player::new(script(
        r#"{"on":{"text":"go"},"send":[{"call":[{"id":"c1","name":"a"}]}]}
           {"on":{"text":"stop"},"send":[{"serverContent":{"interrupted":true}},{"cancel":["c1","unknown"]}]}
           {"on":{"responses_to":["c1"]},"send":[{"say":"Too late."}]}"#,
    ));
    let connection = connected(&mut player);
    does(&mut player, connection, &ClientMessage::user_text("go"));
    let cut = does(&mut player, connection, &ClientMessage::user_text("stop"));
    assert_eq!(
        cut,
        [
            json!({"serverContent": {"interrupted": true}}),
            json!({"toolCallCancellation": {"ids": ["c1", "unknown"]}})
        ]
    );
    assert!(says(&mut player, connection, &answer("c1")).is_empty());
    assert_eq!(standings(&player), [(1, Standing::Cancelled)]);
}

#[test]
fn first_matching_rule_fires_once_per_conversation() {
    let mut player = Player::new(script(
        r#"{"on":"setup","connection":2,"send":[{"say":"Welcome back."}]}
           {"on":{"text":"order"},"send":[{"say":"first"}]}
           {"on":"any_text","send":[{"say":"second"}]}
           {"on":"otherwise","send":[{"say":"again"}]}"#,
    ));
    let connection = connected(&mut player);
    let said: Vec<String> = (0..4)
        .flat_map(|_| {
            says(
                &mut player,
                connection,
                &ClientMessage::user_text("my order"),
            )
        })
        .collect();
    assert_eq!(said, ["first", "second", "again", "again"]);
    let second = player.connect();
    assert_eq!(says(&mut player, second, &setup()), ["Welcome back."]);
    assert_eq!(
        says(&mut player, second, &ClientMessage::user_text("my order")),
        ["again"]
    );
}

#[test]
fn words_count_when_the_turn_is_complete_and_history_is_no_turn() {
    let decode = |text: &str| ClientMessage::decode(text).unwrap();
    let mut player = Player::new(script(
        r#"{"on":{"text":"go"},"once":false,"send":[{"say":"Gone."}]}"#,
    ));
    let connection = player.connect();
    player.receive(
        connection,
        &decode(
            r#"{"setup":{"model":"m","historyConfig":{"initial_history_in_client_content":true}}}"#,
        ),
    );
    assert!(
        says(&mut player, connection, &ClientMessage::user_text("go")).is_empty(),
        "history"
    );
    let words =
        decode(r#"{"client_content":{"turns":[{"parts":[{"text":"go"}]}],"turnComplete":false}}"#);
    assert!(says(&mut player, connection, &words).is_empty());
    let model =
        decode(r#"{"client_content":{"turns":[{"role":"model","parts":[{"text":"stay"}]}]}}"#);
    assert!(says(&mut player, connection, &model).is_empty());
    let end = decode(r#"{"client_content":{"turn_complete":true}}"#);
    assert_eq!(says(&mut player, connection, &end), ["Gone."]);
    assert!(says(&mut player, connection, &end).is_empty());
    let spoken = decode(r#"{"realtime_input":{"text":"go"}}"#);
    assert_eq!(says(&mut player, connection, &spoken), ["Gone."]);
    let told: Vec<String> = player.transcript().told().map(|(_, words)| words).collect();
    assert_eq!(told, ["go", "go", "go"]);
}

#[test]
fn invalid_message_ends_the_connection() {
    let refusals = [
        (
            vec![],
            r#"{"clientContent":{"turnComplete":true}}"#,
            "The first message must be setup.",
        ),
        (
            vec![setup()],
            r#"{"setup":{"model":"m"}}"#,
            "setup must be the first message and only that.",
        ),
        (
            vec![setup()],
            r#"{"future":1}"#,
            "Invalid JSON payload received. Unknown name \"future\".",
        ),
        (vec![setup()], "{}", "Request contains no payload."),
        (
            vec![setup()],
            r#"{"clientContent":{},"toolResponse":{}}"#,
            "Request contains an invalid argument: expected one payload, found clientContent and \
            toolResponse.",
        ),
        (
            vec![setup()],
            r#"{"realtimeInput":{"audio":{"data":"%"}}}"#,
            "Request contains an invalid argument: data is not base64.",
        ),
        (
            vec![],
            r#"{"setup":{}}"#,
            "Invalid JSON payload received. setup.model: expected a model, found none",
        ),
    ];
    for (before, text, expected) in refusals {
        let mut player = Player::new(Script::default());
        let connection = player.connect();
        for message in &before {
            player.receive(connection, message);
        }
        let actions = player.receive_text(connection, text);
        assert_eq!(
            actions,
            [Action::Close {
                code: 1007,
                reason: expected.to_owned()
            }],
            "{text}"
        );
        assert!(player.receive(connection, &setup()).is_empty());
    }
    let mut player = Player::new(Script::default());
    let connection = player.connect();
    let [Action::Close { reason, .. }] =
        &player.receive_text(connection, &format!(r#"{{"{}":1}}"#, "é".repeat(99)))[..]
    else {
        panic!("expected a close");
    };
    assert!(reason.len() <= 123 && reason.ends_with('é'), "{reason}");
}

/// Every recorded frame of the vendor's libraries is accepted.
#[test]
fn every_recorded_client_frame_is_taken() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/gemini-live");
    let mut taken = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if !path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("client_")
        {
            continue;
        }
        for line in fs::read_to_string(path).unwrap().lines() {
            let frame: Value = serde_json::from_str(line).unwrap();
            let mut player = Player::new(script(r#"{"service":{"accepts_any_handle":true}}"#));
            let connection = player.connect();
            if frame["message"].get("setup").is_none() {
                player.receive(connection, &setup());
            }
            let actions = player.receive_text(connection, &frame["message"].to_string());
            let closes = actions
                .iter()
                .any(|action| matches!(action, Action::Close { .. }));
            assert!(!closes, "{} {}: {actions:?}", frame["sdk"], frame["case"]);
            taken += 1;
        }
    }
    assert!(taken >= 148, "{taken}");
}

#[test]
fn the_demo_goes_through_an_interruption() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/scripts/demo.jsonl");
    let mut player = Player::new(Script::read(path).unwrap());
    let first = connected(&mut player);
    let asked = does(
        &mut player,
        first,
        &ClientMessage::user_text("Please refund order 1001."),
    );
    let names: Vec<&str> = asked[0]["toolCall"]["functionCalls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "lookup_order",
            "refund",
            "ship_replacement",
            "charge_restocking_fee"
        ]
    );
    assert!(says(&mut player, first, &answer("call-lookup")).is_empty());
    assert!(says(&mut player, first, &answer("call-fee"))[0].contains("waiting for approval"));
    player.disconnect(first, 1006, "");

    let second = connected(&mut player);
    let refunded = says(
        &mut player,
        second,
        &ClientMessage::user_text("refund of order 1001: done"),
    );
    assert!(refunded[0].contains("refund has been decided"));
    let shipped = says(
        &mut player,
        second,
        &ClientMessage::user_text("ship_replacement: shipped"),
    );
    assert!(shipped[0].contains("shipped"));
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn start(text: &str) -> Running {
    Simulator::start(script(text))
        .listen("127.0.0.1:0")
        .await
        .unwrap()
}

async fn connect(simulator: &Running, path: &str) -> Socket {
    let (mut socket, response) = connect_async(format!("{}{path}", simulator.url()))
        .await
        .unwrap();
    assert!(!response.headers().contains_key("sec-websocket-extensions"));
    send(&mut socket, &setup()).await;
    assert_eq!(receive(&mut socket).await, ServerMessage::setup_complete());
    socket
}

async fn send(socket: &mut Socket, message: &ClientMessage) {
    socket.send(Message::text(message.encode())).await.unwrap();
}

/// The next message, which must arrive in a binary frame.
async fn receive(socket: &mut Socket) -> ServerMessage {
    match socket.next().await.unwrap().unwrap() {
        Message::Binary(bytes) => {
            ServerMessage::decode(std::str::from_utf8(&bytes).unwrap()).unwrap()
        }
        other => panic!("expected a binary frame, found {other:?}"),
    }
}

async fn closed(socket: &mut Socket) -> (u16, String) {
    match socket.next().await.unwrap().unwrap() {
        Message::Close(Some(CloseFrame { code, reason })) => (code.into(), reason.to_string()),
        other => panic!("expected a close frame, found {other:?}"),
    }
}

#[tokio::test]
async fn a_conversation_with_tool_calls_goes_over_a_socket() {
    let simulator = start(TWO_CALLS).await;
    let mut socket = connect(&simulator, "").await;
    let text = ClientMessage::user_text("go").encode();
    socket
        .send(Message::binary(text.into_bytes()))
        .await
        .unwrap();
    let calls = receive(&mut socket).await.tool_call.unwrap().function_calls;
    assert_eq!(
        calls[0].args.as_ref().unwrap().as_str(),
        r#"{"n":9007199254740993}"#
    );
    send(&mut socket, &answer("c2")).await;
    send(&mut socket, &answer("unknown")).await;
    send(&mut socket, &answer("c1")).await;
    let turn = receive(&mut socket).await.server_content.unwrap();
    assert_eq!(turn.model_turn.unwrap().spoken(), "Both.");
    assert_eq!(
        receive(&mut socket).await,
        ServerMessage::generation_complete()
    );
    assert_eq!(receive(&mut socket).await, ServerMessage::turn_complete());
    socket.close(None).await.unwrap();

    let ended = |event: &Event| {
        matches!(
            event,
            Event::Closed {
                by: Side::Client,
                code: 1005,
                ..
            }
        )
    };
    let transcript = simulator
        .until(|so_far| so_far.entries().iter().any(|entry| ended(&entry.event)))
        .await;
    let standings: Vec<Standing> = transcript
        .answers()
        .map(|(_, _, standing)| standing)
        .collect();
    assert_eq!(
        standings,
        [Standing::Accepted, Standing::UnknownId, Standing::Accepted]
    );
    simulator.shutdown().await;
}

#[tokio::test]
async fn every_address_a_library_uses_leads_to_the_service() {
    let simulator = start(TWO_CALLS).await;
    for path in [
        "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k",
        "/ws/google.ai.generativelanguage.v7.GenerativeService.BidiGenerateContentConstrained?acc\
        ess_token=auth_tokens/t",
        "//ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent",
        "/prefix/ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent",
        "/my/gateway/path",
        "",
    ] {
        connect(&simulator, path).await.close(None).await.unwrap();
    }
    assert_eq!(simulator.transcript().connections(), 6);
    let kept = format!("{:?}", simulator.transcript());
    assert!(
        !kept.contains("auth_tokens") && !kept.contains("key=k"),
        "secrets are not kept"
    );
}

/// A handshake as the vendor's libraries make it: doubled slashes, a key in a header, an offer to
/// compress.
#[tokio::test]
async fn an_offer_to_compress_is_declined() {
    let simulator = start(TWO_CALLS).await;
    let host = simulator.url().trim_start_matches("ws://").to_owned();
    let mut stream = TcpStream::connect(&host).await.unwrap();
    let request = format!(
        "GET //ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k \
        HTTP/1.1\r\n\
         Host: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nx-goog-api-key: k\r\ncontent-type: \
         application/json\r\n\
         Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        response.push(stream.read_u8().await.unwrap());
    }
    let response = String::from_utf8(response).unwrap().to_lowercase();
    assert!(response.starts_with("http/1.1 101"), "{response}");
    assert!(!response.contains("extensions"), "{response}");
}

#[tokio::test]
async fn pings_are_answered_while_nothing_is_said() {
    let simulator = start(TWO_CALLS).await;
    let mut socket = connect(&simulator, "").await;
    socket
        .send(Message::Ping("still there?".into()))
        .await
        .unwrap();
    assert_eq!(
        socket.next().await.unwrap().unwrap(),
        Message::Pong("still there?".into())
    );
}

#[tokio::test]
async fn a_refusal_reaches_the_client_with_its_reason() {
    let simulator = start(TWO_CALLS).await;
    let mut socket = connect(&simulator, "").await;
    send(&mut socket, &setup()).await;
    let expected = (
        1007,
        "setup must be the first message and only that.".to_owned(),
    );
    assert_eq!(closed(&mut socket).await, expected);

    let mut socket = connect(&simulator, "").await;
    socket
        .send(Message::binary(vec![0xff, 0xfe]))
        .await
        .unwrap();
    assert_eq!(closed(&mut socket).await.0, 1007);
}

#[tokio::test]
async fn a_script_can_end_the_connection_with_and_without_a_word() {
    let simulator = start(
        r#"{"on":{"text":"one"},"send":[{"go_away":"10s"},{"close":{"code":1011,"reason":"Internal error encountered."}}]}
           {"on":{"text":"two"},"send":[{"close":{"code":1006}}]}
           {"on":"otherwise","send":[{"say":"Still here."}]}"#,
    )
    .await;
    let mut socket = connect(&simulator, "").await;
    send(&mut socket, &ClientMessage::user_text("one")).await;
    assert_eq!(receive(&mut socket).await, ServerMessage::go_away("10s"));
    assert_eq!(
        closed(&mut socket).await,
        (1011, "Internal error encountered.".to_owned())
    );

    let mut socket = connect(&simulator, "").await;
    send(&mut socket, &ClientMessage::user_text("two")).await;
    assert!(
        socket.next().await.unwrap().is_err(),
        "dropped without a close frame"
    );

    let mut socket = connect(&simulator, "").await;
    send(&mut socket, &ClientMessage::user_text("three")).await;
    assert_eq!(
        receive(&mut socket).await,
        ServerMessage::text("Still here.")
    );
}

#[tokio::test]
async fn a_service_that_is_shut_down_is_gone() {
    let simulator = start(TWO_CALLS).await;
    let url = simulator.url();
    let mut socket = connect(&simulator, "").await;
    simulator.shutdown().await;
    assert!(socket.next().await.unwrap().is_err());
    assert!(connect_async(url).await.is_err());
}

#[tokio::test]
async fn only_this_machine_can_be_listened_on() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refusal = Simulator::start(Script::default())
            .listen(address)
            .await
            .unwrap_err();
        assert!(refusal.to_string().contains(address), "{refusal}");
    }
}
