//! Audio in both directions: frames that say when they were sent, and the latencies of those that
//! come.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::AsyncReadExt;

use crate::latencies::{Latencies, now};
use crate::websocket::{BINARY, Received, TEXT, frame};

/// The time between two frames of a conversation in one direction, in nanoseconds.
pub(crate) const BETWEEN: u64 = 20_000_000;

/// The bytes of 20 ms of audio with 16 bits: at 24 kHz from the model, at 16 kHz to it.
const MODEL_BYTES: usize = 960;
const USER_BYTES: usize = 640;

/// The digits of the time at which a frame was sent. They are the first of its base64.
const STAMP_DIGITS: usize = 16;

/// A frame of audio to be sent again and again.
#[derive(Clone)]
pub(crate) struct Audio {
    bytes: Vec<u8>,
    /// The place of the stamp in the frame and in its payload.
    stamp: usize,
    stamp_in_payload: usize,
}

impl Audio {
    /// Audio as the vendor sends it: JSON in a binary frame.
    pub(crate) fn of_model() -> Audio {
        let data = noise(MODEL_BYTES);
        let media = format!(r#"{{"mimeType":"audio/pcm;rate=24000","data":"{data}"}}"#);
        let parts = format!(r#"[{{"inlineData":{media}}}]"#);
        let payload = format!(r#"{{"serverContent":{{"modelTurn":{{"parts":{parts}}}}}}}"#);
        Audio::of(BINARY, &payload, false)
    }

    /// Audio as Google's client libraries send it: JSON in a text frame.
    pub(crate) fn of_user() -> Audio {
        let data = noise(USER_BYTES);
        let media = format!(r#"{{"data": "{data}", "mime_type": "audio/pcm;rate=16000"}}"#);
        let payload = format!(r#"{{"realtime_input": {{"audio": {media}}}}}"#);
        Audio::of(TEXT, &payload, true)
    }

    fn of(opcode: u8, payload: &str, of_client: bool) -> Audio {
        let at = ["\"data\":\"", "\"data\": \""].map(|it| payload.find(it).map(|at| at + it.len()));
        let at = at.into_iter().flatten().next().expect("audio");
        let bytes = frame(opcode, payload.as_bytes(), of_client);
        Audio {
            stamp: bytes.len() - payload.len() + at,
            stamp_in_payload: at,
            bytes,
        }
    }

    /// The frame, sent now.
    fn stamped(&mut self) -> &[u8] {
        let stamp = format!("{:016x}", now());
        let place = self.bytes.iter_mut().skip(self.stamp);
        place.zip(stamp.bytes()).for_each(|(it, digit)| *it = digit);
        &self.bytes
    }
}

/// Base64 that does not compress better than speech.
fn noise(bytes: usize) -> String {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let noise = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    });
    BASE64_STANDARD.encode(noise.take(bytes).collect::<Vec<u8>>())
}

/// The sockets that speak. A thread sends on each every 20 ms, evenly spread over that time.
pub(crate) struct Speaker {
    sockets: Mutex<Vec<Arc<TcpStream>>>,
    is_over: AtomicBool,
    /// The longest delay of a frame behind its time, in nanoseconds.
    latest: AtomicU64,
}

impl Speaker {
    pub(crate) fn start(audio: Audio) -> Arc<Speaker> {
        let speaker = Arc::new(Speaker {
            sockets: Mutex::default(),
            is_over: AtomicBool::new(false),
            latest: AtomicU64::new(0),
        });
        let speaking = speaker.clone();
        std::thread::spawn(move || speaking.speak(audio));
        speaker
    }

    fn sockets(&self) -> MutexGuard<'_, Vec<Arc<TcpStream>>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, socket: Arc<TcpStream>) {
        self.sockets().push(socket);
    }

    pub(crate) fn remove(&self, socket: &Arc<TcpStream>) {
        self.sockets().retain(|it| !Arc::ptr_eq(it, socket));
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The longest delay of a frame since the last question.
    pub(crate) fn latest(&self) -> Duration {
        Duration::from_nanos(self.latest.swap(0, Ordering::Relaxed))
    }

    fn speak(&self, mut audio: Audio) {
        let mut period = now();
        while !self.is_over.load(Ordering::Relaxed) {
            let sockets = self.sockets().clone();
            for (socket, place) in sockets.iter().zip(0..) {
                let due = period + BETWEEN * place / sockets.len() as u64;
                let wait = due.saturating_sub(now());
                if wait > 0 {
                    std::thread::sleep(Duration::from_nanos(wait));
                }
                self.latest
                    .fetch_max(now().saturating_sub(due), Ordering::Relaxed);
                send(socket, audio.stamped());
            }
            period += BETWEEN;
            std::thread::sleep(Duration::from_nanos(period.saturating_sub(now())));
        }
    }
}

/// Writes all of a frame. A socket that is gone needs none.
fn send(mut socket: &TcpStream, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            // The other side is slow. The delay of the next frames shows it.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_micros(100));
            }
            Err(_) => return,
        }
    }
}

/// The latencies of the frames that were sent within a time.
pub(crate) struct Listener {
    window: Mutex<(u64, u64)>,
    latencies: Mutex<Latencies>,
    /// The place of the stamp in the payload of a frame that is heard.
    stamp: usize,
}

impl Listener {
    /// A listener to such audio.
    pub(crate) fn to(audio: &Audio) -> Arc<Listener> {
        Arc::new(Listener {
            window: Mutex::new((0, 0)),
            latencies: Mutex::new(Latencies::new()),
            stamp: audio.stamp_in_payload,
        })
    }

    /// Listens anew, to frames that are sent within this time.
    pub(crate) fn listen(&self, from: u64, to: u64) {
        *self.latencies() = Latencies::new();
        *self.window.lock().unwrap_or_else(PoisonError::into_inner) = (from, to);
    }

    pub(crate) fn latencies(&self) -> MutexGuard<'_, Latencies> {
        self.latencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads frames until the connection ends. `heard` is called after those of each read.
    pub(crate) async fn read(&self, socket: &TcpStream, mut heard: impl FnMut()) {
        let socket = socket.try_clone().expect("a socket");
        let mut socket = tokio::net::TcpStream::from_std(socket).expect("a socket");
        let (mut buffer, mut filled) = (vec![0; 16 << 10], 0);
        loop {
            let Some(room) = buffer.get_mut(filled..) else {
                return;
            };
            match socket.read(room).await {
                Ok(0) | Err(_) => return,
                Ok(more) => filled += more,
            }
            let mut at = 0;
            while let Some(received) = Received::read(buffer.get(at..filled).unwrap_or_default()) {
                at += received.length;
                self.hear(&received);
            }
            buffer.copy_within(at..filled, 0);
            filled -= at;
            heard();
        }
    }

    fn hear(&self, received: &Received<'_>) {
        if !received.is_longer_than(USER_BYTES) {
            return;
        }
        let digits = received.bytes(self.stamp, STAMP_DIGITS);
        let digits = std::str::from_utf8(&digits).expect("digits");
        let sent = u64::from_str_radix(digits, 16).expect("a stamp");
        let (from, to) = *self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if (from..to).contains(&sent) {
            self.latencies().add(now().saturating_sub(sent));
        }
    }
}
