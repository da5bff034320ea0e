//! As little of WebSockets as vendor and clients need. A load must cost less than what it loads.

use std::io::{Read, Write};
use std::net::TcpStream;

use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// The path of a live conversation.
const PATH: &str = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";

/// The functions of the client. The policy of the gateway names the first.
pub(crate) const FUNCTIONS: &str = concat!(
    r#"{"name":"refund","description":"Refunds an order","behavior":"BLOCKING","#,
    r#""parameters":{"type":"OBJECT"}},"#,
    r#"{"name":"look_up","behavior":"BLOCKING","description":"Looks an order up","#,
    r#""parameters":{"type":"OBJECT"}}"#,
);

/// The opcodes of text and binary frames and of pongs, each final.
pub(crate) const TEXT: u8 = 0x81;
pub(crate) const BINARY: u8 = 0x82;
const PONG: u8 = 0x8a;

/// Builds a frame. A client's has a mask of zeros, which leaves the payload as it is.
pub(crate) fn frame(opcode: u8, payload: &[u8], of_client: bool) -> Vec<u8> {
    let mask_bit = if of_client { 0x80 } else { 0 };
    let mut frame = vec![opcode];
    match payload.len() {
        length @ 0..126 => frame.push(mask_bit | length as u8),
        length => {
            frame.push(mask_bit | 126);
            let length = u16::try_from(length).expect("a frame of less than 64 KiB");
            frame.extend(length.to_be_bytes());
        }
    }
    if of_client {
        frame.extend([0; 4]);
    }
    frame.extend(payload);
    frame
}

/// A frame at the begin of a buffer.
pub(crate) struct Received<'a> {
    pub(crate) opcode: u8,
    mask: [u8; 4],
    payload: &'a [u8],
    /// The length of the whole frame.
    pub(crate) length: usize,
}

impl<'a> Received<'a> {
    /// Reads a frame. `None` if the buffer has none that is whole.
    pub(crate) fn read(buffer: &'a [u8]) -> Option<Received<'a>> {
        let [opcode, second] = *buffer.first_chunk()?;
        let (mut at, length) = match second & 0x7f {
            126 => (
                4,
                usize::from(u16::from_be_bytes(*buffer.get(2..)?.first_chunk()?)),
            ),
            127 => unreachable!("a frame of 64 KiB and more"),
            short => (2, usize::from(short)),
        };
        let mut mask = [0; 4];
        if second & 0x80 != 0 {
            mask = *buffer.get(at..)?.first_chunk()?;
            at += 4;
        }
        let payload = buffer.get(at..at + length)?;
        Some(Received {
            opcode: opcode & 0x0f,
            mask,
            payload,
            length: at + length,
        })
    }

    /// The bytes of the payload from a place on, without the mask.
    pub(crate) fn bytes(&self, from: usize, count: usize) -> Vec<u8> {
        let mask = self.mask.iter().cycle().skip(from % 4);
        let bytes = self.payload.iter().skip(from).take(count);
        bytes.zip(mask).map(|(byte, mask)| byte ^ mask).collect()
    }

    pub(crate) fn payload(&self) -> Vec<u8> {
        self.bytes(0, self.payload.len())
    }

    pub(crate) fn is_longer_than(&self, bytes: usize) -> bool {
        self.payload.len() > bytes
    }
}

/// Connects to a service of live conversations.
pub(crate) fn connect(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a service");
    stream.set_nodelay(true).expect("a socket");
    let request = format!(
        "GET {PATH}?key=bench HTTP/1.1\r\nhost: {address}\r\nconnection: Upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("a request");
    let head = read_head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    stream
}

/// Accepts the handshake of a client.
pub(crate) fn accept(stream: &mut TcpStream) {
    stream.set_nodelay(true).expect("a socket");
    let head = read_head(stream);
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_key = name.eq_ignore_ascii_case("sec-websocket-key");
        is_key.then(|| value.trim().to_owned())
    });
    let accepted = derive_accept_key(key.expect("a WebSocket").as_bytes());
    let response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {accepted}\r\n\r\n"
    );
    stream.write_all(response.as_bytes()).expect("a response");
}

/// Reads a head byte by byte, so that nothing behind it is taken.
fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.extend(byte);
    }
    String::from_utf8(head).expect("a text")
}

/// Reads the next message, and skips pings.
pub(crate) fn read_message(stream: &mut TcpStream) -> String {
    loop {
        let buffer = read_frame(stream);
        let received = Received::read(&buffer).expect("a whole frame");
        match received.opcode {
            1 | 2 => return String::from_utf8(received.payload()).expect("a text"),
            9 | 10 => {}
            other => unreachable!("a frame with the opcode {other}: {:?}", received.payload()),
        }
    }
}

/// Reads a ping of a client, and answers it.
pub(crate) fn answer_ping(stream: &mut TcpStream) {
    let buffer = read_frame(stream);
    let received = Received::read(&buffer).expect("a whole frame");
    assert_eq!(received.opcode, 9, "{:?}", received.payload());
    let pong = frame(PONG, &received.payload(), false);
    stream.write_all(&pong).expect("a client");
}

/// Reads a frame byte by byte, so that nothing behind it is taken.
fn read_frame(stream: &mut TcpStream) -> Vec<u8> {
    let mut buffer = vec![0; 2];
    stream.read_exact(&mut buffer).expect("a frame");
    while Received::read(&buffer).is_none() {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a frame");
        buffer.extend(byte);
    }
    buffer
}

/// The first message of a client, with these functions.
pub(crate) fn setup(functions: &str) -> Vec<u8> {
    let tools = format!(r#"[{{"functionDeclarations":[{functions}]}}]"#);
    let config = r#"{"responseModalities":["AUDIO"]}"#;
    let model = "models/gemini-3.8-live";
    let setup =
        format!(r#"{{"setup":{{"model":"{model}","generationConfig":{config},"tools":{tools}}}}}"#);
    frame(TEXT, setup.as_bytes(), true)
}

/// The answer of a vendor to it.
pub(crate) fn setup_complete() -> Vec<u8> {
    frame(BINARY, br#"{"setupComplete":{}}"#, false)
}

/// Connects, and completes the setup.
pub(crate) fn begin(address: &str, functions: &str) -> TcpStream {
    let mut stream = connect(address);
    stream.write_all(&setup(functions)).expect("a setup");
    let complete = read_message(&mut stream);
    assert_eq!(complete, r#"{"setupComplete":{}}"#);
    stream
}
