//! The service of the cookbook: its process is killed while a request is open, and the approval
//! counts after the restart.

#[path = "../../examples/approvals_service/service.rs"]
mod service;

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::child_process::{ChildProcess, obey, order, say};
use recount::prelude::*;
use recount::simulator::{Running, Script, Simulator};
use service::Config;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);
const SCRIPT: &str = include_str!("../../fixtures/scripts/refund.jsonl");
const PAGE: &str = include_str!("../../docs/cookbook/approve_after_restart.md");
const ANYWHERE: &str = "127.0.0.1:0";
const SAID: &str = r#"{"text": "Please refund order 1001."}"#;

#[test]
fn request_from_before_kill_is_approved_over_http_after_restart() {
    if let Some(order) = order() {
        return obey(the_service(&order));
    }
    let home = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let simulator = the_model(&runtime);
    let start = |model: &str| {
        let order = json!({"home": home.path().to_str(), "model": model, "address": ANYWHERE});
        started(
            "approvals_service::request_from_before_kill_is_approved_over_http_after_restart",
            &order,
        )
    };

    let (mut first, address) = start(&simulator.url());
    let (status, begun) = http(&address, "POST", "/conversations", None, SAID);
    assert_eq!(status, 200, "{begun}");
    let asked = until_pending(&address);
    assert_eq!(
        (&asked["tool"], &asked["args"]["order_id"]),
        (&json!("refund"), &json!("1001"))
    );
    first.kill();

    // From now on the model's service accepts connections and sends nothing.
    let silent = runtime.block_on(TcpListener::bind(ANYWHERE)).unwrap();
    let (mut second, address) = start(&format!("ws://{}", silent.local_addr().unwrap()));
    assert_eq!(until_pending(&address), asked, "it outlived its process");
    let approve = format!("/approve/{}", asked["request"].as_str().unwrap());
    for guess in [None, Some("a-guess")] {
        let (status, _) = http(&address, "POST", &approve, guess, r#"{"name":"ada"}"#);
        assert_eq!(status, 401, "only a login identifies an approver");
    }
    let receipts = home.path().join("receipts");
    assert!(!receipts.exists());
    let (status, taken) = http(&address, "POST", &approve, Some("a-secret"), "");
    assert_eq!(status, 200, "{taken}");
    // The outcome is recorded, and the engine connects to deliver it.
    let calling = runtime.block_on(async { timeout(PATIENCE, silent.accept()).await });
    let (mut calling, _) = calling.expect("the model is called").unwrap();
    let heard = runtime.block_on(calling.read(&mut [0; 4096])).unwrap();
    assert!(heard > 0);
    // Reads directly from the socket, because the readiness that tokio knows may be stale.
    let more = calling.into_std().unwrap().read(&mut [0; 4096]);
    let more = more.map_err(|it| it.kind());
    let waits = Err(ErrorKind::WouldBlock);
    assert_eq!(more, waits, "nothing waits for the model");
    let receipts = fs::read_to_string(receipts).unwrap();
    assert_eq!(receipts.lines().count(), 1, "{receipts}");
    let deny = approve.replace("approve", "deny");
    let (status, late) = http(&address, "POST", &deny, Some("b-secret"), "too late");
    assert_eq!((status, &late["code"]), (409, &json!("already_answered")));
    assert_eq!(
        (&late["by"]["name"], &late["confirmed"]),
        (&json!("ada"), &json!(true))
    );
    assert!(late["at_us"].as_i64().unwrap() > 0, "when it was: {late}");
    let nothing = format!("/approve/{}", begun["session"].as_str().unwrap());
    let (status, _) = http(&address, "POST", &nothing, Some("a-secret"), "");
    assert_eq!(status, 404);
    second.kill();

    // The next process delivers the outcome, and the model reacts.
    let (mut third, address) = start(&simulator.url());
    let reacted = simulator.until(|it| {
        let mut sent = it.sent().filter(|(on, _)| on.0 == 2);
        sent.any(|(_, it)| it.server_content.is_some() || it.tool_call.is_some())
    });
    let reacted = runtime.block_on(async { timeout(PATIENCE, reacted).await });
    let reacted = reacted.expect("the model is told");
    let told: Vec<_> = reacted.told().filter(|(on, _)| on.0 == 2).collect();
    let outcome =
        |text: &str| text.contains("[tool outcome]") && text.contains(r#""refunded":true"#);
    assert!(told.iter().any(|(_, text)| outcome(text)), "{told:?}");
    let sent = reacted.sent().filter(|(on, _)| on.0 == 2);
    let sent: Vec<_> = sent.map(|(_, it)| it.encode()).collect();
    let through = "The refund you asked for before has been decided.";
    assert!(sent.iter().any(|it| it.contains(through)), "{sent:?}");
    let (_, pending) = http(&address, "GET", "/pending", Some("a-secret"), "");
    assert_eq!(pending, json!([]), "nothing waits any more");
    third.kill();
}

#[test]
fn new_process_waits_for_address_and_journal_of_old_one() {
    if let Some(order) = order() {
        return obey(the_service(&order));
    }
    let home = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let simulator = the_model(&runtime);
    let stopper = std::net::TcpListener::bind(ANYWHERE).unwrap();
    let order = |address: &str| {
        let stopper = stopper.local_addr().unwrap().to_string();
        let home = home.path().to_str();
        json!({"home": home, "model": simulator.url(), "address": address, "stopper": stopper})
    };
    let test = "approvals_service::new_process_waits_for_address_and_journal_of_old_one";
    let (old, address) = started(test, &order(ANYWHERE));
    let (stops_old, _) = stopper.accept().unwrap();
    let (_, begun) = http(&address, "POST", "/conversations", None, SAID);
    let asked = until_pending(&address);
    assert_eq!(asked["session"], begun["session"]);

    let mut new = ChildProcess::start(test, &order(&address));
    let (stops_new, _) = stopper.accept().unwrap();
    new.until("begins");
    drop(stops_old);
    old.end();
    assert_eq!(new.until("listens on"), address);
    assert_eq!(until_pending(&address), asked);
    drop(stops_new);
    new.end();
}

/// The code blocks of the page, in order, are the program.
#[test]
fn code_of_page_is_the_example() {
    let (service, main) = PAGE.split_once("`src/main.rs`\n").unwrap();
    let service_too = include_str!("../../examples/approvals_service/service.rs");
    let main_too = include_str!("../../examples/approvals_service/main.rs");
    assert!(shown(service).count() > 100);
    for (page, example) in [(service, service_too), (main, main_too)] {
        let mut shown = shown(page);
        for line in code(example) {
            assert_eq!(shown.next(), Some(line));
        }
        assert_eq!(shown.next(), None);
    }
    let ours = include_str!("../../Cargo.toml");
    let axum = PAGE.lines().find(|it| it.starts_with("axum = ")).unwrap();
    assert!(ours.contains(axum), "another {axum} than this test has");
}

/// The lines of code in a part of the page.
fn shown(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("```rust,ignore\n").skip(1);
    blocks.flat_map(|it| code(it.split_once("```").unwrap().0))
}

fn code(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines();
    lines.filter(|it| !it.is_empty() && !it.starts_with("//!"))
}

fn the_model(runtime: &Runtime) -> Running {
    let simulator = Simulator::start(Script::parse(SCRIPT).unwrap());
    runtime.block_on(simulator.listen(ANYWHERE)).unwrap()
}

/// A process of the service, and its address.
fn started(test: &str, order: &Value) -> (ChildProcess, String) {
    let mut service = ChildProcess::start(test, order);
    let address = service.until("listens on");
    (service, address)
}

/// The process of the service. It stops when its connection to `stopper` is closed.
async fn the_service(order: &Value) {
    let home = Path::new(order["home"].as_str().unwrap());
    let people = [("a-secret", "ada"), ("b-secret", "bob")];
    let people = people.map(|(secret, name)| (secret.to_owned(), name.to_owned()));
    let config = Config {
        address: order["address"].as_str().unwrap().to_owned(),
        journal: home.join("journal"),
        receipts: home.join("receipts"),
        model: order["model"].as_str().unwrap().to_owned(),
        people: BTreeMap::from(people),
    };
    let stopper = order["stopper"].as_str().map(TcpStream::connect);
    let stop = async move {
        let Some(stopper) = stopper else {
            return std::future::pending().await;
        };
        let read = || stopper.unwrap().read(&mut [0]).unwrap();
        tokio::task::spawn_blocking(read).await.unwrap();
    };
    say("begins");
    let ready = |address| say(format!("listens on {address}"));
    service::serve(config, ready, stop).await.unwrap();
}

/// Polls until one request is pending.
fn until_pending(address: &str) -> Value {
    for _ in 0..100_000 {
        let (status, pending) = http(address, "GET", "/pending", Some("a-secret"), "");
        assert_eq!(status, 200, "{pending}");
        if let [request] = pending.as_array().unwrap().as_slice() {
            return request.clone();
        }
    }
    panic!("no request is pending");
}

/// Sends one request on a new connection. Returns the status and the body, parsed as JSON if
/// possible.
fn http(address: &str, method: &str, path: &str, secret: Option<&str>, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    let shown = secret.map_or(String::new(), |it| {
        format!("authorization: Bearer {it}\r\n")
    });
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: \
        application/json\r\ncontent-length: {length}\r\n{shown}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}
