//! The service of the cookbook: its process is killed while a person decides, and the approval counts after the restart.
#![cfg(feature = "live")]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

mod child_process;
#[path = "../examples/approvals_service/service.rs"]
mod service;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use child_process::{ChildProcess, obey, order, say};
use recount::prelude::*;
use recount::simulator::{Script, Simulator};
use service::Config;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::time::timeout;

const THIS_TEST: &str = "what_was_asked_before_a_kill_is_approved_over_http_after_the_restart";
const PATIENCE: Duration = Duration::from_secs(60);
const PAGE: &str = include_str!("../docs/cookbook/approve_after_restart.md");

#[test]
fn what_was_asked_before_a_kill_is_approved_over_http_after_the_restart() {
    if let Some(order) = order() {
        return obey(the_service(&order));
    }
    let home = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let script = include_str!("../fixtures/scripts/refund.jsonl");
    let simulator = Simulator::start(Script::parse(script).unwrap());
    let simulator = runtime.block_on(simulator.listen("127.0.0.1:0")).unwrap();
    let start = |stops: bool| {
        let home = home.path().to_str();
        let order = json!({"home": home, "model": simulator.url(), "stops": stops});
        let mut service = ChildProcess::start(THIS_TEST, &order);
        let address = service.until("listens on");
        (service, address)
    };

    let (mut first, address) = start(false);
    let said = r#"{"text": "Please refund order 1001."}"#;
    let (status, begun) = http(&address, "POST", "/conversations", None, said);
    assert_eq!(status, 200, "{begun}");
    let asked = until_pending(&address);
    assert_eq!(
        (&asked["tool"], &asked["args"]["order_id"]),
        (&json!("refund"), &json!("1001"))
    );
    first.kill();

    let (mut second, address) = start(false);
    assert_eq!(until_pending(&address), asked, "it outlived its process");
    let approve = format!("/approve/{}", asked["request"].as_str().unwrap());
    for nobody in [None, Some("a-guess")] {
        let (status, _) = http(&address, "POST", &approve, nobody, r#"{"name":"ada"}"#);
        assert_eq!(status, 401, "nothing but a login says who somebody is");
    }
    assert!(!home.path().join("receipts").exists());
    let (status, taken) = http(&address, "POST", &approve, Some("a-secret"), "");
    assert_eq!(status, 200, "{taken}");
    // The model is told, on the connection of the new process, and goes on.
    let told = simulator.until(|it| {
        let mut told = it.told().map(|(_, text)| text);
        told.any(|text| text.contains("[tool outcome]") && text.contains(r#""refunded":true"#))
    });
    let told = runtime.block_on(async { timeout(PATIENCE, told).await });
    told.expect("the model is told");
    let receipts = fs::read_to_string(home.path().join("receipts")).unwrap();
    assert_eq!(receipts.lines().count(), 1, "{receipts}");
    let deny = approve.replace("approve", "deny");
    let (status, late) = http(&address, "POST", &deny, Some("b-secret"), "too late");
    assert_eq!((status, &late["code"]), (409, &json!("already_answered")));
    assert!(late["message"].as_str().unwrap().contains("ada"), "{late}");
    let nothing = format!("/approve/{}", begun["session"].as_str().unwrap());
    let (status, _) = http(&address, "POST", &nothing, Some("a-secret"), "");
    assert_eq!(status, 404);
    second.kill();
    // One that is told to stop ends in good order.
    let (third, _) = start(true);
    third.end();
}

/// What the page shows is what runs.
#[test]
fn every_block_of_the_page_stands_in_the_example() {
    let example = [
        include_str!("../examples/approvals_service/main.rs"),
        include_str!("../examples/approvals_service/service.rs"),
    ]
    .concat();
    let blocks: Vec<_> = PAGE.split("```rust,ignore\n").skip(1).collect();
    assert!(blocks.len() > 4, "{}", blocks.len());
    for block in blocks {
        let (block, _) = block.split_once("```").unwrap();
        assert!(example.contains(block), "the example has no\n{block}");
    }
}

/// The process of the service.
async fn the_service(order: &Value) {
    let home = Path::new(order["home"].as_str().unwrap());
    let people = [("a-secret", "ada"), ("b-secret", "bob")];
    let people = people.map(|(secret, name)| (secret.to_owned(), name.to_owned()));
    let config = Config {
        journal: home.join("journal"),
        receipts: home.join("receipts"),
        model: order["model"].as_str().unwrap().to_owned(),
        people: BTreeMap::from(people),
    };
    let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
    say(format!("listens on {}", door.local_addr().unwrap()));
    let stops = order["stops"].as_bool().unwrap();
    let stop = async move {
        if !stops {
            std::future::pending::<()>().await;
        }
    };
    service::serve(config, door, stop).await.unwrap();
}

/// Asks until one request waits.
fn until_pending(address: &str) -> Value {
    for _ in 0..100_000 {
        let (status, pending) = http(address, "GET", "/pending", Some("a-secret"), "");
        assert_eq!(status, 200, "{pending}");
        if let [request] = pending.as_array().unwrap().as_slice() {
            return request.clone();
        }
    }
    panic!("nobody was asked");
}

/// One request over a connection of its own; the status, and the body as JSON if it is some.
fn http(address: &str, method: &str, path: &str, secret: Option<&str>, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    let shown = secret.map_or(String::new(), |it| {
        format!("authorization: Bearer {it}\r\n")
    });
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{shown}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}
