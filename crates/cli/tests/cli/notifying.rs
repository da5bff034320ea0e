//! The sinks of notifications: their mistakes, `recount notify test`, and a service with sinks.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::Bench;
use crate::web::{Web, secret, token};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A file that only its owner can read.
fn private(bench: &Bench, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    bench.write(name, text);
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(bench.path(name), mode).unwrap();
}

/// A receiver that answers one message. Returns its port and the message.
fn receiver(status: &'static str) -> (u16, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let taking = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut text = String::new();
        let mut part = [0; 4096];
        while !is_whole(&text) {
            let read = stream.read(&mut part).unwrap();
            assert!(read > 0, "the request broke off: {text}");
            text.push_str(std::str::from_utf8(&part[..read]).unwrap());
        }
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).unwrap();
        text
    });
    (port, taking)
}

/// True if a request has its whole body.
fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let mut lengths = head
        .lines()
        .filter_map(|it| it.strip_prefix("content-length: "));
    lengths.next().and_then(|it| it.parse().ok()) == Some(body.len())
}

#[test]
fn mistakes_of_sinks_have_their_lines() {
    let bench = Bench::new();
    bench.write("open", SECRET);
    private(&bench, "short", "whsec_c2hvcnQ=");
    bench.write(
        "recount.toml",
        "[[sinks]]\nname = \"a\"\nkind = \"webhook\"\nurl = \"https://a.example\"\n\
         secret_file = \"open\"\n\
         [[sinks]]\nname = \"b\"\nkind = \"webhook\"\nurl = \"https://b.example\"\n\
         secret_file = \"short\"\n\
         [[sinks]]\nname = \"c\"\nkind = \"slack\"\nurl = \"http://c.example/s3cret\"\n\
         [sinks.templates]\nasked = \"{tol}\"\n\
         [[sinks]]\nname = \"d\"\nkind = \"ntfy\"\nurl = \"https://d.example/\"\n\
         [[sinks]]\nname = \"e\"\nkind = \"command\"\n\
         [[routes]]\nsinks = [\"f\"]\n",
    );
    let run = bench.run("check").fails(2, "config-file").prints_error(&[
        "recount.toml:5:15: sinks.secret_file: ",
        "so every user can post to the sink",
        "recount.toml:10:15: sinks.secret_file: expected whsec_ and 24 to 64 bytes in Base64",
        "recount.toml:14:7: sinks.url: expected an https URL, or allow_http = true",
        "recount.toml:16:9: sinks.templates.asked: expected one of the fields {occasion}, ",
        "recount.toml:20:7: sinks.url: expected a URL without a query that ends with a topic",
        "recount.toml:23:8: sinks.kind: a sink of kind command needs the key command",
        "recount.toml:25:10: routes.sinks: there is no sink \"f\"; did you mean",
    ]);
    for hidden in ["MfKQ9r8G", "c2hvcnQ", "s3cret"] {
        assert!(!run.err.contains(hidden), "{}", run.err);
    }
}

#[test]
fn test_message_reaches_the_sink() {
    let bench = Bench::new();
    let (port, taking) = receiver("204 No Content");
    private(&bench, "secret", SECRET);
    let config = format!(
        "[[sinks]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"http://127.0.0.1:{port}/x\"\n\
         secret_file = \"secret\"\n"
    );
    bench.write("other.toml", &config);
    bench
        .run("notify test ops --config other.toml")
        .ends_with(0)
        .prints(&["Delivered: a test message to ops"]);
    let text = taking.join().unwrap();
    assert!(text.starts_with("POST /x HTTP/1.1\r\n"), "{text}");
    for header in [
        "webhook-id: ",
        "webhook-timestamp: ",
        "webhook-signature: v1,",
    ] {
        assert!(text.contains(header), "{text}");
    }
}

#[test]
fn test_message_that_is_refused_fails() {
    let bench = Bench::new();
    let (port, taking) = receiver("404 Not Found");
    let config = format!(
        "[[sinks]]\nname = \"ops\"\nkind = \"slack\"\nurl = \"http://127.0.0.1:{port}/s3cret\"\n"
    );
    bench.write("recount.toml", &config);
    let run = bench.run("notify test ops --json").ends_with(1);
    taking.join().unwrap();
    let told = run.json();
    assert_eq!(
        (&told["delivered"], &told["error"]),
        (&json!(false), &json!("404 Not Found"))
    );
    assert!(!run.out.contains("s3cret"), "{}", run.out);
    bench
        .run("notify test none")
        .fails(2, "unknown-sink")
        .prints_error(&["there is no sink none in recount.toml; it has ops"]);
}

/// A sink that appends each message to a file.
fn appending(name: &str) -> String {
    format!(
        "journal = \"j\"\n[[sinks]]\nname = \"ops\"\nkind = \"command\"\n\
         command = [\"sh\", \"-c\", \"cat >>{name}; echo >>{name}\"]\n\
         [[routes]]\nsinks = [\"ops\"]\n\
         [agents.shop]\n[[agents.shop.client_tools]]\nname = \"ask\"\n\
         description = \"Waits\"\nconfirm = \"Go on?\"\n"
    )
}

/// Makes a call that waits for an approver. Returns its request.
fn ask(web: &Web, token: &Value) -> String {
    let opened = web.post(secret(token), "/v1/sessions", &json!({"agent": "shop"}));
    let session = opened.json()["session"].as_str().unwrap().to_owned();
    let headers = format!(
        "authorization: Bearer {}\r\nidempotency-key: k\r\n",
        secret(token)
    );
    let line = format!("POST /v1/sessions/{session}/calls");
    let called = web.send(&line, &headers, r#"{"tool":"ask","args":{}}"#);
    called.json()["request"].as_str().unwrap().to_owned()
}

/// The only message in a file, once it is there.
fn message(bench: &Bench, name: &str) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let text = std::fs::read_to_string(bench.path(name)).unwrap_or_default();
        if text.ends_with('\n') {
            return serde_json::from_str(&text).unwrap();
        }
        assert!(Instant::now() < until, "no message came");
        std::thread::yield_now();
    }
}

#[test]
fn service_notifies_and_takes_sinks_anew() {
    let bench = Bench::new();
    bench.write("recount.toml", &appending("first"));
    let ada = token(&bench, "ada --role operator");
    let web = Web::start(&bench, "");
    let request = ask(&web, &ada);
    let told = message(&bench, "first");
    assert_eq!(
        (&told["type"], &told["data"]["request"]),
        (&json!("recount.asked"), &json!(request))
    );
    let (session, call) = (&told["data"]["session"], &told["data"]["call"]);
    let path = format!("/sessions/{}/calls/{call}", session.as_str().unwrap());
    let link = format!("{}{path}", web.ready["url"].as_str().unwrap());
    assert_eq!(told["data"]["link"], link.as_str());
    bench.write("recount.toml", &appending("second"));
    bench
        .run("reload")
        .ends_with(0)
        .prints(&["Reloaded: tokens, sinks"]);
    let request = ask(&web, &ada);
    assert_eq!(
        message(&bench, "second")["data"]["request"],
        request.as_str()
    );
    message(&bench, "first");
    // A mistake leaves the sinks.
    bench.write(
        "recount.toml",
        &appending("third").replace("\"ops\"]", "\"opps\"]"),
    );
    bench
        .run("reload")
        .fails(2, "config-file")
        .prints_error(&["recount.toml:7:10: routes.sinks: there is no sink"]);
    let sinks = web.get(secret(&ada), "/v1/sinks").json();
    assert_eq!(sinks["items"][0]["delivered"], 2);
    assert!(bench.path("j.sinks/ops.json").exists() && !bench.path("j/ops.json").exists());
}
