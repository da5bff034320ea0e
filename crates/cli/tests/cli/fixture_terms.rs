//! `recount fixture test` under a configuration or a policy file, and its report as JUnit XML.

use std::fs;
use std::time::Duration;

use recount::prelude::*;
use recount::simulator::{Script, Simulator};
use serde_json::json;

use crate::comparing::imported;
use crate::fixtures::exported;
use crate::program::Bench;
use crate::service::runtime;

/// A configuration without an endpoint, which no variable names either.
const CONFIG: &str = r#"
[keys]
store = "keys"
[agents.support]
model = "gemini-3.8-live"
tools = ["tools.toml"]
policies = "policies.toml"
"#;

/// A tool whose run would leave a file.
const TOOLS: &str = r#"
[[tool]]
name = "refund"
description = "Refunds"
command = ["sh", "-c", "touch ran; echo '{}'"]
confirm = "Refund it?"
"#;

/// The fixture `fixture` of an approved refund, with a configuration of the same policy.
pub(crate) fn configured() -> Bench {
    let bench = exported();
    bench.write("recount.toml", CONFIG);
    bench.write("tools.toml", TOOLS);
    bench.write("policies.toml", "");
    bench
}

pub(crate) const UNGATED: &str = "[tools.refund]\nconfirm = false\n";

#[test]
fn agent_of_a_configuration_plays_without_its_programs() {
    let bench = configured();
    bench
        .run("fixture test --config recount.toml fixture")
        .ends_with(0)
        .prints(&["fixture: passed\n1 of 1 passed\n"]);
    for name in ["ran", "keys"] {
        assert!(!bench.path(name).exists(), "{name}");
    }
}

#[test]
fn changed_policies_of_a_configuration_show_in_decisions() {
    let bench = configured();
    bench.write("policies.toml", UNGATED);
    let test = "fixture test --config recount.toml fixture";
    let told = bench.run(test).ends_with(5).prints(&[
        "fixture: failed\nThe steps of 1 call changed, and its outcome did not.\n",
        "policy_decided              call=5 verdict=ask rule=confirm\n",
        "policy_decided              call=5 verdict=allowed rule=default\n",
        "Not done: question 1 was not asked\n",
        "1 of 1 failed\n",
    ]);
    assert!(told.out.contains("/confirm"), "{told:?}");
    let told = bench.run(&format!("{test} --json")).ends_with(5).json();
    assert_eq!(
        (&told["as_recorded"], &told["outcomes"], &told["undone"]),
        (
            &json!(false),
            &json!([]),
            &json!(["question 1 was not asked"])
        )
    );
    let kinds = told["differences"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|it| it["difference"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"decision_changed"), "{told}");
    let dropped = &told["dropped"][0];
    assert_eq!(
        (&dropped["kind"], &dropped["why"]),
        (
            &json!("confirmation_answered"),
            &json!("question 1 was not asked")
        )
    );
    // Nothing was written.
    bench.run("fixture test fixture").ends_with(0);
}

#[test]
fn call_with_another_outcome_is_named() {
    let bench = configured();
    bench.write("tools.toml", &TOOLS.replace("\"refund\"", "\"pay\""));
    let told = bench.run("fixture test --config recount.toml fixture");
    let told = told.ends_with(5);
    let named = told.out.lines().find(|it| it.starts_with("  refund {"));
    let named = named.unwrap_or_else(|| panic!("{told:?}"));
    assert!(named.ends_with(", recorded was returned"), "{named}");
    told.prints(&["The outcome of 1 call changed:\n"]);
    let told = bench.run("fixture test --config recount.toml fixture --json");
    let outcome = &told.json()["outcomes"][0];
    assert_eq!(
        (&outcome["call"]["tool"], &outcome["recorded"]),
        (&json!("refund"), &json!("returned"))
    );
}

#[test]
fn policy_file_is_tried_over_either() {
    let bench = configured();
    bench.write("ungated.toml", UNGATED);
    for over in ["", "--config recount.toml"] {
        bench
            .run(&format!(
                "fixture test {over} --policy ungated.toml fixture"
            ))
            .ends_with(5)
            .prints(&["verdict=allowed"]);
    }
    bench.write("gated.toml", "[tools.refund]\nconfirm = \"Refund it?\"\n");
    bench.write("policies.toml", UNGATED);
    bench
        .run("fixture test --config recount.toml --policy gated.toml fixture")
        .ends_with(0);
    bench.write("misspelt.toml", "[tools.refnud]\nconfirm = false\n");
    bench
        .run("fixture test --policy misspelt.toml fixture")
        .ends_with(0)
        .prints(&["Warning: the policy file names tools that are not there: refnud\n"]);
    let told = bench.run("fixture test --policy misspelt.toml fixture --json");
    assert_eq!(told.json()["unknown_tools"], json!(["refnud"]));
}

#[test]
fn unfit_configuration_plays_nothing() {
    let bench = configured();
    let test = "fixture test --config recount.toml";
    bench.write("recount.toml", &CONFIG.replace("support", "orders"));
    bench
        .run(&format!("{test} fixture"))
        .fails(1, "unknown-agent")
        .prints_error(&[
            "recount.toml has no agent \"support\"; it has orders",
            "--agent",
        ]);
    bench
        .run(&format!("{test} --agent orders fixture"))
        .ends_with(0);
    bench.write("policies.toml", "[tools.refund]\nconfrim = false\n");
    bench
        .run(&format!("{test} fixture"))
        .fails(2, "config-file")
        .prints_error(&["policies.toml:2:1", "confrim"]);
    bench
        .run("fixture test --config nope.toml fixture")
        .fails(2, "io");
    bench
        .run("fixture test --agent orders fixture")
        .ends_with(2);
    bench
        .run("fixture test --policy policies.toml fixture")
        .fails(2, "policy-file");
}

/// A definition shows that the tool is of an MCP server.
#[test]
fn tools_of_mcp_servers_come_from_the_fixture() {
    let bench = configured();
    let header = fs::read_to_string(bench.path("fixture/fixture.json")).unwrap();
    let of_server = r#""name": "refund", "definition": {"server": "shop", "tool": {}},"#;
    let header = header.replacen("\"name\": \"refund\",", of_server, 1);
    assert!(header.contains(of_server), "{header}");
    bench.write("fixture/fixture.json", &header);
    let config = "[agents.support]\npolicies = \"policies.toml\"\n";
    let server = "[[agents.support.mcp]]\nserver = \"./no-such-server\"\n";
    bench.write("recount.toml", &format!("{config}{server}"));
    let gated = "[tools.refund]\nconfirm = \"Refund it?\"\n[tools.other]\nconfirm = true\n";
    bench.write("policies.toml", gated);
    let test = "fixture test --config recount.toml fixture";
    bench.run(test).ends_with(0);
    // The policies are those of the configuration.
    bench.write("policies.toml", "");
    bench.run(test).ends_with(5).prints(&["verdict=allowed"]);
    // Without a server the agent has no such tool.
    bench.write("recount.toml", "[agents.support]\n");
    bench.run(test).ends_with(5).prints(&["outcome of 1 call"]);
}

#[test]
fn calls_that_clients_ran_are_played() {
    let bench = Bench::new();
    let story = "claimed_by_a_client_over_a_restart";
    imported(&bench, story);
    let session = bench.session(story);
    bench
        .run(&format!("fixture export {story} {session} fixture"))
        .ends_with(0);
    let header = fs::read_to_string(bench.path("fixture/fixture.json")).unwrap();
    let header: serde_json::Value = serde_json::from_str(&header).unwrap();
    let mut config = format!("[agents.{}]\n", header["agent"].as_str().unwrap());
    for (name, tool) in header["catalog"]["tools"].as_object().unwrap() {
        assert_eq!(tool["kind"], "client", "{header:#}");
        let policy = &header["policies"]["tools"][name];
        let table = format!(
            "[[agents.{}.client_tools]]",
            header["agent"].as_str().unwrap()
        );
        config.push_str(&format!(
            "{table}\nname = \"{name}\"\ndescription = \"It\"\n"
        ));
        let in_doubt = policy["in_doubt"].as_str();
        config.push_str(&in_doubt.map_or_else(String::new, |it| format!("in_doubt = \"{it}\"\n")));
    }
    bench.write("recount.toml", &config);
    let told = bench.run("fixture test --config recount.toml fixture");
    told.ends_with(0).prints(&["1 of 1 passed"]);
}

const TWO_CALLS: &str = concat!(
    r#"{"on": {"text": "both"}, "send": [{"call": ["#,
    r#"{"id": "c1", "name": "refund", "args": {}}, {"id": "c2", "name": "wipe", "args": {}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["c1", "c2"]}, "send": [{"say": "Done."}]}"#,
    "\n",
);

/// A fixture in which a refund was approved, and then a wipe denied.
pub(crate) fn approved_and_denied() -> Bench {
    let bench = Bench::new();
    runtime().block_on(async {
        let simulator = Simulator::start(Script::parse(TWO_CALLS).unwrap());
        let simulator = simulator.listen("127.0.0.1:0").await.unwrap();
        let tool = |name| T::simple(name, "Does it", |_| async { Ok(json!({"done": true})) });
        let gated = |name| T::confirm(tool(name), "Do it?");
        let agent = Agent::new()
            .model("m")
            .tools(gated("refund") | gated("wipe"))
            .connect_to(Endpoint::url(simulator.url()));
        let engine = Engine::builder(bench.path("j")).agent("support", agent);
        let engine = engine.open().await.unwrap();
        let live = engine.session("support").connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("both").await.unwrap();
        for _ in 0..2 {
            let asked = updates.wait_for(|it| it.kind() == "confirmation_requested");
            assert!(asked.await.is_some());
        }
        for (tool, answer) in [
            ("refund", ToolConfirmation::confirmed()),
            ("wipe", ToolConfirmation::denied("no")),
        ] {
            let pending = live.pending().await.unwrap();
            let request = pending.iter().find(|it| it.tool == tool).unwrap().id;
            let by = Actor::embedder("ada");
            live.answer(request, answer, by).await.unwrap();
        }
        while updates.turn().await.as_deref() != Some("Done.") {}
        engine.shutdown(Duration::ZERO).await.unwrap();
    });
    let session = bench.session("j");
    bench
        .run(&format!("fixture export j {session} fixture"))
        .ends_with(0);
    bench.run("fixture test fixture").ends_with(0);
    bench.write("ungated.toml", UNGATED);
    bench
}

#[test]
fn answer_belongs_to_its_call_when_another_is_not_asked() {
    let bench = approved_and_denied();
    let told = bench.run("fixture test --policy ungated.toml fixture --json");
    let told = told.ends_with(5).json();
    assert_eq!(
        (&told["outcomes"], &told["undone"]),
        (&json!([]), &json!(["question 1 was not asked"])),
        "{told:#}"
    );
}

/// The report without times, which differ in each run.
fn without_times(bench: &Bench, name: &str) -> String {
    let text = fs::read_to_string(bench.path(name)).unwrap();
    let mut parts = text.split(" time=\"");
    let mut without = parts.next().unwrap().to_owned();
    for part in parts {
        let (time, rest) = part.split_once('"').unwrap();
        assert!(time.parse::<f64>().is_ok_and(|it| it >= 0.0), "{time}");
        assert_eq!(time.split_once('.').unwrap().1.len(), 3, "{time}");
        without.push_str(rest);
    }
    without
}

#[test]
fn junit_report_has_a_case_for_each_fixture() {
    let bench = exported();
    fs::create_dir(bench.path("other")).unwrap();
    for name in ["fixture.json", "steps.jsonl", "story.txt"] {
        fs::copy(
            bench.path(&format!("fixture/{name}")),
            bench.path(&format!("other/{name}")),
        )
        .unwrap();
    }
    let story = fs::read_to_string(bench.path("other/story.txt")).unwrap();
    let asked = story.replacen("rule=confirm", "rule=<&\u{1b}[2J\u{1}>", 1);
    assert_ne!(asked, story);
    bench.write("other/story.txt", &asked);
    let test = "fixture test fixture other nope --junit junit.xml";
    bench.run(test).ends_with(5);
    let differs = bench.run("fixture test other").ends_with(5).out;
    let lines: Vec<&str> = differs.lines().collect();
    // The report is that of the screen, between its heading and its last line.
    let report = lines[1..lines.len() - 1].join("\n");
    assert!(report.contains(r"rule=<&\u{1b}[2J\u{1}>"), "{report}");
    let first = report.lines().next().unwrap();
    let report = report
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;");
    let missing = "there is no fixture: nope/fixture.json is missing";
    let counts = r#"name="recount fixture test" tests="3" failures="1" errors="1""#;
    let expected = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites {counts}>
  <testsuite {counts} skipped="0">
    <testcase name="fixture" classname="support"/>
    <testcase name="other" classname="support">
      <failure type="diverged" message="{first}">{report}</failure>
    </testcase>
    <testcase name="nope" classname="recount fixture test">
      <error type="no-fixture" message="{missing}">{missing}</error>
    </testcase>
  </testsuite>
</testsuites>
"#
    );
    assert_eq!(without_times(&bench, "junit.xml"), expected);
}

#[test]
fn junit_report_replaces_a_file_only_if_it_may() {
    let bench = exported();
    bench.write("junit.xml", "mine");
    bench
        .run("fixture test fixture --junit junit.xml")
        .fails(1, "occupied");
    assert_eq!(fs::read_to_string(bench.path("junit.xml")).unwrap(), "mine");
    let test = "fixture test fixture --junit junit.xml --force";
    bench.run(test).ends_with(0);
    let report = without_times(&bench, "junit.xml");
    assert!(
        report.contains(r#"tests="1" failures="0" errors="0""#),
        "{report}"
    );
    bench
        .run("fixture test fixture --junit j/junit.xml")
        .fails(2, "within-journal");
    bench
        .run("fixture test fixture --junit -")
        .fails(2, "bad-request");
}

#[test]
fn junit_report_is_no_file_of_a_fixture() {
    let bench = exported();
    let story = || fs::read_to_string(bench.path("fixture/story.txt")).unwrap();
    let before = story();
    for file in [
        "fixture/story.txt",
        "fixture/../fixture/story.txt",
        "fixture/new.xml",
    ] {
        let test = format!("fixture test fixture --junit {file} --force");
        bench.run(&test).fails(2, "bad-request");
    }
    assert_eq!(story(), before);
    assert!(!bench.path("fixture/new.xml").exists());
}
