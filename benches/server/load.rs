//! The process that requests the list of what waits, at a fixed rate.

use std::time::{Duration, Instant};

use crate::connection::Connection;
use crate::said::{self, ChildOutput};

/// The number of connections. Each sends its share of the rate.
const CONNECTIONS: u32 = 16;

/// Runs the process, and returns its figures.
pub(crate) async fn run(address: &str, token: &str, rate: u32, seconds: u64) -> ChildOutput {
    let words = [address, token, &rate.to_string(), &seconds.to_string()].map(str::to_owned);
    let child = tokio::task::spawn_blocking(move || {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        said::run(&words, false)
    });
    child.await.expect("a process with requests")
}

/// The process itself. A latency is measured from the time at which its request was due, so that a
/// slow response also counts for the requests behind it.
pub(crate) fn child(words: &[String]) {
    let [address, token, rate, seconds] = words else {
        unreachable!("a process with requests gets four words: {words:?}")
    };
    let rate: u32 = rate.parse().expect("a rate");
    let seconds: u64 = seconds.parse().expect("seconds");
    let pause = Duration::from_secs(1) * CONNECTIONS / rate;
    let begun = Instant::now() + Duration::from_millis(100);
    let threads: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let (address, token) = (address.clone(), token.clone());
            let first = begun + pause * number / CONNECTIONS;
            std::thread::spawn(move || asked(&address, &token, first, pause, seconds))
        })
        .collect();
    let ended = threads.into_iter().map(|it| it.join().expect("a thread"));
    let mut latencies: Vec<Duration> = ended.flatten().collect();
    latencies.sort_unstable();
    let at = |share: f64| {
        let place = (latencies.len() as f64 * share) as usize;
        let found = latencies.get(place.min(latencies.len().saturating_sub(1)));
        found.map_or(0.0, |it| it.as_secs_f64() * 1e6)
    };
    println!("count {}", latencies.len());
    println!("p50_us {}", at(0.5));
    println!("p99_us {}", at(0.99));
    println!("max_us {}", at(1.0));
}

/// The latencies of the requests of one connection.
fn asked(
    address: &str,
    token: &str,
    first: Instant,
    pause: Duration,
    seconds: u64,
) -> Vec<Duration> {
    let mut connection = Connection::open(address, token);
    let end = first + Duration::from_secs(seconds);
    let (mut due, mut latencies) = (first, Vec::new());
    while due < end {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let (status, body) = connection.get("/v1/pending");
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("\"next\""), "{body}");
        latencies.push(due.elapsed());
        due += pause;
    }
    latencies
}
