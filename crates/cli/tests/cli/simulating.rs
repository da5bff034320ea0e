//! `recount simulate`: its checks at the end, its recording, and its rules.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use futures_util::{SinkExt, StreamExt};
use recount::live::wire::{ClientMessage, ServerMessage, Setup};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

fn setup() -> ClientMessage {
    ClientMessage::setup(Setup {
        model: "models/m".into(),
        ..Setup::default()
    })
}

async fn send(socket: &mut Socket, message: &ClientMessage) {
    socket.send(Message::text(message.encode())).await.unwrap();
}

async fn receive(socket: &mut Socket) -> ServerMessage {
    let frame = socket.next().await.unwrap().unwrap();
    ServerMessage::decode(std::str::from_utf8(&frame.into_data()).unwrap()).unwrap()
}

/// The running simulator.
struct Program {
    child: Child,
    url: String,
}

impl Program {
    fn start(arguments: &[&str]) -> Program {
        let mut child = Command::new(env!("CARGO_BIN_EXE_recount"))
            .args(["simulate", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let said = child.stdout.as_mut().unwrap();
        BufReader::new(said).read_line(&mut url).unwrap();
        Program {
            child,
            url: url.trim().to_owned(),
        }
    }

    /// Sends SIGINT. Returns the exit code and the text on standard error.
    fn stop(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
        let code = self.child.wait().unwrap().code();
        let mut complaint = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut complaint).unwrap();
        (code, complaint)
    }

    async fn connect(&self) -> Socket {
        let (mut socket, _) = connect_async(format!("{}/?key=s3cret", self.url))
            .await
            .unwrap();
        send(&mut socket, &setup()).await;
        assert_eq!(receive(&mut socket).await, ServerMessage::setup_complete());
        socket
    }
}

#[tokio::test]
async fn missing_messages_are_reported_at_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("script.yaml");
    fs::write(
        &file,
        "- expect: {told: refund}\n- expect: {no_handle: true}\n",
    )
    .unwrap();
    let arguments = ["--script", file.to_str().unwrap()];

    let program = Program::start(&arguments);
    let mut socket = program.connect().await;
    send(
        &mut socket,
        &ClientMessage::user_text("Please refund order 1001."),
    )
    .await;
    // The pong shows that the text was received.
    socket.send(Message::Ping("heard?".into())).await.unwrap();
    assert!(matches!(socket.next().await, Some(Ok(Message::Pong(_)))));
    assert_eq!(program.stop(), (Some(0), String::new()));

    let program = Program::start(&arguments);
    program.connect().await;
    let (code, complaint) = program.stop();
    assert_eq!(code, Some(1));
    let unmet = "line 1: expected words of the user with \"refund\", found nothing of that kind";
    assert!(complaint.contains(unmet), "{complaint}");
    assert!(!complaint.contains("line 2"), "{complaint}");
}

#[tokio::test]
async fn rules_answer_any_client_and_every_frame_is_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let rules = directory.path().join("rules.jsonl");
    let recording = directory.path().join("frames.jsonl");
    fs::write(&rules, r#"{"when": "weather", "say": "Sunny."}"#).unwrap();
    let program = Program::start(&[
        "--rules",
        rules.to_str().unwrap(),
        "--record",
        recording.to_str().unwrap(),
    ]);
    for (said, answered) in [
        ("Weather?", "Sunny."),
        ("Weather!", "Sunny."),
        ("Else?", "Else?"),
    ] {
        let mut socket = program.connect().await;
        send(&mut socket, &ClientMessage::user_text(said)).await;
        assert_eq!(receive(&mut socket).await, ServerMessage::text(answered));
    }
    assert_eq!(program.stop(), (Some(0), String::new()));
    let recorded = fs::read_to_string(&recording).unwrap();
    let lines: Vec<Value> = recorded
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let said: Vec<(&Value, &Value)> = lines
        .iter()
        .map(|line| {
            (
                &line["connection"],
                &line["message"]["clientContent"]["turns"][0]["parts"][0]["text"],
            )
        })
        .filter(|(_, text)| text.is_string())
        .collect();
    assert_eq!(
        said,
        [
            (&json!(1), &json!("Weather?")),
            (&json!(2), &json!("Weather!")),
            (&json!(3), &json!("Else?"))
        ]
    );
    assert_eq!(lines[0]["opcode"], "handshake");
    assert_eq!(lines[0]["message"]["path"], "/?key=<redacted>");
    assert!(!recorded.contains("s3cret"));
}

#[test]
fn script_or_rules_are_required() {
    let wrong = Command::new(env!("CARGO_BIN_EXE_recount"))
        .arg("simulate")
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let complaint = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        complaint.contains("--script") && complaint.contains("--rules"),
        "{complaint}"
    );
}
