//! `recount fixture`: exports, tests, updates and migrates fixtures.

use std::time::Duration;

use recount::prelude::*;
use recount::simulator::{Script, Simulator};

use crate::comparing::imported;
use crate::program::Bench;
use crate::sealing;
use crate::service::runtime;

const SCRIPT: &str = concat!(
    r#"{"on": {"text": "refund"}, "send": [{"call": [{"id": "c1", "name": "refund", "#,
    r#""args": {"order": 17, "card": "4111 1111"}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["c1"]}, "send": [{"say": "Refunded."}]}"#,
    "\n",
);

/// A bench with a journal `j`, in whose session a refund was approved, and its fixture `fixture`.
pub(crate) fn exported() -> Bench {
    let bench = Bench::new();
    runtime().block_on(async {
        let simulator = Simulator::start(Script::parse(SCRIPT).unwrap());
        let simulator = simulator.listen("127.0.0.1:0").await.unwrap();
        let refund = T::simple("refund", "Refunds", |_| async {
            Ok(json!({"refunded": true}))
        });
        let support = Agent::new()
            .model("m")
            .tools(T::confirm(refund, "Refund it?"))
            .connect_to(Endpoint::url(simulator.url()));
        let engine = Engine::builder(bench.path("j")).agent("support", support);
        let engine = engine.open().await.unwrap();
        let live = engine.session("support").connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("refund").await.unwrap();
        let asked = updates
            .wait_for(|it| it.kind() == "confirmation_requested")
            .await;
        assert!(asked.is_some());
        let pending = live.pending().await.unwrap();
        let granted = ToolConfirmation::confirmed();
        live.answer(pending[0].id, granted, Actor::embedder("ada"))
            .await
            .unwrap();
        while updates.turn().await.as_deref() != Some("Refunded.") {}
        engine.shutdown(Duration::ZERO).await.unwrap();
    });
    let session = bench.session("j");
    let told = bench.run(&format!(
        "fixture export j {session} fixture --redact /card --json"
    ));
    let told = told.ends_with(0).json();
    assert_eq!(
        (&told["fixture"], &told["session"]),
        (&json!("fixture"), &json!(session))
    );
    assert!(told["met"]["/card"].as_u64() > Some(0), "{told}");
    let steps = std::fs::read_to_string(bench.path("fixture/steps.jsonl")).unwrap();
    assert_eq!(told["steps"], json!(steps.lines().count()));
    assert!(!steps.contains("4111"), "{steps}");
    bench
}

#[test]
fn exported_fixture_passes_and_a_changed_one_fails() {
    let bench = exported();
    let told = bench.run("fixture test fixture");
    assert!(
        told.out.ends_with("fixture: passed\n1 of 1 passed\n"),
        "{told:?}"
    );
    assert_eq!(told.code, 0);
    let story = std::fs::read_to_string(bench.path("fixture/story.txt")).unwrap();
    let other = story.replacen("verdict=ask", "verdict=allowed", 1);
    assert_ne!(story, other);
    bench.write("fixture/story.txt", &other);
    let told = bench.run("fixture test fixture");
    assert_eq!(told.code, 5);
    let changed: Vec<&str> = told
        .out
        .lines()
        .filter(|it| it.starts_with(['-', '+']))
        .collect();
    assert_eq!(changed.len(), 2, "{told:?}");
    assert!(
        changed[0].starts_with('-') && changed[0].contains("verdict=allowed"),
        "{told:?}"
    );
    assert!(
        changed[1].starts_with('+') && changed[1].contains("verdict=ask"),
        "{told:?}"
    );
    assert!(told.out.ends_with("1 of 1 failed\n"), "{told:?}");
    let as_json = bench.run("fixture test fixture --json");
    assert_eq!(as_json.ends_with(5).json()["as_recorded"], json!(false));
    bench.run("fixture update fixture").ends_with(0);
    assert_eq!(
        std::fs::read_to_string(bench.path("fixture/story.txt")).unwrap(),
        story
    );
    let again = bench.run("fixture update fixture");
    assert_eq!(again.out, "fixture: unchanged\n");
}

#[test]
fn missing_and_newer_fixtures_are_refused() {
    let bench = exported();
    let told = bench.run("fixture migrate fixture");
    assert_eq!(told.out, "fixture: format 1, which is current\n");
    bench.run("fixture test elsewhere").fails(1, "no-fixture");
    let header = std::fs::read_to_string(bench.path("fixture/fixture.json")).unwrap();
    bench.write("fixture/fixture.json", &header.replacen(": 1,", ": 7,", 1));
    bench
        .run("fixture migrate fixture")
        .fails(1, "newer-format");
    let session = bench.session("j");
    let export = |rest: &str| bench.run(&format!("fixture export j {session} {rest}"));
    export("other --redact card").fails(2, "bad-request");
    export("fixture").fails(1, "occupied");
}

#[test]
fn session_and_its_fixture_have_no_difference() {
    let bench = exported();
    let same = bench.run("diff j fixture").ends_with(0);
    same.prints(&[
        "because the fixture redacts it: /card",
        "No difference: 1 turn, 1 call",
    ]);
    // The order of the two sides does not matter.
    let last = bench.run("diff fixture j --json").ends_with(0).json();
    assert_eq!(
        (&last["same"], &last["taken_out"], &last["calls"]),
        (&json!(true), &json!(["/card"]), &json!({"a": 1, "b": 1}))
    );
    bench.run("diff fixture fixture").ends_with(0);

    // A difference in the recorded story is shown below its call.
    let story = std::fs::read_to_string(bench.path("fixture/story.txt")).unwrap();
    let other = story
        .replacen(
            "verdict=ask rule=confirm",
            "verdict=allowed rule=default",
            1,
        )
        .replacen(r#"{"refunded":true}"#, r#"{"refunded":false}"#, 1);
    assert_ne!(story, other);
    bench.write("fixture/story.txt", &other);
    let told = bench.run("diff fixture j").ends_with(5);
    insta::assert_snapshot!("fixture_and_session", told.out);
    let lines = bench.run("diff j fixture --json").ends_with(5).json_lines();
    let decided = lines
        .iter()
        .find(|it| it["difference"] == "decision_changed")
        .unwrap();
    assert_eq!(
        (&decided["only_a"], &decided["only_b"]),
        (
            &json!(["policy_decided verdict=ask rule=confirm"]),
            &json!(["policy_decided verdict=allowed rule=default"])
        )
    );
    assert!(
        decided["call"]["seq"].is_u64() && decided["b"]["line"].is_u64(),
        "{decided}"
    );

    // The policies are in the header.
    let header = std::fs::read_to_string(bench.path("fixture/fixture.json")).unwrap();
    bench.write(
        "fixture/fixture.json",
        &header.replacen("Refund it?", "Really?", 1),
    );
    let lines = bench.run("diff j fixture --json").ends_with(5).json_lines();
    let policy = lines
        .iter()
        .find(|it| it["difference"] == "policy_changed")
        .unwrap();
    assert_eq!(
        policy["changes"],
        json!([{"at": "/confirm/hint", "a": "Refund it?", "b": "Really?"}])
    );
}

#[test]
fn fixture_is_not_compared_in_missing_parts() {
    let bench = exported();
    bench
        .run("diff j fixture --exact")
        .fails(2, "bad-request")
        .prints_error(&["no times and ids"]);
    std::fs::remove_file(bench.path("fixture/story.txt")).unwrap();
    bench
        .run("diff j fixture")
        .fails(1, "no-fixture")
        .prints_error(&["story.txt", "recount fixture update fixture"]);
    bench
        .run("diff fixture 0199")
        .fails(2, "not-a-session")
        .prints_error(&["JOURNAL:SESSION", "fixture"]);
}

const PAYMENT: &str = concat!(
    r#"{"on": {"text": "pin"}, "send": [{"call": [{"id": "c1", "name": "pay", "#,
    r#""args": {"order": "A-17", "pin": "four-digits"}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["c1"]}, "send": [{"say": "Paid with four-digits."}]}"#,
    "\n",
);

/// A tools file with a tool that returns its arguments.
const PAY: &str = r#"
[[tool]]
name = "pay"
description = "Pays"
command = ["cat"]
secret = ["/pin"]
"#;

#[test]
fn export_with_keys_has_no_secret_argument() {
    let bench = Bench::new();
    bench.write("tools.toml", PAY);
    let (_simulator, url) = bench.simulate(PAYMENT);
    let begin = format!(
        "run --tools tools.toml --endpoint {url} --journal j --keys k --text pin:four-digits"
    );
    sealing::run(&bench, "a", &begin)
        .ends_with(0)
        .prints(&["Paid with four-digits."]);
    let session = bench.session("j");
    let export = format!("fixture export j {session} fixture --keys k");
    sealing::run(&bench, "a", &export).ends_with(0);
    for name in ["fixture.json", "steps.jsonl", "story.txt"] {
        let written = std::fs::read_to_string(bench.path("fixture").join(name)).unwrap();
        assert!(!written.contains("four-digits"), "{name}: {written}");
    }
    let steps = std::fs::read_to_string(bench.path("fixture/steps.jsonl")).unwrap();
    assert!(
        steps.contains(r#""args":{"order":"A-17","pin":"[redacted]"}"#),
        "{steps}"
    );
    bench
        .run("fixture test fixture")
        .ends_with(0)
        .prints(&["1 of 1 passed"]);
}

#[test]
fn redaction_of_a_missing_value_is_warned_of() {
    let bench = exported();
    let session = bench.session("j");
    let export = format!("fixture export j {session} other --redact /card --redact /crad");
    bench.run(&export).ends_with(0).prints(&[
        "Redacted in 1 place: /card\n",
        "Warning: there is no value at /crad, so nothing was redacted",
    ]);
    let export = format!("fixture export j {session} third --redact /crad --json");
    let told = bench.run(&export).ends_with(0).json();
    assert_eq!(told["met"], json!({"/crad": 0}));
}

#[test]
fn fixture_without_a_story_fails_until_it_is_updated() {
    let bench = exported();
    let story = bench.path("fixture/story.txt");
    let before = std::fs::read_to_string(&story).unwrap();
    std::fs::remove_file(&story).unwrap();
    bench
        .run("fixture test fixture")
        .fails(1, "no-story")
        .prints_error(&["`recount fixture update DIR`"]);
    bench
        .run("fixture update fixture")
        .ends_with(0)
        .prints(&["fixture: updated"]);
    assert_eq!(std::fs::read_to_string(&story).unwrap(), before);
    bench.run("fixture test fixture").ends_with(0);
}

#[test]
fn a_format_below_the_first_is_refused() {
    let bench = exported();
    let header = std::fs::read_to_string(bench.path("fixture/fixture.json")).unwrap();
    bench.write("fixture/fixture.json", &header.replacen(": 1,", ": 0,", 1));
    for command in ["test", "update", "migrate"] {
        bench
            .run(&format!("fixture {command} fixture"))
            .fails(4, "damaged")
            .prints_error(&["is of format 0; formats count from 1"]);
    }
}

#[test]
fn fixtures_after_an_unusable_one_are_played() {
    let bench = exported();
    let told = bench.run("fixture test fixture nope fixture");
    let told = told.fails(1, "no-fixture").prints(&[
        "fixture: passed\n\
         nope: not played: there is no fixture: nope/fixture.json is missing\n\
         fixture: passed\n",
        "2 of 3 passed, 0 failed, 1 not played",
    ]);
    told.prints_error(&["1 of 3 fixtures not played; the first is nope: "]);
    let as_json = bench.run("fixture test fixture nope fixture --json");
    let lines = as_json.fails(1, "no-fixture").json_lines();
    let as_recorded: Vec<_> = lines.iter().map(|it| &it["as_recorded"]).collect();
    assert_eq!(as_recorded, [&json!(true), &json!(null), &json!(true)]);
    assert_eq!(lines[1]["error"]["code"], "no-fixture");
    let story = std::fs::read_to_string(bench.path("fixture/story.txt")).unwrap();
    bench.write(
        "fixture/story.txt",
        &story.replacen("verdict=ask", "verdict=allowed", 1),
    );
    bench
        .run("fixture test nope fixture")
        .ends_with(5)
        .prints(&["0 of 2 passed, 1 failed, 1 not played"]);
    bench
        .run("fixture update nope fixture")
        .fails(1, "no-fixture")
        .prints(&[
            "fixture: updated",
            "1 of 2 updated, 0 unchanged, 1 not played",
        ]);
    let updated = std::fs::read_to_string(bench.path("fixture/story.txt")).unwrap();
    assert_eq!(updated, story);
}

#[test]
fn an_export_replaces_no_file_of_a_fixture() {
    let bench = exported();
    let session = bench.session("j");
    for name in ["fixture.json", "steps.jsonl", "story.txt"] {
        std::fs::create_dir(bench.path(&format!("with-{name}"))).unwrap();
        bench.write(&format!("with-{name}/{name}"), "mine");
        bench
            .run(&format!("fixture export j {session} with-{name}"))
            .fails(1, "occupied");
        let files = std::fs::read_dir(bench.path(&format!("with-{name}"))).unwrap();
        assert_eq!(files.count(), 1, "{name}");
        let kept = std::fs::read_to_string(bench.path(&format!("with-{name}/{name}")));
        assert_eq!(kept.unwrap(), "mine");
    }
}

#[cfg(unix)]
#[test]
fn update_replaces_a_link_and_not_its_target() {
    let bench = exported();
    let story = bench.path("fixture/story.txt");
    let text = std::fs::read_to_string(&story).unwrap();
    let mine = text.replacen("verdict=ask", "verdict=allowed", 1);
    bench.write("mine.txt", &mine);
    std::fs::remove_file(&story).unwrap();
    std::os::unix::fs::symlink(bench.path("mine.txt"), &story).unwrap();
    bench.run("fixture update fixture").ends_with(0);
    assert_eq!(
        std::fs::read_to_string(bench.path("mine.txt")).unwrap(),
        mine
    );
    assert!(!story.symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(&story).unwrap(), text);
    let files = std::fs::read_dir(bench.path("fixture")).unwrap();
    assert_eq!(files.count(), 3, "no draft is left");
}

#[test]
fn migration_continues_after_an_unusable_fixture() {
    let bench = exported();
    let told = bench.run("fixture migrate nope fixture");
    told.fails(1, "no-fixture")
        .prints(&["nope: not migrated: ", "fixture: format 1"])
        .prints_error(&["1 of 2 fixtures not migrated; the first is nope: "]);
    let session = bench.session("j");
    for within in ["j", "j/deep/er", "fixture/../j/there"] {
        bench
            .run(&format!("fixture export j {session} {within}"))
            .fails(2, "within-journal")
            .prints_error(&[within]);
    }
    assert!(!bench.path("j/deep").exists());
}

/// Plays the demo as a fixture: its process is killed, and another one resumes the session.
fn demo_plays(answer: &str) {
    let bench = Bench::new();
    bench
        .run(&format!("demo {answer} --journal d"))
        .ends_with(0);
    let session = bench.session("d");
    bench
        .run(&format!("fixture export d {session} fixture"))
        .ends_with(0);
    let steps = std::fs::read_to_string(bench.path("fixture/steps.jsonl")).unwrap();
    let of = |kind: &str| steps.matches(&format!(r#""kind":"{kind}""#)).count();
    assert_eq!((of("process_gone"), of("process_began")), (1, 1), "{steps}");
    let told = bench.run("fixture test fixture").ends_with(0);
    told.prints(&["1 of 1 passed"]);
    bench.run("diff d fixture").ends_with(0);
    let migrated = bench.run("fixture migrate fixture").ends_with(0);
    migrated.prints(&["format 1, which is current"]);
    let updated = bench.run("fixture update fixture").ends_with(0);
    assert_eq!(updated.out, "fixture: unchanged\n");
}

#[test]
fn approved_demo_that_was_killed_plays_as_recorded() {
    demo_plays("--approve");
}

#[test]
fn denied_demo_that_was_killed_plays_as_recorded() {
    demo_plays("--deny");
}

/// Without a key store a process has no handle of an earlier one and sends the conversation so far.
/// So does the played fixture.
#[test]
fn session_without_keys_plays_without_earlier_handles() {
    let bench = Bench::new();
    let tools = include_str!("../../../../fixtures/tools/support.toml");
    bench.write("support.toml", tools);
    let (_simulator, url) = bench.simulate(
        r#"
{"on": {"text": "tool outcome"}, "once": false, "send": [{"say": "It was found."}]}
{"on": {"text": "go"}, "send": [{"handle": "h"}, {"call": [{"id": "w1", "name": "ask_warehouse"}]}]}
{"on": "otherwise", "send": [{"say": "Hello."}]}
"#,
    );
    let run = format!("run --tools support.toml --endpoint {url} --journal j");
    bench.run(&format!("{run} --text go")).ends_with(0);
    let session = bench.session("j");
    let log = bench.run(&format!("log j {session} --json")).ends_with(0);
    assert!(
        log.out.contains("resumption_handle_received"),
        "{}",
        log.out
    );
    let paused = bench.run("pending j --json").ends_with(0).json_lines();
    let call = paused[0]["call_id"].as_str().unwrap();
    let respond = format!("respond-call j {call} --response {{\"found\":true}}");
    bench.run(&respond).ends_with(0);
    bench.run(&format!("{run} --resume {session}")).ends_with(0);
    let log = bench.run(&format!("log j {session} --json")).ends_with(0);
    assert!(!log.out.contains("\"resumed\":\""), "{}", log.out);

    bench
        .run(&format!("fixture export j {session} fixture"))
        .ends_with(0);
    bench.run("fixture test fixture").ends_with(0);
}

/// Without the revocation, the leave allows the next call, too.
#[test]
fn fixture_of_a_revoked_leave_is_played() {
    let (bench, story) = (Bench::new(), "standing_leave_over_a_restart_until_revoked");
    imported(&bench, story);
    let export = format!(
        "fixture export {story} {} leave --json",
        bench.session(story)
    );
    bench.run(&export).ends_with(0);
    let played = bench.run("fixture test leave --json").ends_with(0).json();
    assert_eq!(
        (&played["as_recorded"], &played["undone"]),
        (&json!(true), &json!([]))
    );
    bench.run(&format!("diff {story} leave")).ends_with(0);
    let steps = std::fs::read_to_string(bench.path("leave/steps.jsonl")).unwrap();
    let kept = steps
        .lines()
        .filter(|it| !it.contains(r#""kind":"leave_revoked""#));
    let kept: Vec<&str> = kept.collect();
    assert_eq!(kept.len() + 1, steps.lines().count());
    bench.write("leave/steps.jsonl", &(kept.join("\n") + "\n"));
    let played = bench.run("fixture test leave --json").ends_with(5).json();
    let lines = played["story"].as_array().unwrap();
    let has = |side: &str, kind: &str| {
        let mut said = lines.iter().filter_map(|it| it[side].as_str());
        said.any(|it| it.contains(kind))
    };
    assert!(has("recorded", "leave_revoked"), "{played}");
    assert!(has("recorded", "confirmation_requested"), "{played}");
    assert!(has("played", "leave_used"), "{played}");
}
