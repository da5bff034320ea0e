//! Attacks on the socket of `recount serve`, and answers that race at its doors.

use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::Barrier;

use serde_json::{Value, json};

use crate::program::Bench;
use crate::web::{Reply, Web, bearer, request, secret, token};

/// An agent whose only tool a client runs after an approval.
const CONFIG: &str = r#"
journal = "j"
[[agents.shop.client_tools]]
name = "refund"
description = "Refunds an order"
parameters = { type = "object", properties = { order = { type = "integer" } } }
confirm = "Refund this order?"
"#;

/// The number of rounds, unless `RECOUNT_RACES` has another one.
const ROUNDS: u64 = 200;

const PAUSE: &str = r#"{"target":"everything"}"#;

fn served() -> (Bench, Web) {
    let bench = Bench::new();
    bench.write("recount.toml", CONFIG);
    let web = Web::start(&bench, "");
    (bench, web)
}

/// The statuses of all responses to the bytes, up to the end of the connection.
fn statuses(web: &Web, bytes: &str) -> Vec<u16> {
    let mut stream = web.connect();
    // The service ends the connection. A client that ends its side first may get no response.
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let heads = text.split("HTTP/1.1 ").skip(1);
    heads
        .map(|head| head.get(..3).unwrap().parse().unwrap())
        .collect()
}

#[test]
fn smuggled_request_has_no_effect() {
    let (bench, web) = served();
    let root = token(&bench, "root --role admin");
    let head = |line: &str, host: &str, more: &str| {
        let bearer = bearer(secret(&root));
        format!(
            "{line} HTTP/1.1\r\nhost: {host}\r\n{bearer}content-type: application/json\r\n{more}"
        )
    };
    let post = |more: &str| head("POST /v1/pause", &web.host, more);
    // A whole request, which a proxy in front may have taken for a body.
    let inner = request(&web.host, "POST /v1/pause", &bearer(secret(&root)), PAUSE);
    let length = PAUSE.len();
    for (bytes, expected) in [
        // A body of two lengths is the chunked one, and the connection ends behind it.
        (
            post(&format!(
                "content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{inner}"
            )),
            vec![422],
        ),
        (
            post(&format!(
                "content-length: {length}\r\ncontent-length: 0\r\n\r\n{PAUSE}"
            )),
            vec![400],
        ),
        (
            post("transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n"),
            vec![400],
        ),
        (
            post(&format!("transfer-encoding: xchunked\r\n\r\n{inner}")),
            vec![400],
        ),
        (
            post(&format!("content-length : {length}\r\n\r\n{PAUSE}")),
            vec![400],
        ),
        (
            post(&format!(
                "x: a\r\n content-length: 0\r\ncontent-length: {length}\r\n\r\n{PAUSE}"
            )),
            vec![400],
        ),
        // The target names another host than the header.
        (
            head(
                "POST http://evil.example/v1/pause",
                &web.host,
                &format!("connection: close\r\ncontent-length: {length}\r\n\r\n{PAUSE}"),
            ),
            vec![421],
        ),
        // The body of a refused request is no request.
        (
            format!(
                "POST /v1/pause HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n{inner}{}",
                web.host,
                inner.len(),
                request(&web.host, "GET /healthz", "", "")
            ),
            vec![401, 200],
        ),
    ] {
        assert_eq!(statuses(&web, &bytes), expected, "{bytes}");
    }
    let pauses = web.get(secret(&root), "/v1/pauses").json();
    assert_eq!(pauses["items"], json!([]));
}

/// The outcome of an answer.
#[derive(Debug)]
enum Told {
    Won,
    /// The name of the winner.
    Lost(String),
}

fn by_http(reply: &Reply) -> Told {
    match reply.status {
        200 => Told::Won,
        409 => {
            let problem = reply.json();
            assert_eq!(problem["code"], "already-answered");
            assert!(problem["at_us"].is_u64());
            Told::Lost(problem["by"]["name"].as_str().unwrap().to_owned())
        }
        _ => panic!("{reply:?}"),
    }
}

/// Answers by two tokens over HTTP and by the command line, at the same time.
#[test]
fn one_of_the_answers_at_all_doors_counts() {
    let (bench, web) = served();
    let (ada, eve) = (
        token(&bench, "ada --role approver"),
        token(&bench, "eve --role approver"),
    );
    let shop = token(&bench, "shop --role client");
    let opened = web.post(secret(&shop), "/v1/sessions", &json!({"agent": "shop"}));
    let session = opened.json()["session"].as_str().unwrap().to_owned();
    let rounds = std::env::var("RECOUNT_RACES").ok();
    let rounds = rounds.map_or(ROUNDS, |it| it.parse().unwrap());
    let mut winners = std::collections::BTreeMap::<&str, u64>::new();
    for round in 0..rounds {
        let key = format!("{}idempotency-key: k{round}\r\n", bearer(secret(&shop)));
        let call = json!({"tool": "refund", "args": {"order": round}}).to_string();
        let line = format!("POST /v1/sessions/{session}/calls");
        let asked = web.send(&line, &key, &call).json();
        let winner = race(
            &bench,
            &web,
            asked["request"].as_str().unwrap(),
            [&ada, &eve],
            round,
        );
        *winners.entry(winner).or_default() += 1;
    }
    assert_eq!(winners.values().sum::<u64>(), rounds, "{winners:?}");
}

/// Races the answers to a request. Returns the name of the only winner.
fn race(bench: &Bench, web: &Web, request: &str, people: [&Value; 2], round: u64) -> &'static str {
    let path = format!("/v1/requests/{request}/answer");
    let at_once = Barrier::new(3);
    let [ada, eve] = people;
    let (ada, eve, line) = std::thread::scope(|scope| {
        let over_http = |person: &Value, confirmed: bool| {
            let body = json!({ "confirmed": confirmed });
            let token = secret(person).to_owned();
            let (at_once, path) = (&at_once, &path);
            scope.spawn(move || {
                at_once.wait();
                by_http(&web.post(&token, path, &body))
            })
        };
        let (ada, eve) = (
            over_http(ada, true),
            over_http(eve, round.is_multiple_of(2)),
        );
        let verb = if round.is_multiple_of(3) {
            "deny"
        } else {
            "approve"
        };
        let at_once = &at_once;
        let line = scope.spawn(move || {
            // The program takes longer to start than a request to send.
            let mut command = bench.command(&format!("{verb} j {request} --json"));
            let running = command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn();
            at_once.wait();
            running.unwrap().wait_with_output().unwrap()
        });
        (
            ada.join().unwrap(),
            eve.join().unwrap(),
            line.join().unwrap(),
        )
    });
    let told = [("ada", ada), ("eve", eve)];
    let mut winners: Vec<&'static str> = told
        .iter()
        .filter(|(_, told)| matches!(told, Told::Won))
        .map(|(name, _)| *name)
        .collect();
    if line.status.success() {
        winners.push("the command line");
    }
    assert_eq!(winners.len(), 1, "{told:?} {line:?}");
    let winner = winners.first().copied().unwrap();
    if !line.status.success() {
        let text = String::from_utf8(line.stderr).unwrap();
        assert!(text.contains("error[already-answered]"), "{text}");
        assert!(text.contains(&format!(" by {winner} (token)")), "{text}");
    }
    for (_, told) in &told {
        if let Told::Lost(to) = told
            && winner != "the command line"
        {
            assert_eq!(to, winner);
        }
    }
    winner
}
