//! `recount run --mcp`: the tools of an MCP server.
#![cfg(feature = "mcp")]
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

#[path = "../../../tests/mcp/asking_server.rs"]
mod asking_server;
#[path = "../../../tests/mcp/raw_server.rs"]
mod raw_server;
#[path = "../../../tests/mcp/server.rs"]
#[expect(dead_code, reason = "the tests of the library use the rest of it")]
mod server;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::json;

use server::CONFIG;

/// The simulated model. Dropping it ends its process.
struct Model {
    process: Child,
    url: String,
}

impl Model {
    fn start(place: &Path) -> Model {
        let call = json!({"id": "c", "name": "t_echo", "args": {"a": 1}});
        let answer = "There it is.";
        let script = [
            json!({"on": {"text": "go"}, "once": false, "send": [{"call": [call]}]}),
            json!({"on": {"responses_to": ["c"]}, "once": false, "send": [{"say": answer}]}),
            json!({"on": "otherwise", "once": false, "send": [{"say": "Understood."}]}),
        ];
        let script: String = script.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(place.join("script.jsonl"), script).unwrap();
        let mut process = recount(place)
            .args([
                "simulate",
                "--script",
                "script.jsonl",
                "--listen",
                "127.0.0.1:0",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| {
            let line = line.unwrap();
            let at = line.find("ws://")?;
            line[at..].split_whitespace().next().map(str::to_owned)
        });
        let url = url.unwrap();
        Model { process, url }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The command line of the server. Its configuration is in the environment.
fn command_line() -> String {
    let program = std::env::current_exe().unwrap();
    format!("'{}' --exact the_server --nocapture", program.display())
}

fn recount(place: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recount"));
    command
        .current_dir(place)
        .stdin(Stdio::null())
        .env(CONFIG, "{}");
    command
}

fn run(place: &Path, model: &str, arguments: &[&str]) -> (Output, String) {
    let fixed = ["run", "--endpoint", model, "--journal", "j", "--text", "go"];
    let output = recount(place).args(fixed).args(arguments).output().unwrap();
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    (output, String::from_utf8(said).unwrap())
}

#[test]
fn run_uses_the_tools_of_a_server_with_policies() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let model = Model::start(place);
    let server = command_line();
    let mcp = ["--mcp", &server, "--mcp-prefix", "t_", "--mcp-env", CONFIG];
    let (output, said) = run(place, &model.url, &mcp);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("There it is."), "{said}");
    assert!(said.contains("recount run --mcp '"), "{said}");

    let policy = json!({"tools": {"t_echo": {"confirm": "Give it back?"}}});
    std::fs::write(place.join("policy.json"), policy.to_string()).unwrap();
    let gated = [&mcp[..], &["--policy", "policy.json"]].concat();
    let (output, said) = run(place, &model.url, &gated);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("t_echo is waiting for approval"), "{said}");
    assert!(said.contains("--policy policy.json"), "{said}");
}

#[test]
fn unusable_servers_are_reported() {
    let place = tempfile::tempdir().unwrap();
    let server = command_line();
    let cases: [(&[&str], i32, &str); 4] = [
        (
            &["--mcp", "no-such-program"],
            1,
            "cannot connect to the MCP server",
        ),
        (&["--mcp", "'"], 2, "expected a command line or a URL"),
        (
            &["--mcp", &server, "--mcp-prefix", "a", "--mcp-prefix", "b"],
            2,
            "found 2",
        ),
        (
            &["--mcp", &server, "--mcp-token", "NONE"],
            2,
            "expected one --mcp with a URL, found 0",
        ),
    ];
    let (output, said) = run(
        place.path(),
        "ws://127.0.0.1:9",
        &["--mcp", &server, "--mcp-alias", "a="],
    );
    assert!(
        output.status.code() == Some(2) && said.contains("NAME=ALIAS"),
        "{said}"
    );
    for (arguments, exit, told) in cases {
        let (output, said) = run(place.path(), "ws://127.0.0.1:9", arguments);
        assert_eq!(output.status.code(), Some(exit), "{said}");
        assert!(said.contains("mcp-server") && said.contains(told), "{said}");
    }
}

/// The server that the other tests start. It is no test itself.
#[test]
fn the_server() {
    if let Some(config) = server::config() {
        server::serve(config);
    }
}
