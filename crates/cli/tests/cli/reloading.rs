//! `recount reload` and SIGHUP: policies are taken anew, and mistakes leave the old ones.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::answering;
use crate::program::{Bench, Started};
use crate::web::{Reply, Web, secret, token};

const CONFIG: &str = "journal = \"j\"\n[agents.run]\ntools = [\"tools.toml\"]\n\
                      policies = \"policies.toml\"\n";

/// A bench with an open request, whose agent is configured.
fn parked() -> (Bench, String) {
    let bench = Bench::new();
    let (_simulator, _, request) = answering::parked(&bench);
    bench.write("recount.toml", CONFIG);
    bench.write("policies.toml", "running_max = 4\n");
    (bench, request)
}

fn approve(web: &Web, token: &Value, request: &str) -> Reply {
    let path = format!("/v1/requests/{request}/answer");
    web.post(secret(token), &path, &json!({"confirmed": true}))
}

#[test]
fn new_policies_count_for_open_requests() {
    let (bench, request) = parked();
    let web = Web::start(&bench, "");
    let ada = token(&bench, "ada --role approver");
    bench.write("policies.toml", "[tools.refund]\nquorum = 2\n");
    bench
        .run("reload")
        .ends_with(0)
        .prints(&["Reloaded: tokens, policies of run"]);
    let answered = approve(&web, &ada, &request);
    assert_eq!(
        answered.json()["code"],
        "request-superseded",
        "{answered:?}"
    );
    let instead = answered.json()["instead"].as_str().unwrap().to_owned();
    let first = approve(&web, &ada, &instead);
    assert_eq!(first.status, 202, "one of two approvals: {first:?}");
}

#[test]
fn mistaken_file_leaves_the_policies() {
    let (bench, request) = parked();
    let web = Web::start(&bench, "");
    let ada = token(&bench, "ada --role approver");
    bench.write("policies.toml", "[tools.refund]\nquorum = 0\n");
    bench.run("reload").fails(2, "config-file").prints_error(&[
        "policies.toml:2:1: tools.refund.quorum",
        "taken anew: tokens",
    ]);
    bench.write("recount.toml", "jornal = 1\n");
    let outcome = bench.run("reload j --json").ends_with(2).json();
    assert_eq!(outcome["reloaded"], json!([]));
    let mistake = outcome["mistakes"][0].as_str().unwrap();
    assert!(mistake.starts_with("recount.toml:1:1: jornal"), "{outcome}");
    assert_eq!(approve(&web, &ada, &request).status, 200);
}

#[test]
fn parts_that_are_gone_are_not_taken_anew() {
    let (bench, _) = parked();
    token(&bench, "ada --role approver");
    let _web = Web::start(&bench, "");
    std::fs::remove_file(bench.path("recount-tokens.json")).unwrap();
    let gone = bench.run("reload").fails(2, "config-file");
    gone.prints_error(&[
        "recount-tokens.json is gone",
        "taken anew: policies of run:",
    ]);
    bench.write(
        "recount.toml",
        &CONFIG.replace("[agents", "[access]\ntokens = \"t\"\n[agents"),
    );
    let other = bench.run("reload j").fails(2, "config-file");
    other.prints_error(&["access.tokens: another file is read with the next start"]);
}

#[test]
fn changes_for_the_next_start_are_listed() {
    let (bench, _) = parked();
    bench.write(
        "recount.toml",
        &format!("{CONFIG}record_transcripts = \"full\"\n[agents.gone]\n[limits]\nstreams = 9\n"),
    );
    let _web = Web::start(&bench, "");
    bench.run("reload").ends_with(0);
    let added = "[agents.added]\n[[agents.added.client_tools]]\nname = \"pack\"\n\
                 description = \"Packs\"\n";
    bench.write(
        "recount.toml",
        &format!(
            "listen = \"127.0.0.1:1\"\n{CONFIG}record_transcripts = \"none\"\n{added}\
             [limits]\nstreams = 1\n"
        ),
    );
    let outcome = bench.run("reload j --json").ends_with(2).json();
    assert_eq!(outcome["reloaded"], json!(["policies of run"]));
    // The address of `--listen` counts.
    assert_eq!(
        outcome["mistakes"],
        json!([
            "limits: the change is read with the next start",
            "agents.gone: the agent is removed with the next start",
            "agents.run, but for its policies: the change is read with the next start",
            "agents.added: the agent is added with the next start",
        ])
    );
    bench
        .run("reload")
        .fails(2, "config-file")
        .prints_error(&["a restart takes what is read with the next start"]);
}

/// The first reload waits for an issuer that never answers, up to the end of its fetch.
#[test]
fn older_reload_never_comes_last() {
    let (bench, request) = parked();
    let issuer = TcpListener::bind("127.0.0.1:0").unwrap();
    let jwt = format!(
        "[access.jwt]\nissuer = \"i\"\naudience = \"a\"\njwks_url = \"http://{}\"\n",
        issuer.local_addr().unwrap()
    );
    let config = CONFIG.replacen("[agents", &format!("{jwt}[agents"), 1);
    bench.write("recount.toml", &config);
    let mut command = bench.command("serve --listen 127.0.0.1:0 --json");
    let pipes = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = pipes.spawn().unwrap();
    let mut told = BufReader::new(program.stderr.take().unwrap()).lines();
    let web = Web::of(Started::of(program));
    let ada = token(&bench, "ada --role approver");
    let pid = Pid::from_raw(i32::try_from(web.program.id()).unwrap()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    let (silent, _) = issuer.accept().unwrap();
    bench.write("newer.toml", "[tools.refund]\nquorum = 2\n");
    bench.write(
        "recount.toml",
        &config.replace("policies.toml", "newer.toml"),
    );
    let answering = std::thread::spawn(move || {
        let (mut second, _) = issuer.accept().unwrap();
        let mut head = BufReader::new(second.try_clone().unwrap()).lines();
        assert!(head.any(|line| line.unwrap().is_empty()));
        let keys = r#"{"keys":[]}"#;
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
        let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{keys}", keys.len());
        second.write_all(answer.as_bytes()).unwrap();
    });
    bench.run("reload j").ends_with(0);
    answering.join().unwrap();
    drop(silent);
    // The report of the first one.
    assert!(told.any(|line| line.unwrap().contains("help:")));
    let answered = approve(&web, &ada, &request);
    assert_eq!(
        answered.json()["code"],
        "request-superseded",
        "{answered:?}"
    );
}

#[test]
fn hang_up_reloads_and_does_not_end_the_service() {
    let (bench, _) = parked();
    let mut command = bench.command("serve --listen 127.0.0.1:0 --json");
    let mut program = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    let mut out = BufReader::new(program.stdout.take().unwrap());
    out.read_line(&mut ready).unwrap();
    let pid = Pid::from_raw(i32::try_from(program.id()).unwrap()).unwrap();
    let mut err = BufReader::new(program.stderr.take().unwrap());
    let mut told = String::new();
    kill_process(pid, Signal::HUP).unwrap();
    err.read_line(&mut told).unwrap();
    assert_eq!(told, "reloaded: policies of run\n");
    bench.write("policies.toml", "nonsense = 1\n");
    kill_process(pid, Signal::HUP).unwrap();
    told.clear();
    while !told.contains("help:") {
        err.read_line(&mut told).unwrap();
    }
    assert!(
        told.starts_with("error[config-file]: some parts stay"),
        "{told}"
    );
    assert!(told.contains("policies.toml:1:1: nonsense"), "{told}");
    kill_process(pid, Signal::TERM).unwrap();
    assert!(program.wait().unwrap().success());
}

#[test]
fn reload_without_a_service_says_so() {
    let bench = Bench::with_demo();
    for command in ["reload", "reload demo", "reload nope"] {
        bench.run(command).fails(1, "no-service");
    }
}
