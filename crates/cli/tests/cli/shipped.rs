//! Every shipped script with a shipped tools file, with an approval and with a denial.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::Bench;

/// A shipped script, its tools file, and the words of the user after which it makes its calls.
struct Played {
    script: &'static str,
    tools: &'static str,
    options: &'static str,
    says: &'static str,
    /// The gated tool, and words of the model that fit an approval and a denial.
    gated: &'static str,
    hears: &'static str,
}

const PLAYED: [Played; 4] = [
    Played {
        script: "refund.jsonl",
        tools: "support.toml",
        options: "",
        says: "Please refund order 1001.",
        gated: "refund",
        hears: "Your refund for order 1001 has been decided.",
    },
    Played {
        script: "demo.jsonl",
        tools: "support.toml",
        options: "",
        says: "What about order 1001?",
        gated: "refund",
        hears: "a replacement has been asked for.",
    },
    Played {
        script: "two_tools.jsonl",
        tools: "weather.toml",
        options: "",
        says: "What is the weather in Paris?",
        gated: "get_time",
        hears: "That is what I could find out about Paris.",
    },
    Played {
        script: "foreign.jsonl",
        tools: "weather.toml",
        options: "--model gemini-live-test",
        says: "What is the weather in Paris?",
        gated: "get_time",
        hears: "That is what I could find out about Paris.",
    },
];

/// The scripts that need audio or an MCP server, with the example that `.ci/run` plays them with.
const BY_EXAMPLE: [(&str, &str); 2] = [
    ("voice.jsonl", "voice.rs"),
    ("mcp_filesystem.jsonl", "mcp_filesystem.rs"),
];

/// The scripts of the gateway, with the program that plays them in `.ci/run`.
const BY_GATEWAY: [(&str, &str); 2] = [
    ("gateway.jsonl", "programs.py"),
    ("gateway-quick-start.jsonl", "quick_start.py"),
];

fn root(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

#[test]
fn every_shipped_script_is_played() {
    let entries = fs::read_dir(root("fixtures/scripts")).unwrap();
    let files = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    let scripts: BTreeSet<_> = files.filter(|it| it.ends_with(".jsonl")).collect();
    let played = PLAYED.iter().map(|it| it.script);
    let by_example = BY_EXAMPLE.iter().map(|(script, _)| *script);
    let by_gateway = BY_GATEWAY.iter().map(|(script, _)| *script);
    let all = played.chain(by_example).chain(by_gateway);
    let known: BTreeSet<_> = all.map(str::to_owned).collect();
    assert_eq!(scripts, known);
    let ci = fs::read_to_string(root(".ci/run")).unwrap();
    for (script, example) in BY_EXAMPLE {
        assert!(ci.contains(&format!("fixtures/scripts/{script}")));
        assert!(root("examples").join(example).exists());
    }
    for (script, program) in BY_GATEWAY {
        let program = fs::read_to_string(root("tests/e2e/gateway").join(program)).unwrap();
        assert!(program.contains(&format!("fixtures/scripts/{script}")));
    }
}

#[test]
fn shipped_scripts_run_with_shipped_tools_and_with_a_denial() {
    for it in PLAYED {
        for (flag, ends) in [("--approve-all", "returned"), ("--deny-all", "denied")] {
            let bench = Bench::new();
            let tools = fs::read_to_string(root("fixtures/tools").join(it.tools)).unwrap();
            bench.write(it.tools, &tools);
            let script = fs::read_to_string(root("fixtures/scripts").join(it.script)).unwrap();
            let (_simulator, url) = bench.simulate(&script);
            let mut command = bench.command(&format!(
                "run --tools {} --endpoint {url} --journal j {} {flag} --text",
                it.tools, it.options
            ));
            let ran = command.arg(it.says).output().unwrap();
            let out = String::from_utf8(ran.stdout).unwrap();
            assert!(out.contains(it.hears), "{} {flag}: {out}", it.script);
            let session = bench.session("j");
            let log = bench.run(&format!("log j {session} --json")).ends_with(0);
            let events = log.json_lines();
            let of_kind = |kind: &'static str| {
                events
                    .iter()
                    .filter(move |event| event["kind"] == kind)
                    .map(|event| &event["body"])
            };
            let refused: Vec<_> = of_kind("response_issued")
                .filter(|body| body["outcome"] == "refused" || body["outcome"] == "invalid_args")
                .collect();
            assert!(refused.is_empty(), "{} {flag}: {refused:?}", it.script);
            let mut gated = of_kind("response_issued").filter(|body| {
                body["outcome"] == ends && names(&events, &body["call"]) == Some(it.gated)
            });
            assert!(gated.next().is_some(), "{} {flag}: {events:#?}", it.script);
        }
    }
}

#[test]
fn shipped_scripts_end_after_an_answer_from_a_second_process() {
    for it in PLAYED {
        for answer in ["approve --yes", "deny"] {
            let bench = Bench::new();
            let tools = fs::read_to_string(root("fixtures/tools").join(it.tools)).unwrap();
            bench.write(it.tools, &tools);
            let script = fs::read_to_string(root("fixtures/scripts").join(it.script)).unwrap();
            let (_simulator, url) = bench.simulate(&script);
            let run = format!(
                "run --tools {} --endpoint {url} --journal j {}",
                it.tools, it.options
            );
            let mut first = bench.command(&format!("{run} --text"));
            assert!(first.arg(it.says).status().unwrap().success());
            let open = bench.run("pending j --json").ends_with(0).json_lines();
            // A paused call waits for a result and has no request.
            for request in open.iter().filter_map(|it| it["request"].as_str()) {
                bench.run(&format!("{answer} j {request}")).ends_with(0);
            }
            let session = bench.session("j");
            bench.run(&format!("{run} --resume {session}")).ends_with(0);
            let log = bench.run(&format!("log j {session} --json")).ends_with(0);
            let events = log.json_lines();
            let gated = events
                .iter()
                .filter(|it| it["kind"] == "function_call_received");
            let gated = gated.filter(|event| event["body"]["name"] == it.gated);
            assert_eq!(gated.count(), 1, "{} {answer}: {events:#?}", it.script);
        }
    }
}

/// The name of the tool of a call.
fn names<'e>(events: &'e [Value], call: &Value) -> Option<&'e str> {
    let received = events
        .iter()
        .find(|event| event["kind"] == "function_call_received" && event["seq"] == *call)?;
    received["body"]["name"].as_str()
}
