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
    let (mut took, mut writes) = measured.await.expect("a client");
    let (call, write) = (median(&mut took), median(&mut writes));
    let over = call.saturating_sub(write * SYNCS);
    println!(
        "client: a call over HTTP (call, claim, finish, each one request) p50 {:.0} µs; a raw \
         write p50 {:.0} µs; over {SYNCS} of them {:.0} µs of {} calls: {}",
        call.as_secs_f64() * 1e6,
        write.as_secs_f64() * 1e6,
        over.as_secs_f64() * 1e6,
        took.len(),
        if over < CLIENT_TARGET {
            "met"
        } else {
            "missed"
        },
    );
}

fn run(address: &str, token: &str, calls: usize, raw: &Path) -> (Vec<Duration>, Vec<Duration>) {
    let mut raw = Raw::new(raw, RAW_BYTES);
    let mut connection = Connection::open(address, token);
    let opened = connection.post("/v1/sessions", "", r#"{"agent":"shop"}"#);
    let session = member(&opened, "session");
    let session = session.as_str().expect("an id");
    let (mut took, mut writes) = (Vec::new(), Vec::new());
    for number in 0..calls {
        let begun = Instant::now();
        let body = json!({"tool": "pack", "args": {"order": number}}).to_string();
        let key = format!("idempotency-key: pack-{number}\r\n");
        let path = format!("/v1/sessions/{session}/calls");
        let made = connection.post(&path, &key, &body);
        let call = member(&made, "call");
        let claim = format!("w-{number}");
        let body = json!({"claim": claim, "tools": ["pack"]}).to_string();
        let claimed = connection.post("/v1/claims", "", &body);
        assert_eq!(member(&claimed, "call"), call, "{claimed:?}");
        let path = format!("/v1/sessions/{session}/calls/{call}/claim/finish");
        let body = json!({"claim": claim, "attempt": 1, "result": {"packed": true}}).to_string();
        let finished = connection.post(&path, "", &body);
        read(&finished);
        took.push(begun.elapsed());
        writes.extend(raw.writes(SYNCS as usize));
    }
    (took, writes)
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

fn median(of: &mut [Duration]) -> Duration {
    of.sort_unstable();
    of.get(of.len() / 2).copied().unwrap_or_default()
}
