//! The pages: the inbox, a long session, and the price of open tabs.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::connection::Connection;
use crate::said;
use crate::service::{Figures, Served};

const INBOX_TARGET: Duration = Duration::from_millis(50);
const SESSION_TARGET: Duration = Duration::from_millis(200);

/// The open tabs, and the share of the steps that they may cost, in percent.
const TABS: usize = 200;
const TABS_TARGET: f64 = 5.0;

/// The records of the long session.
const RECORDS: u64 = 5_000;

/// The pairs of runs without and with tabs.
const PAIRS: usize = 3;

/// The time until every tab has its first page.
const OPENING: Duration = Duration::from_secs(4);

/// The word before those of the process with the tabs.
const CHILD: &str = "tabs";

/// The time to a whole page of the inbox.
pub(crate) fn inbox(served: &Served, figures: &Figures) {
    let times = loaded(served, "/inbox", figures.calls.min(200));
    report("inbox", "", &times, INBOX_TARGET);
}

/// The time to the whole page of a long session.
pub(crate) async fn session(served: &Served, figures: &Figures) {
    let (session, records) = served
        .long_session(RECORDS.min(figures.calls as u64 * 10))
        .await;
    let times = loaded(
        served,
        &format!("/sessions/{session}"),
        figures.calls.min(100),
    );
    report(
        "session",
        &format!(" of {records} records"),
        &times,
        SESSION_TARGET,
    );
}

fn loaded(served: &Served, path: &str, times: usize) -> Vec<Duration> {
    let mut connection = Connection::open(&served.address, &served.viewer);
    let times = (0..times).map(|_| {
        let begun = Instant::now();
        let (status, body) = connection.page(path);
        assert_eq!(status, 200, "{body}");
        begun.elapsed()
    });
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times
}

fn report(name: &str, more: &str, times: &[Duration], target: Duration) {
    let at = |share: f64| {
        let place = (times.len() as f64 * share) as usize;
        let found = times.get(place.min(times.len().saturating_sub(1)));
        found.copied().unwrap_or_default()
    };
    println!(
        "{name}: a whole page{more}, p50 {:.2} ms, p99 {:.2} ms of {} pages: {}",
        at(0.5).as_secs_f64() * 1e3,
        at(0.99).as_secs_f64() * 1e3,
        times.len(),
        if at(0.99) < target { "met" } else { "missed" },
    );
}

/// The steps of 64 sessions without and with tabs that show the inbox.
pub(crate) async fn tabs(served: &Served, figures: &Figures) {
    let mut costs = Vec::new();
    for _ in 0..PAIRS {
        let alone = steps(served, figures, 0).await;
        let beside = steps(served, figures, TABS).await;
        costs.push((1.0 - beside / alone) * 100.0);
        println!("tabs: {alone:.0} steps a second alone, {beside:.0} beside {TABS} tabs");
    }
    costs.sort_by(f64::total_cmp);
    let median = costs.get(PAIRS / 2).copied().unwrap_or_default();
    let verdict = if median < TABS_TARGET {
        "met"
    } else {
        "missed"
    };
    println!("tabs: {TABS} open tabs cost {median:.1} % of the steps: {verdict}");
}

/// The steps in a second beside so many tabs, whose browsers are a process of their own.
async fn steps(served: &Served, figures: &Figures, tabs: usize) -> f64 {
    let stepping = served.step(64).await;
    let life = OPENING + Duration::from_secs(figures.seconds + 1);
    let (count, life) = (tabs.to_string(), life.as_secs().to_string());
    let words = [CHILD, &served.address, &served.viewer, &count, &life].map(str::to_owned);
    let child = tokio::task::spawn_blocking(move || {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        said::run(&words, false)
    });
    tokio::time::sleep(OPENING).await;
    let (begun, before) = (Instant::now(), stepping.made());
    tokio::time::sleep(Duration::from_secs(figures.seconds)).await;
    let made = stepping.made() - before;
    let rate = made as f64 / begun.elapsed().as_secs_f64();
    let told = child.await.expect("a process with tabs");
    assert_eq!(told.text("tabs"), tabs.to_string());
    stepping.end().await;
    rate
}

/// The process with the tabs, if these are its words.
pub(crate) fn child(words: &[String]) -> bool {
    let [name, address, token, tabs, life] = words else {
        return false;
    };
    if name != CHILD {
        return false;
    }
    let tabs: usize = tabs.parse().expect("a number of tabs");
    let life: u64 = life.parse().expect("seconds");
    let end = Instant::now() + Duration::from_secs(life);
    let threads = (0..tabs).map(|_| {
        let (address, token) = (address.clone(), token.clone());
        std::thread::spawn(move || tab(&address, &token, end))
    });
    let threads: Vec<_> = threads.collect();
    let pages: usize = threads
        .into_iter()
        .map(|it| it.join().expect("a tab"))
        .sum();
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
    println!("tabs {tabs}");
    println!("pages {pages}");
    true
}

/// One tab: it loads the inbox, and again after each message. Returns the number of pages.
fn tab(address: &str, token: &str, end: Instant) -> usize {
    let mut connection = Connection::open(address, token);
    let (status, body) = connection.page("/inbox");
    assert_eq!(status, 200, "{body}");
    let stream = body
        .split("data-live=\"")
        .nth(1)
        .and_then(|it| it.split('"').next());
    let stream = stream.expect("a live page").trim_start_matches("./");
    let mut messages = TcpStream::connect(address).expect("a service");
    let request = format!(
        "GET /{stream} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    messages.write_all(request.as_bytes()).expect("a request");
    let mut lines = BufReader::new(messages);
    let mut pages = 1;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return pages;
        }
        lines
            .get_ref()
            .set_read_timeout(Some(left))
            .expect("a socket");
        let mut line = String::new();
        match lines.read_line(&mut line) {
            Ok(0) => unreachable!("a stream ends after 15 minutes"),
            Ok(_) if line.trim_end() == "event: changed" => {
                assert_eq!(connection.page("/inbox").0, 200);
                pages += 1;
            }
            // The time of the tab is over.
            Ok(_) | Err(_) => {}
        }
    }
}
