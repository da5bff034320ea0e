//! The commands that only read, over the journal of the demo. They do not change it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use recount::prelude::*;
use recount::tool::{LlmAgent, LlmReply, LlmSaid, ScriptedLlm};

use crate::program::Bench;
use crate::service::runtime;

#[test]
fn session_has_its_labels_and_lines_that_fit() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    bench.run("sessions demo").ends_with(0).prints(&[
        &id,
        "support",
        "ticket-1001",
        "channel=chat",
        "closed",
    ]);
    let listed = bench.run("sessions demo --json").json_lines();
    assert_eq!(listed[0]["labels"]["channel"], "chat");
    assert_eq!(listed[0]["closed"], true);

    let log = bench
        .run(&format!("log demo {}", &id[..8]))
        .ends_with(0)
        .prints(&[
            "session opened, agent support, ticket-1001",
            "model    calls refund {\"order_id\":\"1001\",\"amount_cents\":4200}",
            "→ approval of refund requested: {\"order_id\":\"1001\"",
            "program  refund approved by program ",
            "session closed by program ",
            "→ refund started, attempt 1",
            "tool     charge_restocking_fee failed: the card was declined",
            "→ refund ended: returned (sent as text)",
        ]);
    assert!(
        log.out.starts_with("── 20"),
        "the day comes first: {}",
        log.out
    );
    assert_eq!(log.out.lines().find(|line| line.chars().count() > 80), None);
    let full = bench.run(&format!("log demo {id} --full")).ends_with(0);
    full.prints(&["{\"order_id\":\"1001\",\"amount_cents\":4200}  Refund money to the customer?"]);
}

#[test]
fn json_log_has_the_stored_bytes() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    let log = bench.run(&format!("log demo {id} --json")).ends_with(0);
    let exported = bench
        .run(&format!("export demo --session {}", &id[..6]))
        .ends_with(0);
    let records = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| line.starts_with("{\"v\":1,"))
            .map(str::to_owned)
            .collect()
    };
    assert!(records(&log.out).len() > 40);
    assert_eq!(records(&log.out), records(&exported.out));
    let trailer: Value = serde_json::from_str(exported.out.lines().last().unwrap()).unwrap();
    assert_eq!(trailer["trailer"]["records"], records(&log.out).len());
}

#[test]
fn export_is_complete_and_has_the_root_of_its_journal() {
    let bench = Bench::with_demo();
    bench.write("out.jsonl", "what stood there before");
    bench
        .run("export demo --out out.jsonl --force")
        .ends_with(0)
        .prints(&["Exported", "root "]);
    let names = fs::read_dir(bench.path("")).unwrap().count();
    assert_eq!(names, 2, "the journal and the export, no draft");
    let (journal, file) = (
        bench.run("verify demo --json"),
        bench.run("verify out.jsonl --json"),
    );
    assert_eq!(
        (
            journal.json()["sound"].clone(),
            file.json()["sound"].clone()
        ),
        (true.into(), true.into())
    );
    assert_eq!(journal.json()["root"], file.json()["root"]);
    assert_eq!(
        (&journal.json()["kind"], &file.json()["kind"]),
        (&"journal".into(), &"export".into())
    );
    bench
        .run("verify demo")
        .ends_with(0)
        .prints(&["Consistent journal, not anchored: 1 session, "]);
    bench
        .run("export demo --out nowhere/out.jsonl")
        .fails(1, "io")
        .prints_error(&["nowhere"]);
}

#[test]
fn replay_of_the_demo_matches() {
    let bench = Bench::with_demo();
    bench
        .run("replay demo")
        .ends_with(0)
        .prints(&["Replay matches the record: 1 session, "]);
    let all = bench.run("replay demo --all").ends_with(0);
    assert_eq!(all.out, bench.run("replay demo").ends_with(0).out);
    let both = bench.run(&format!("replay demo {} --all", bench.session("demo")));
    let both = both.ends_with(2);
    both.prints_error(&["[SESSION]", "cannot be used with", "--all"]);
    let report = bench
        .run(&format!("replay demo {} --json", bench.session("demo")))
        .ends_with(0)
        .json();
    assert!(
        report["decisions"].as_u64() > Some(10) && report["diverged"].is_null(),
        "{report}"
    );
}

#[test]
fn request_of_an_agent_names_the_agent() {
    let bench = Bench::new();
    runtime().block_on(async {
        let call = LlmReply {
            said: vec![LlmSaid::call("pay", json!({"cents": 4200}))],
            usage: None,
        };
        let pay = T::simple("pay", "Pays", |_| async { Ok(json!({})) });
        let till = LlmAgent::new("till", ScriptedLlm::new([call])).tools(T::confirm(pay, "Pay?"));
        let agent = Agent::new()
            .model("m")
            .agent_tool("settle", "Settles", till);
        let engine = Engine::builder(bench.path("j")).agent("support", agent);
        let engine = engine.open().await.unwrap();
        let live = engine.session("support").open().await.unwrap();
        let mut updates = live.subscribe();
        let by = Actor::embedder("till");
        let asked = updates.wait_for(|it| it.kind() == "confirmation_requested");
        tokio::select! {
            _ = live.call_function("settle", json!({"request": "Pay it."}), by) => {}
            asked = asked => assert!(asked.is_some()),
        }
        engine.shutdown(Duration::ZERO).await.unwrap();
    });
    let told = bench.run("pending j").ends_with(0);
    told.prints(&["pay: Pay?", "  called by the agent settle, in call #"]);
    let lines = bench.run("pending j --json").ends_with(0).json_lines();
    assert_eq!(lines[0]["parent"]["tool"], "settle", "{lines:?}");
    assert!(lines[0]["parent"]["call"].as_u64() < lines[0]["call"].as_u64());
}

#[test]
fn reading_adds_nothing_to_the_log() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    let before = files(&bench.path("demo/log"));
    for command in [
        "sessions demo",
        "pending demo",
        "export demo",
        "verify demo",
        "replay demo",
        &format!("log demo {id}"),
        &format!("state demo {id} --at 9 --diff 4"),
    ] {
        bench.run(command).ends_with(0);
    }
    assert!(
        before == files(&bench.path("demo/log")),
        "a command that only reads has written"
    );
}

#[test]
fn colour_is_printed_on_request() {
    let bench = Bench::with_demo();
    let escape = '\u{1b}';
    assert!(!bench.run("sessions demo").ends_with(0).out.contains(escape));
    assert!(
        bench
            .run("sessions demo --color always")
            .ends_with(0)
            .out
            .contains(escape)
    );
    assert!(
        !bench
            .run("sessions demo --color never")
            .ends_with(0)
            .out
            .contains(escape)
    );
}

#[test]
fn closed_output_ends_the_command_silently() {
    let bench = Bench::with_demo();
    let mut command = bench.command("export demo");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap()
        ),
        (Some(141), String::new())
    );
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    };
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| read(entry.unwrap()))
        .collect()
}

#[test]
fn objects_of_a_verdict_and_a_request_are_shown() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    let records = bench.run(&format!("log demo {id} --json")).json_lines();
    let body = |kind: &str| {
        let found = records.iter().find(|it| it["kind"] == kind);
        found.map(|it| it["body"].clone()).unwrap()
    };
    let policies = body("policy_decided")["policies"]
        .as_str()
        .unwrap()
        .to_owned();
    let shown = bench.run(&format!("show demo {policies} --json"));
    let shown = shown.ends_with(0).json();
    assert_eq!(
        (&shown["kind"], &shown["hash"]),
        (&"policies".into(), &policies.clone().into())
    );
    assert!(
        shown["content"]["tools"]["refund"]["confirm"].is_object(),
        "{shown}"
    );

    let asked = body("confirmation_requested");
    for kind in ["contract", "declaration"] {
        let hash = asked[kind].as_str().unwrap();
        bench
            .run(&format!("show demo {}", &hash[..12]))
            .ends_with(0)
            .prints(&[&format!("{kind} {hash}"), "\"name\": \"refund\""]);
    }
    bench
        .run(&format!("show demo {}", "0".repeat(64)))
        .fails(1, "unknown-hash");
    bench.run("show demo nonsense").fails(2, "not-a-hash");
}
