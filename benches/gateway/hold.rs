//! The price of a held call that is released at once, over the two syncs of its records.
//!
//! The vendor calls, the client answers as soon as it has the call, and the vendor waits for the
//! answer. Call, verdict and start are on disk before the client has the call, and its result
//! before the vendor has the answer.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::children::Process;
use crate::raw::Raw;
use crate::table::{self, verdict};
use crate::websocket::{
    BINARY, FUNCTIONS, TEXT, accept, answer_ping, begin, frame, read_message, setup_complete,
};

/// The appends of a held call with their syncs.
const SYNCS: usize = 2;

/// The length of a raw write, in bytes. Each of the appends has about this length.
const RAW_BYTES: usize = 1_400;

const TARGET: Duration = Duration::from_millis(1);

/// A client and its vendor, with something between them.
struct Conversation {
    client: TcpStream,
    vendor: TcpStream,
    _between: Process,
}

/// Runs calls one after another: through the bare relay, held, and observed, each beside raw
/// writes.
pub(crate) fn measure(calls: usize, directory: &Path) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let vendor = listener.local_addr().expect("an address").to_string();
    let journal = directory.join("hold");
    let journal = journal.to_str().expect("a path of letters");
    let mut relayed = Conversation::through(&["relay", &vendor], &listener);
    let mut gated = Conversation::through(&["gateway", &vendor, journal], &listener);
    let mut raw = Raw::new(&directory.join("raw"), RAW_BYTES);
    let (mut bare, mut held, mut observed) = (Vec::new(), Vec::new(), Vec::new());
    let mut writes = Vec::new();
    for number in 0..calls + calls / 10 + 1 {
        bare.push(relayed.call(number, "refund"));
        held.push(gated.call(number, "refund"));
        gated.prove();
        writes.extend(raw.writes(SYNCS));
        observed.push(gated.call(number + (1 << 20), "look_up"));
        gated.prove();
        writes.extend(raw.writes(SYNCS));
    }
    // The first calls open files and fill caches.
    for times in [&mut bare, &mut held, &mut observed] {
        times.drain(..calls / 10 + 1);
        times.sort_unstable();
    }
    writes.sort_unstable();
    let write = at(&writes, 0.5);
    let row = |name: &str, times: &[Duration], syncs: u32, is_judged: bool| {
        let over = at(times, 0.5).saturating_sub(write * syncs);
        vec![
            name.to_owned(),
            micros(at(times, 0.5)),
            micros(at(times, 0.99)),
            micros(over),
            match is_judged {
                true => verdict(over < TARGET),
                false => String::new(),
            },
        ]
    };
    let rows = [
        row("through the bare relay", &bare, 0, false),
        row("held and released at once", &held, 2, true),
        row("observed", &observed, 2, false),
    ];
    let headline = format!(
        "A call and its answer, {calls} of each; a raw write with its sync p50 {}",
        micros(write)
    );
    let columns = ["", "p50", "p99", "over its syncs", "under 1 ms"];
    table::print(&headline, &columns, &rows);
}

fn at(sorted: &[Duration], share: f64) -> Duration {
    let place = (sorted.len() as f64 * share) as usize;
    let found = sorted.get(place.min(sorted.len().saturating_sub(1)));
    found.copied().unwrap_or_default()
}

fn micros(of: Duration) -> String {
    format!("{:.0} µs", of.as_secs_f64() * 1e6)
}

impl Conversation {
    fn through(words: &[&str], listener: &TcpListener) -> Conversation {
        let mut between = Process::start(words);
        let address = between.line();
        let client = std::thread::spawn(move || begin(&address, FUNCTIONS));
        let (mut vendor, _) = listener.accept().expect("a relay");
        accept(&mut vendor);
        let setup = read_message(&mut vendor);
        assert!(setup.contains("\"setup\""), "{setup}");
        vendor.write_all(&setup_complete()).expect("a relay");
        let client = client.join().expect("a client");
        Conversation {
            client,
            vendor,
            _between: between,
        }
    }

    /// The time from the vendor's call to the client's answer.
    fn call(&mut self, number: usize, tool: &str) -> Duration {
        let head = format!(r#""id":"call-{number}","name":"{tool}""#);
        let call = format!(r#"{{{head},"args":{{"order":{number}}}}}"#);
        let call = format!(r#"{{"toolCall":{{"functionCalls":[{call}]}}}}"#);
        let answer = format!(r#"{{{head},"response":{{"done":true}}}}"#);
        let answer = format!(r#"{{"toolResponse":{{"functionResponses":[{answer}]}}}}"#);
        let (called, answered) = (
            frame(BINARY, call.as_bytes(), false),
            frame(TEXT, answer.as_bytes(), true),
        );
        let begun = Instant::now();
        self.vendor.write_all(&called).expect("a relay");
        let got = read_message(&mut self.client);
        self.client.write_all(&answered).expect("a relay");
        let back = read_message(&mut self.vendor);
        let took = begun.elapsed();
        assert_eq!((got, back), (call, answer));
        took
    }

    /// Answers the ping behind the answer, by which the gateway knows that the vendor has read it.
    fn prove(&mut self) {
        answer_ping(&mut self.vendor);
    }
}
