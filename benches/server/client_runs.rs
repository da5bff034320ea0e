//! A call that a client runs, over HTTP, beside the writes that its records cost.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::CLIENT_TARGET;
use crate::connection::Connection;
use crate::raw::Raw;
use crate::service::{Figures, Served};

/// The appends of a call with their syncs: the call, its claim and its result.
const SYNCS: u32 = 3;
/// The length of a raw write, in bytes. Each of the appends has about this length.
const RAW_BYTES: usize = 1_400;

/// Runs calls one after another, each beside three raw writes, and prints the difference.
pub(crate) async fn measure(served: &Served, figures: &Figures, raw: &Path) {
    let (address, token) = (served.address.clone(), served.client.clone());
    let (calls, raw) = (figures.calls, raw.to_owned());
    let measured = tokio::task::spawn_blocking(move || run(&address, &token, calls, &raw));
    let mut measured = measured.await.expect("a client");
    let (call, write) = (median(&mut measured.calls), median(&mut measured.writes));
    let over = call.saturating_sub(write * SYNCS);
    println!(
        "client: a call over HTTP p50 {:.0} µs (call {:.0}, claim {:.0}, finish {:.0}, each one \
         request); a raw write p50 {:.0} µs; over {SYNCS} of them {:.0} µs of {} calls: {}",
        micros(call),
        micros(median(&mut measured.requests[0])),
        micros(median(&mut measured.requests[1])),
        micros(median(&mut measured.requests[2])),
        micros(write),
        micros(over),
        measured.calls.len(),
        if over < CLIENT_TARGET {
            "met"
        } else {
            "missed"
        },
    );
}

/// The durations of calls, of their requests, and of the raw writes beside them.
#[derive(Default)]
struct Measured {
    calls: Vec<Duration>,
    /// The call, the claim and the finish.
    requests: [Vec<Duration>; 3],
    writes: Vec<Duration>,
}

fn run(address: &str, token: &str, calls: usize, raw: &Path) -> Measured {
    let mut raw = Raw::new(raw, RAW_BYTES);
    let mut connection = Connection::open(address, token);
    let opened = connection.post("/v1/sessions", "", r#"{"agent":"shop"}"#);
    let session = member(&opened, "session");
    let session = session.as_str().expect("an id");
    let mut measured = Measured::default();
    for number in 0..calls {
        let begun = Instant::now();
        let body = json!({"tool": "pack", "args": {"order": number}}).to_string();
        let key = format!("idempotency-key: pack-{number}\r\n");
        let path = format!("/v1/sessions/{session}/calls");
        let made = connection.post(&path, &key, &body);
        let was_made = begun.elapsed();
        let call = member(&made, "call");
        let claim = format!("w-{number}");
        let body = json!({"claim": claim, "tools": ["pack"]}).to_string();
        let claimed = connection.post("/v1/claims", "", &body);
        let was_claimed = begun.elapsed();
        assert_eq!(member(&claimed, "call"), call, "{claimed:?}");
        let path = format!("/v1/sessions/{session}/calls/{call}/claim/finish");
        let body = json!({"claim": claim, "attempt": 1, "result": {"packed": true}}).to_string();
        let finished = connection.post(&path, "", &body);
        let ended = begun.elapsed();
        read(&finished);
        let parts = [was_made, was_claimed - was_made, ended - was_claimed];
        for (requests, took) in measured.requests.iter_mut().zip(parts) {
            requests.push(took);
        }
        measured.calls.push(ended);
        measured.writes.extend(raw.writes(SYNCS as usize));
    }
    measured
}

/// A member of the body of a success.
fn member(response: &(u16, String), name: &str) -> Value {
    read(response)
        .get(name)
        .cloned()
        .expect("a member of that name")
}

/// The body of a success.
fn read((status, body): &(u16, String)) -> Value {
    assert!((200..300).contains(status), "{status}: {body}");
    serde_json::from_str(body).expect("JSON")
}

fn micros(of: Duration) -> f64 {
    of.as_secs_f64() * 1e6
}

fn median(of: &mut [Duration]) -> Duration {
    of.sort_unstable();
    of.get(of.len() / 2).copied().unwrap_or_default()
}
