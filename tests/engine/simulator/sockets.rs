//! Behavior that needs a socket: back-pressure, sockets left open, recordings, and commands from
//! the test.

use std::sync::{Arc, Mutex};

use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::*;

#[tokio::test]
async fn a_burst_of_three_thousand_frames_arrives_whole() {
    let simulator = start(
        r#"{"on":{"text":"go"},"send":[{"repeat":3000,"send":[{"serverContent":{"inputTranscription":{"text":"word {n}"}}}]},{"call":[{"id":"c1","name":"a"}]}]}
           {"on":{"responses_to":["c1"]},"send":[{"say":"There."}]}"#,
    )
    .await;
    let mut socket = connect(&simulator, "").await;
    send(&mut socket, &ClientMessage::user_text("go")).await;
    for n in 1..=3_000 {
        let content = receive(&mut socket).await.server_content.unwrap();
        let words = content.input_transcription.unwrap().text.unwrap();
        assert_eq!(words, format!("word {n}"));
    }
    assert!(receive(&mut socket).await.tool_call.is_some());
    send(&mut socket, &answer("c1")).await;
    assert_eq!(receive(&mut socket).await, ServerMessage::text("There."));
}

/// The client receives the end of a turn only because it interrupts: the model's pauses are longer
/// than any test.
#[tokio::test]
async fn the_client_is_heard_while_the_model_speaks() {
    let simulator = start(
        r#"{"on":{"text":"go"},"send":[{"say":["One.","Two."],"every_ms":3600000}]}
           {"on":{"text":"stop"},"send":[{"interrupt":[]}]}"#,
    )
    .await;
    let mut socket = connect(&simulator, "").await;
    send(&mut socket, &ClientMessage::user_text("go")).await;
    assert_eq!(receive(&mut socket).await, ServerMessage::text("One."));
    send(&mut socket, &ClientMessage::user_text("stop")).await;
    let cut = receive(&mut socket).await.server_content.unwrap();
    assert_eq!(cut.interrupted, Some(true));
    assert_eq!(receive(&mut socket).await, ServerMessage::turn_complete());
}

#[tokio::test]
async fn pauses_pass_by_themselves() {
    let simulator = start(r#"{"on":"setup","send":[{"say":["One.","Two."],"every_ms":1}]}"#).await;
    let mut socket = connect(&simulator, "").await;
    for expected in [
        ServerMessage::text("One."),
        ServerMessage::text("Two."),
        ServerMessage::generation_complete(),
        ServerMessage::turn_complete(),
    ] {
        assert_eq!(receive(&mut socket).await, expected);
    }
}

/// Messages that a service does not read fill the buffers, until the client's writes block.
#[tokio::test]
async fn a_service_that_does_not_read_holds_its_client_up() {
    let simulator = start(
        r#"{"on":{"text":"go"},"send":[{"read":false},{"say":"I am not listening."}]}
           {"on":{"text":"again"},"send":[{"say":"Now I am."}]}"#,
    )
    .await;
    let mut socket = connect(&simulator, "").await;
    send(&mut socket, &ClientMessage::user_text("go")).await;
    for _ in 0..3 {
        receive(&mut socket).await;
    }
    let (mut sink, mut stream) = socket.split();
    let much = ClientMessage::user_text("x".repeat(1 << 20)).encode();
    let mut sent = 0;
    // A write that is not ready at once waits for the other side.
    while let Some(done) = futures_util::FutureExt::now_or_never(sink.send(Message::text(&much))) {
        done.unwrap();
        sent += 1;
        assert!(sent < 1_000, "nothing ever held it up");
    }
    // Other clients of the service are served meanwhile.
    for _ in 0..3 {
        drop(connect(&simulator, "").await);
    }
    simulator
        .until(|transcript| transcript.is_closed(ConnectionId(4)))
        .await;
    let transcript = simulator.transcript();
    assert_eq!(
        transcript.received_on(ConnectionId(1)).count(),
        2,
        "setup, and go"
    );
    assert!(simulator.read_on());
    sink.flush().await.unwrap();
    let again = Message::text(ClientMessage::user_text("again").encode());
    sink.send(again).await.unwrap();
    let heard = stream.next().await.unwrap().unwrap().into_data();
    let heard = ServerMessage::decode(std::str::from_utf8(&heard).unwrap()).unwrap();
    assert_eq!(heard, ServerMessage::text("Now I am."));
}

#[tokio::test]
async fn a_test_may_send_and_close_what_no_rule_does() {
    let simulator = start("").await;
    assert!(
        !simulator.send(ServerMessage::go_away("1s")),
        "no client is connected"
    );
    let mut socket = connect(&simulator, "").await;
    assert!(simulator.send(ServerMessage::go_away("1s")));
    assert_eq!(receive(&mut socket).await, ServerMessage::go_away("1s"));
    assert!(simulator.close(1001, "moving"));
    assert_eq!(closed(&mut socket).await, (1001, "moving".to_owned()));

    let mut socket = connect(&simulator, "").await;
    simulator.close(1006, "");
    assert!(
        socket.next().await.unwrap().is_err(),
        "without a close frame"
    );
}

#[tokio::test]
async fn raw_frames_go_out_as_the_text_or_the_bytes_that_they_are() {
    let simulator = start(concat!(
        r#"{"on":{"text":"go"},"send":[{"raw":"[]","opcode":"text"},{"raw":"[]"},"#,
        r#"{"raw_base64":"//4="}]}"#,
    ))
    .await;
    let mut socket = connect(&simulator, "").await;
    send(&mut socket, &ClientMessage::user_text("go")).await;
    for expected in [
        Message::text("[]"),
        Message::binary(b"[]".to_vec()),
        Message::binary(vec![0xff, 0xfe]),
    ] {
        assert_eq!(socket.next().await.unwrap().unwrap(), expected);
    }
}

#[tokio::test]
async fn a_socket_that_a_client_leaves_behind_is_counted() {
    let simulator = start(r#"{"on":{"text":"go"},"send":[{"close":{"code":1011}}]}"#).await;
    let mut socket = connect(&simulator, "").await;
    send(&mut socket, &ClientMessage::user_text("go")).await;
    simulator
        .until(|transcript| transcript.is_closed(ConnectionId(1)))
        .await;
    assert_eq!(
        simulator.sockets_open(),
        1,
        "closed, and still held by the client"
    );
    drop(socket);
    simulator.until_all_closed().await;
}

/// The old socket is closed and the new one opened at once. That is no overlap, whichever the
/// service notices first.
#[tokio::test]
async fn closing_before_resuming_is_no_overlap_however_soon() {
    let simulator = start(
        r#"{"service":{"refuses_overlap":true}}
           {"on":{"setup":"fresh"},"send":[{"handle":"h1"}]}"#,
    )
    .await;
    let resuming = |handle: &str| {
        let text = format!(r#"{{"setup":{{"model":"m","sessionResumption":{handle}}}}}"#);
        Message::text(text)
    };
    let (mut old, _) = connect_async(simulator.url()).await.unwrap();
    old.send(resuming("{}")).await.unwrap();
    receive(&mut old).await;
    receive(&mut old).await;
    old.close(None).await.unwrap();
    let (mut new, _) = connect_async(simulator.url()).await.unwrap();
    new.send(resuming(r#"{"handle":"h1"}"#)).await.unwrap();
    assert_eq!(receive(&mut new).await, ServerMessage::setup_complete());
}

#[tokio::test]
async fn a_key_may_be_asked_for_and_comes_in_a_header_or_the_query() {
    let simulator = start(r#"{"service":{"requires_key":true,"sends_text":true}}"#).await;
    let url = simulator.url();
    let mut keyless = connect_async(&url).await.unwrap().0;
    send(&mut keyless, &setup()).await;
    assert_eq!(closed(&mut keyless).await.0, 1008);
    for query in ["?key=k", "?alt=ws&access_token=auth_tokens/t"] {
        let (mut socket, _) = connect_async(format!("{url}/x{query}")).await.unwrap();
        send(&mut socket, &setup()).await;
        let answer = socket.next().await.unwrap().unwrap();
        assert_eq!(
            answer,
            Message::text(r#"{"setupComplete":{}}"#),
            "as text, too"
        );
    }
    for header in ["x-goog-api-key", "authorization"] {
        let mut request = url.as_str().into_client_request().unwrap();
        request
            .headers_mut()
            .insert(header, "Bearer t".parse().unwrap());
        let (mut socket, _) = connect_async(request).await.unwrap();
        send(&mut socket, &setup()).await;
        assert!(matches!(socket.next().await, Some(Ok(Message::Text(_)))));
    }
}

#[tokio::test]
async fn every_frame_is_recorded_in_order_and_without_secrets() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let simulator = Simulator::start(script(
        r#"{"on":"setup","send":[{"handle":"s3cret"}]}
           {"on":"any_text","send":[{"say":"Hi."}]}"#,
    ))
    .record(move |frame| kept.lock().unwrap().push(frame.line()))
    .listen("127.0.0.1:0")
    .await
    .unwrap();
    let url = format!("{}/ws?key=s3cret", simulator.url());
    let (mut socket, _) = connect_async(url).await.unwrap();
    let setup = r#"{"setup":{"model":"m","session_resumption":{},"labels":{"a_b":"c"}}}"#;
    socket.send(Message::text(setup)).await.unwrap();
    receive(&mut socket).await;
    receive(&mut socket).await;
    let text = concat!(
        r#"{"client_content":{"turns":[{"parts":[{"text":"9007199254740993"}]}],"#,
        r#""turn_complete":true}}"#,
    );
    socket
        .send(Message::binary(text.as_bytes().to_vec()))
        .await
        .unwrap();
    receive(&mut socket).await;

    let lines = lines.lock().unwrap().clone();
    let said: Vec<(String, String)> = lines
        .iter()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["connection"], 1);
            let text = |name: &str| line[name].as_str().unwrap().to_owned();
            (text("direction"), text("opcode"))
        })
        .collect();
    let client = |opcode: &str| ("client->server".to_owned(), opcode.to_owned());
    let service = ("server->client".to_owned(), "binary".to_owned());
    assert_eq!(
        said[..5],
        [
            client("handshake"),
            client("text"),
            service.clone(),
            service.clone(),
            client("binary")
        ]
    );
    assert!(
        lines[1].ends_with(&format!("{setup}}}")),
        "verbatim: {}",
        lines[1]
    );
    assert!(
        lines[4].ends_with(&format!("{text}}}")),
        "verbatim: {}",
        lines[4]
    );
    assert!(!lines.concat().contains("s3cret"), "{lines:?}");
}

/// A raw frame of the script is recorded like any other; one that is no JSON is recorded by its
/// length.
#[tokio::test]
async fn raw_frames_are_recorded() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let simulator = Simulator::start(script(concat!(
        r#"{"on":"setup","send":[{"raw":"{\"serverContent\":{\"a\":1}}"},{"raw":"no json"},"#,
        r#"{"say":"Hi."}]}"#,
    )))
    .record(move |frame| kept.lock().unwrap().push(frame.line()))
    .listen("127.0.0.1:0")
    .await
    .unwrap();
    let (mut socket, _) = connect_async(simulator.url()).await.unwrap();
    send(&mut socket, &setup()).await;
    while !lines
        .lock()
        .unwrap()
        .iter()
        .any(|it: &String| it.contains("Hi."))
    {
        tokio::task::yield_now().await;
    }
    let lines = lines.lock().unwrap().join("\n");
    assert!(
        lines.contains(r#""message":{"serverContent":{"a":1}}"#),
        "{lines}"
    );
    assert!(lines.contains("7 bytes that are no JSON"), "{lines}");
}
