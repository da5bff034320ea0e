//! `recount serve`: its start without a configuration, its refusals, and its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use recount_journal::DiskJournal;
use serde_json::json;

use crate::answering;
use crate::program::Bench;
use crate::web::{Reply, Web, bearer, request, secret, token};

#[test]
fn service_needs_no_configuration() {
    let bench = Bench::new();
    let web = Web::start(&bench, "");
    assert!(bench.path("recount-journal/JOURNAL").exists());
    assert_eq!(web.ready["journal"], "recount-journal");
    assert_eq!(web.get("", "/healthz").status, 200);
    assert_eq!(web.send("GET /v1/me", "", "").status, 401);
    let login = format!("GET {}", web.login());
    let opened = web.send(&login, "", "");
    assert_eq!((opened.status, opened.header("location")), (303, "./inbox"));
    assert_eq!(web.send(&login, "", "").status, 401, "a link is used once");
    let mut stream = web.connect();
    // The cookie as it was sent, because its value has capital letters.
    let relogin = Web::start(&bench, "--journal other");
    let mut other = relogin.connect();
    let line = format!("GET {}", relogin.login());
    let text = request(&relogin.host, &line, "", "");
    other.write_all(text.as_bytes()).unwrap();
    let mut opened = String::new();
    other.read_to_string(&mut opened).unwrap();
    let cookie = opened
        .lines()
        .find_map(|it| it.strip_prefix("set-cookie: "));
    let cookie = cookie.unwrap().split(';').next().unwrap();
    let me = relogin.send("GET /v1/me", &format!("cookie: {cookie}\r\n"), "");
    let me = me.json();
    assert_eq!(me["grants"][0]["role"], "admin");
    assert_eq!(me["actor"]["authenticated_by"], "token");
    // A cookie of one service is none of another.
    let text = request(
        &web.host,
        "GET /v1/me",
        &format!("cookie: {cookie}\r\n"),
        "",
    );
    stream.write_all(text.as_bytes()).unwrap();
    assert_eq!(Reply::read(stream).status, 401);
}

#[test]
fn people_get_the_link_in_words() {
    let bench = Bench::new();
    let mut started = bench.start("serve --listen 127.0.0.1:0 --journal j");
    let first = started.until("Serving");
    assert!(first.contains("Serving j at http://127.0.0.1:"), "{first}");
    let link = started.until("/login?token=");
    assert!(link.trim_start().starts_with("http://127.0.0.1:"), "{link}");
}

#[test]
fn taken_port_and_taken_journal_are_reported() {
    let bench = Bench::with_demo();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    bench
        .run(&format!("serve --listen {address} --journal j"))
        .fails(1, "listen")
        .prints_error(&["another process already listens", &address.to_string()]);
    assert!(!bench.path("j").exists(), "nothing was created");
    let held = DiskJournal::open_existing(bench.path("demo")).unwrap();
    bench
        .run("serve --listen 127.0.0.1:0 --journal demo")
        .fails(1, "journal-in-use")
        .prints_error(&["demo", "--journal DIR"]);
    drop(held);
}

#[test]
fn reachable_address_needs_access_and_encryption() {
    let bench = Bench::new();
    bench
        .run("serve --listen 0.0.0.0:0")
        .fails(2, "config-file")
        .prints_error(&[
            "--listen: ",
            "tokens must be set",
            "behind_proxy",
            "public_url",
        ]);
    assert!(!bench.path("recount-journal").exists());
    let access = "[access]\ntokens = \"t.json\"\npublic_url = \"https://recount.example\"\n";
    bench.write("recount.toml", access);
    let open = bench
        .run("serve --listen 0.0.0.0:0")
        .fails(2, "config-file");
    assert!(!open.err.contains("tokens must"), "{open:?}");
    bench.write("recount.toml", &format!("{access}behind_proxy = true\n"));
    let started = bench.start("serve --listen 0.0.0.0:0 --json");
    let mut web = Web::of(started);
    assert!(web.ready["link"].is_null(), "no link that lets others in");
    let ada = token(&bench, "ada --role viewer");
    assert_eq!(web.get(secret(&ada), "/v1/me").status, 421);
    web.host = "recount.example".to_owned();
    assert_eq!(web.get(secret(&ada), "/v1/me").status, 200);
    drop(web);
    // A proxy makes the whole network a client of this machine.
    let web = Web::start(&bench, "");
    assert!(web.ready["link"].is_null(), "{}", web.ready);
}

#[test]
#[cfg(unix)]
fn request_in_flight_ends_before_the_service() {
    let bench = Bench::new();
    let web = Web::start(&bench, "--journal j");
    let root = token(&bench, "root --role admin");
    // An idle connection, which must not keep the service.
    let mut idle = web.connect();
    let keeping = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", web.host);
    idle.write_all(keeping.as_bytes()).unwrap();
    let mut idle = BufReader::new(idle);
    let mut line = String::new();
    idle.read_line(&mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 200 OK\r\n");
    // The service reads the body only in the handler, and then sends an interim response.
    let body = json!({"target": "everything", "reason": "a deploy"}).to_string();
    let expecting = format!("{}expect: 100-continue\r\n", bearer(secret(&root)));
    let whole = request(&web.host, "POST /v1/pause", &expecting, &body);
    let head = whole.strip_suffix(&body).unwrap();
    let mut posting = web.connect();
    posting.write_all(head.as_bytes()).unwrap();
    let mut posting = BufReader::new(posting);
    let mut interim = String::new();
    while !interim.ends_with("\r\n\r\n") {
        posting.read_line(&mut interim).unwrap();
    }
    assert!(interim.starts_with("HTTP/1.1 100"), "{interim}");
    web.ask_to_end();
    idle.read_to_string(&mut line).unwrap();
    let address = web.ready["address"].as_str().unwrap();
    while TcpStream::connect(address).is_ok() {}
    posting.get_mut().write_all(body.as_bytes()).unwrap();
    let posted = Reply::read(posting);
    assert_eq!(posted.status, 200, "{posted:?}");
    assert!(web.program.ends_well());
    let pauses = bench.run("pauses j --json").ends_with(0).json_lines();
    assert_eq!(pauses[0]["reason"], "a deploy");
    assert_eq!(pauses[0]["by"]["name"], "root");
}

#[test]
#[cfg(unix)]
fn approval_over_http_runs_the_tool_of_the_configuration() {
    let bench = Bench::new();
    let (_simulator, _, request) = answering::parked(&bench);
    let session = bench.session("j");
    bench.write(
        "recount.toml",
        "journal = \"j\"\n[agents.run]\ntools = [\"tools.toml\"]\n",
    );
    let web = Web::start(&bench, "");
    let ada = token(&bench, "ada --role approver --agent run");
    let pending = web.get(secret(&ada), "/v1/pending").json();
    assert_eq!(pending["items"].as_array().unwrap().len(), 1);
    let path = format!("/v1/requests/{request}/answer");
    let answered = web.post(secret(&ada), &path, &json!({"confirmed": true}));
    assert_eq!(answered.status, 200, "{answered:?}");
    let calls = format!("/v1/sessions/{session}/calls");
    let ended = |calls: &serde_json::Value| !calls["items"][0]["ended"].is_null();
    while !ended(&web.get(secret(&ada), &calls).json()) {}
    assert_eq!(answering::refunds(&bench), 1);
    web.ask_to_end();
    assert!(web.program.ends_well());
    bench.run("verify j").ends_with(0);
}
