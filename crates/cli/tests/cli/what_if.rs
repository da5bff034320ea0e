//! Policy files: their check, and a replay with other policies.

use std::fs;

use crate::program::Bench;

/// Imports a journal of the corpus.
fn imported(bench: &Bench, story: &str) {
    let root = concat!(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
        "/fixtures/journals/rules-1"
    );
    let file = format!("{story}.jsonl");
    fs::copy(format!("{root}/{file}"), bench.path(&file)).unwrap();
    bench.run(&format!("import {file} {story}")).ends_with(0);
}

/// The text with the id of the session replaced, which differs in each run.
fn without_id(bench: &Bench, text: &str) -> String {
    text.replace(&bench.session("demo"), "SESSION")
}

#[test]
fn file_without_mistakes_is_accepted() {
    let bench = Bench::new();
    bench.write(
        "p.toml",
        "timeout = \"10s\"\n[tools.refund]\nconfirm = true\n",
    );
    bench
        .run("policy check p.toml")
        .ends_with(0)
        .prints(&["No mistakes: p.toml"]);
    let checked = bench.run("policy check p.toml --json").ends_with(0).json();
    assert_eq!(
        checked,
        serde_json::json!({"file": "p.toml", "sound": true, "mistakes": []})
    );
}

#[test]
fn every_mistake_of_a_file_is_listed() {
    let bench = Bench::new();
    bench.write(
        "p.toml",
        "timeout = 5\n\n[tools.refund]\nconfirm = true\ntimout = \"10s\"\n",
    );
    let run = bench.run("policy check p.toml").fails(2, "policy-file");
    insta::assert_snapshot!("mistakes_of_a_policy_file", run.err);
    let checked = bench.run("policy check p.toml --json").ends_with(2).json();
    assert_eq!(checked["sound"], false);
    assert_eq!(checked["mistakes"][1]["line"], 5);
    assert_eq!(checked["mistakes"][1]["field"], "tools.refund.timout");
    let many: String = (0..400).map(|it| format!("wrong{it} = 1\n")).collect();
    bench.write("many.toml", &many);
    let run = bench.run("policy check many.toml").fails(2, "policy-file");
    assert_eq!(run.err.matches(": unknown key").count(), 100);
    run.prints_error(&["400 mistakes", "\n  and 300 more\n"]);
    bench
        .run("policy check nowhere.toml")
        .fails(1, "io")
        .prints_error(&["nowhere.toml"]);
}

#[test]
fn the_schema_is_printed_as_it_is_published() {
    let published = concat!(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
        "/docs/policy.schema.json"
    );
    let run = Bench::new().run("policy schema").ends_with(0);
    assert_eq!(run.out, std::fs::read_to_string(published).unwrap());
}

#[test]
fn journal_is_replayed_with_other_policies() {
    let bench = Bench::with_demo();
    bench.write(
        "p.toml",
        "[tools.refund]\nconfirm = false\n\n[tools.refnd]\nconfirm = true\n",
    );
    let run = bench.run("replay demo --policy p.toml").ends_with(0);
    insta::assert_snapshot!(without_id(&bench, &run.out), @r#"
    Session SESSION
      call  tool                  recorded                 with the new policies
         5  lookup_order          allowed, returned        allowed, returned
         9  refund                approval, returned       allowed, returned
            no policy asked
        13  ship_replacement      allowed, supplied        allowed, supplied
        17  charge_restocking_f…  allowed, failed          allowed, failed
    1 of 4 calls would change
           1  approval, returned -> allowed, returned
    note: the policies name a tool "refnd" that no session has
    "#);
    bench.write("none.json", "{}");
    bench
        .run("replay demo --policy none.json")
        .ends_with(0)
        .prints(&["No call would change"]);
    bench.write("wrong.json", "{\"tool\": {}}");
    bench
        .run("replay demo --policy wrong.json")
        .fails(2, "policy-file")
        .prints_error(&["did you mean \"tools\"?"]);
}

#[test]
fn every_call_is_a_line_of_json_and_the_totals_are_the_last() {
    let bench = Bench::with_demo();
    bench.write("p.json", r#"{"defaults": {"confirm": true}}"#);
    let run = bench.run("replay demo --policy p.json --json").ends_with(0);
    let mut lines = run.json_lines();
    for line in &mut lines {
        if line.get("at").is_some() {
            line["at"] = "TIME".into();
            line["session"] = "SESSION".into();
        }
    }
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!("calls_and_totals_as_json", text.join("\n"));
}

#[test]
fn calls_after_other_messages_are_marked() {
    let bench = Bench::new();
    imported(&bench, "every_policy_and_a_restart");
    bench.write("p.toml", "[defaults]\nconfirm = true\n");
    let run = bench.run("replay every_policy_and_a_restart --policy p.toml");
    insta::assert_snapshot!("under_gates_everywhere", run.ends_with(0).out);
}

#[test]
fn timeouts_limits_and_phases_are_decided_together() {
    let bench = Bench::new();
    bench.write(
        "p.toml",
        r#"
timeout = "5s"

[tools.pay]
timeout = "1h"

[tools.look]
cached = false
limit_per_session = 1

[[phases]]
name = "verify"
instruction = "Verify the caller."
tools = ["verify", "look", "pay"]

[[phases.transitions]]
to = "inform"
when = { is_true = "verified" }

[[phases]]
name = "inform"
tools = ["look"]
"#,
    );
    bench.run("policy check p.toml").ends_with(0);
    let mut shown = String::new();
    for story in ["every_policy_and_a_restart", "timed_out"] {
        imported(&bench, story);
        let run = bench.run(&format!("replay {story} --policy p.toml"));
        shown += &format!("{story}\n{}\n", run.ends_with(0).out);
    }
    insta::assert_snapshot!("timeouts_limits_and_phases", shown);
}
