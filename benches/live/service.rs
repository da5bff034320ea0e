//! The service, in a process of its own. It accepts any setup, and sends audio and calls if the
//! model's name requests them.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use recount::live::wire::{
    Blob, ClientMessage, Content, FunctionCall, Part, ServerContent, ServerMessage, Transcription,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, accept_async_with_config};

/// The model that sends nothing by itself.
pub(crate) const IDLE: &str = "idle";

/// The model that calls each tool and speaks.
pub(crate) const SPEAKS: &str = "speaks";

/// The number of tools that the speaking model runs.
pub(crate) const TOOLS: usize = 64;

/// The length of 20 ms of audio with 16 bits at 24 kHz, in bytes.
const PIECE_BYTES: usize = 960;

/// The interval between two pieces of audio. It is a quarter of that of a real conversation.
const BETWEEN: Duration = Duration::from_millis(5);

/// A service process that ends when this is dropped.
pub(crate) struct Service {
    child: Child,
    pub(crate) url: String,
}

impl Service {
    /// Starts this program again as the service.
    pub(crate) fn start() -> Service {
        let program = std::env::current_exe().expect("the path of this program");
        let mut child = Command::new(program)
            .arg("--service")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let output = child.stdout.as_mut().expect("its output");
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url).expect("a URL");
        let url = url.trim().to_owned();
        Service { child, url }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // The process ends at the end of its input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Serves until standard input ends.
pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let listener = runtime
        .block_on(TcpListener::bind("127.0.0.1:0"))
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    println!("ws://{address}");
    std::io::stdout().flush().expect("a reader");
    std::thread::spawn(move || {
        let _ended = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    runtime.block_on(async {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream));
        }
    });
}

async fn converse(stream: TcpStream) -> Option<()> {
    let _ = stream.set_nodelay(true);
    let config = WebSocketConfig::default()
        .read_buffer_size(4096)
        .write_buffer_size(0);
    let mut socket = accept_async_with_config(stream, Some(config)).await.ok()?;
    let setup = next(&mut socket).await?.setup?;
    send(&mut socket, &ServerMessage::setup_complete()).await?;
    if setup.model.ends_with(SPEAKS) {
        return speak(socket).await;
    }
    // The idle model answers each user message.
    while let Some(message) = next(&mut socket).await {
        if message.client_content.is_some() {
            send(&mut socket, &ServerMessage::text("Yes.")).await?;
            send(&mut socket, &ServerMessage::turn_complete()).await?;
        }
    }
    None
}

/// Calls each tool, and speaks until the connection ends.
async fn speak(mut socket: WebSocketStream<TcpStream>) -> Option<()> {
    // Waits for the listener, because pieces without a listener would count as late.
    while next(&mut socket).await?.client_content.is_none() {}
    let call = |tool: usize| FunctionCall {
        id: Some(format!("c{tool}")),
        name: Some(format!("works_{tool}")),
        ..FunctionCall::default()
    };
    send(&mut socket, &ServerMessage::tool_call((0..TOOLS).map(call))).await?;
    let part = Part {
        inline_data: Some(Blob::of("audio/pcm;rate=24000", &[1; PIECE_BYTES])),
        ..Part::default()
    };
    let turn = Content {
        role: Some("model".to_owned()),
        parts: vec![part].into(),
        ..Content::default()
    };
    let message = ServerMessage {
        server_content: Some(ServerContent {
            model_turn: Some(turn),
            ..ServerContent::default()
        }),
        ..ServerMessage::default()
    };
    let text = message.encode();
    let transcription = Transcription {
        text: Some("and".to_owned()),
        ..Transcription::default()
    };
    let words = ServerMessage {
        server_content: Some(ServerContent {
            output_transcription: Some(transcription),
            ..ServerContent::default()
        }),
        ..ServerMessage::default()
    };
    let words = words.encode();
    let (mut out, mut taken) = socket.split();
    let taking = async { while let Some(Ok(_)) = taken.next().await {} };
    let speaking = async {
        let mut tick = tokio::time::interval(BETWEEN);
        for piece in 0_u64.. {
            tick.tick().await;
            let audio = Message::binary(text.clone().into_bytes());
            let mut sent = out.send(audio).await;
            // Some pieces also have a transcription.
            if sent.is_ok() && piece.is_multiple_of(20) {
                sent = out.send(Message::binary(words.clone().into_bytes())).await;
            }
            if sent.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = taking => {}
        () = speaking => {}
    }
    None
}

async fn next(socket: &mut WebSocketStream<TcpStream>) -> Option<ClientMessage> {
    loop {
        match socket.next().await?.ok()? {
            Message::Text(text) => return ClientMessage::decode(&text).ok(),
            Message::Close(_) => return None,
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
}

async fn send(socket: &mut WebSocketStream<TcpStream>, message: &ServerMessage) -> Option<()> {
    let bytes = message.encode().into_bytes();
    socket.send(Message::binary(bytes)).await.ok()
}
