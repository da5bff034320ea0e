//! Policies in a file: checked, and a journal decided again under them.

use std::fs;

use crate::program::Bench;

/// A journal of one story of the corpus.
fn imported(bench: &Bench, story: &str) {
    let root = concat!(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
        "/fixtures/journals/rules-1"
    );
    let file = format!("{story}.jsonl");
    fs::copy(format!("{root}/{file}"), bench.path(&file)).unwrap();
    bench.run(&format!("import {file} {story}")).ends_with(0);
}

/// The session's id, which is another one each time.
fn told(bench: &Bench, text: &str) -> String {
    text.replace(&bench.session("demo"), "SESSION")
}

#[test]
fn a_sound_file_is_said_to_be_sound() {
    let bench = Bench::new();
    bench.write(
        "p.toml",
        "timeout = \"10s\"\n[tools.refund]\nconfirm = true\n",
    );
    bench
        .run("policy check p.toml")
        .ends_with(0)
        .says(&["Sound: p.toml"]);
    let checked = bench.run("policy check p.toml --json").ends_with(0).json();
    assert_eq!(
        checked,
        serde_json::json!({"file": "p.toml", "sound": true, "mistakes": []})
    );
}

#[test]
fn every_mistake_of_a_file_is_told_at_once() {
    let bench = Bench::new();
    bench.write(
        "p.toml",
        "timeout = 5\n\n[tools.refund]\nconfirm = true\ntimout = \"10s\"\n",
    );
    let run = bench.run("policy check p.toml").fails(2, "policy-file");
    insta::assert_snapshot!(run.err, @r#"
    error[policy-file]: p.toml has 2 mistakes:
      - line 1: timeout: expected a time of at least 1 ms such as "500ms", "10s", "2m" or "1h", or false, found 5
      - line 5: tools.refund.timout: unknown key; did you mean "timeout"?
      help: `recount policy schema` prints what may stand there
    "#);
    let checked = bench.run("policy check p.toml --json").ends_with(2).json();
    assert_eq!(checked["sound"], false);
    assert_eq!(checked["mistakes"][1]["line"], 5);
    assert_eq!(checked["mistakes"][1]["field"], "tools.refund.timout");
    let many: String = (0..400).map(|it| format!("wrong{it} = 1\n")).collect();
    bench.write("many.toml", &many);
    let run = bench.run("policy check many.toml").fails(2, "policy-file");
    assert_eq!(run.err.matches(": unknown key").count(), 100);
    run.complains(&["400 mistakes", "\n  and 300 more\n"]);
    bench
        .run("policy check nowhere.toml")
        .fails(1, "io")
        .complains(&["nowhere.toml"]);
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
fn a_journal_is_decided_again_under_other_policies() {
    let bench = Bench::with_demo();
    bench.write(
        "p.toml",
        "[tools.refund]\nconfirm = false\n\n[tools.refnd]\nconfirm = true\n",
    );
    let run = bench.run("replay demo --policy p.toml").ends_with(0);
    insta::assert_snapshot!(told(&bench, &run.out), @r#"
    Session SESSION
      call  tool                  recorded                 under the policies
         5  lookup_order          allowed, returned        allowed, returned
         9  refund                asked, returned          allowed, returned
            nothing speaks against it
        13  ship_replacement      allowed, supplied        allowed, supplied
        17  charge_restocking_f…  allowed, failed          allowed, failed
    1 of 4 calls would have gone otherwise
           1  asked, returned -> allowed, returned
    note: no session has a tool "refnd", of which the policies speak
    "#);
    bench.write("none.json", "{}");
    bench
        .run("replay demo --policy none.json")
        .ends_with(0)
        .says(&["Nothing would have gone otherwise"]);
    bench.write("wrong.json", "{\"tool\": {}}");
    bench
        .run("replay demo --policy wrong.json")
        .fails(2, "policy-file")
        .complains(&["did you mean \"tools\"?"]);
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
    insta::assert_snapshot!(text.join("\n"), @r#"
    {"at":"TIME","call":5,"changed":true,"heard":null,"policy":{"attempts":null,"reason":null,"rule":"confirm","standing":null,"verdict":"ask"},"recorded":{"attempts":1,"reason":null,"rule":"default","standing":"returned","verdict":"allowed"},"session":"SESSION","tool":"lookup_order","unknown":{"call":null,"why":"nobody_asked","words":"a person would have been asked, and nobody was"}}
    {"at":"TIME","call":9,"changed":false,"heard":null,"policy":{"attempts":1,"reason":null,"rule":"confirm","standing":"returned","verdict":"ask"},"recorded":{"attempts":1,"reason":null,"rule":"confirm","standing":"returned","verdict":"ask"},"session":"SESSION","tool":"refund","unknown":null}
    {"at":"TIME","call":13,"changed":true,"heard":null,"policy":{"attempts":null,"reason":null,"rule":"confirm","standing":null,"verdict":"ask"},"recorded":{"attempts":1,"reason":null,"rule":"default","standing":"supplied","verdict":"allowed"},"session":"SESSION","tool":"ship_replacement","unknown":{"call":null,"why":"nobody_asked","words":"a person would have been asked, and nobody was"}}
    {"at":"TIME","call":17,"changed":true,"heard":null,"policy":{"attempts":null,"reason":null,"rule":"confirm","standing":null,"verdict":"ask"},"recorded":{"attempts":1,"reason":null,"rule":"default","standing":"failed","verdict":"allowed"},"session":"SESSION","tool":"charge_restocking_fee","unknown":{"call":null,"why":"nobody_asked","words":"a person would have been asked, and nobody was"}}
    {"totals":{"calls":4,"changed":3,"heard":0,"unknown":3,"verdicts":[{"calls":3,"policy":"asked","recorded":"allowed"}]},"unknown_tools":[]}
    "#);
}

#[test]
fn calls_before_which_the_model_had_heard_what_it_would_not_have_are_marked_in_their_rows() {
    let bench = Bench::new();
    imported(&bench, "every_policy_and_a_restart");
    bench.write("p.toml", "[defaults]\nconfirm = true\n");
    let run = bench.run("replay every_policy_and_a_restart --policy p.toml");
    insta::assert_snapshot!("under_gates_everywhere", run.ends_with(0).out);
}

#[test]
fn timeouts_limits_and_phases_of_one_file_are_decided_together() {
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
    let mut told = String::new();
    for story in ["every_policy_and_a_restart", "timed_out"] {
        imported(&bench, story);
        let run = bench.run(&format!("replay {story} --policy p.toml"));
        told += &format!("{story}\n{}\n", run.ends_with(0).out);
    }
    insta::assert_snapshot!("timeouts_limits_and_phases", told);
}
