//! `recount fixture`: what a journal's session plays to, and where it went another way.

use std::time::Duration;

use recount::prelude::*;
use recount::simulator::{Script, Simulator};

use crate::program::Bench;
use crate::sealing;
use crate::service::runtime;

const SCRIPT: &str = r#"
{"on": {"text": "refund"}, "send": [{"call": [{"id": "c1", "name": "refund", "args": {"order": 17, "card": "4111 1111"}}]}]}
{"on": {"responses_to": ["c1"]}, "send": [{"say": "Refunded."}]}
"#;

/// The journal `j` with one session, in which a refund was granted, and that as the fixture
/// `fixture`.
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
fn what_was_exported_plays_as_recorded_and_a_story_that_differs_is_shown() {
    let bench = exported();
    let told = bench.run("fixture test fixture");
    assert!(
        told.out.ends_with("Played as recorded: 1 fixture\n"),
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
    assert!(
        told.out.ends_with("1 of 1 fixture went another way\n"),
        "{told:?}"
    );
    let as_json = bench.run("fixture test fixture --json");
    assert_eq!(as_json.ends_with(5).json()["as_recorded"], json!(false));
    bench.run("fixture update fixture").ends_with(0);
    assert_eq!(
        std::fs::read_to_string(bench.path("fixture/story.txt")).unwrap(),
        story
    );
    let again = bench.run("fixture update fixture");
    assert_eq!(again.out, "fixture: as it was\n");
}

#[test]
fn what_is_no_fixture_or_a_later_one_says_so() {
    let bench = exported();
    let told = bench.run("fixture migrate fixture");
    assert_eq!(told.out, "fixture: of format 1, which is current\n");
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
fn a_session_beside_the_fixture_of_it_is_the_same_and_beside_another_story_it_is_not() {
    let bench = exported();
    let same = bench.run("diff j fixture").ends_with(0);
    same.says(&[
        "since the fixture has it taken out: /card",
        "The same: 1 turn, 1 call",
    ]);
    // Which side the fixture is on makes no difference.
    let last = bench.run("diff fixture j --json").ends_with(0).json();
    assert_eq!(
        (&last["same"], &last["taken_out"], &last["calls"]),
        (&json!(true), &json!(["/card"]), &json!({"a": 1, "b": 1}))
    );
    bench.run("diff fixture fixture").ends_with(0);

    // What the story on record says otherwise is told of the call that it is about.
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
    insta::assert_snapshot!("a_fixture_beside_a_session", told.out);
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

    // The policies stand in the header.
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
fn what_a_fixture_does_not_hold_is_not_compared_as_if_it_did() {
    let bench = exported();
    bench
        .run("diff j fixture --exact")
        .fails(2, "bad-request")
        .complains(&["no times and ids"]);
    std::fs::remove_file(bench.path("fixture/story.txt")).unwrap();
    bench
        .run("diff j fixture")
        .fails(1, "no-fixture")
        .complains(&["story.txt", "recount fixture update fixture"]);
    bench
        .run("diff fixture 0199")
        .fails(2, "not-a-session")
        .complains(&["JOURNAL:SESSION", "fixture"]);
}

const PAYMENT: &str = r#"
{"on": {"text": "pin"}, "send": [{"call": [{"id": "c1", "name": "pay", "args": {"order": "A-17", "pin": "four-digits"}}]}]}
{"on": {"responses_to": ["c1"]}, "send": [{"say": "Paid with four-digits."}]}
"#;

/// It returns what it was given.
const PAY: &str = r#"
[[tool]]
name = "pay"
description = "Pays"
command = ["cat"]
secret = ["/pin"]
"#;

#[test]
fn what_a_tool_declares_secret_is_in_no_file_of_an_export_with_the_keys() {
    let bench = Bench::new();
    bench.write("tools.toml", PAY);
    let (_simulator, url) = bench.simulate(PAYMENT);
    let begin = format!(
        "run --tools tools.toml --endpoint {url} --journal j --keys k --text pin:four-digits"
    );
    sealing::run(&bench, "a", &begin)
        .ends_with(0)
        .says(&["Paid with four-digits."]);
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
        .says(&["Played as recorded: 1 fixture"]);
}

#[test]
fn a_field_that_stands_nowhere_is_said() {
    let bench = exported();
    let session = bench.session("j");
    let export = format!("fixture export j {session} other --redact /card --redact /crad");
    bench.run(&export).ends_with(0).says(&[
        "Taken out of 1 place: /card\n",
        "Warning: nothing stands at /crad, so nothing was taken out for it",
    ]);
    let export = format!("fixture export j {session} third --redact /crad --json");
    let told = bench.run(&export).ends_with(0).json();
    assert_eq!(told["met"], json!({"/crad": 0}));
}

#[test]
fn a_fixture_without_its_story_is_no_success_and_update_writes_one() {
    let bench = exported();
    let story = bench.path("fixture/story.txt");
    let before = std::fs::read_to_string(&story).unwrap();
    std::fs::remove_file(&story).unwrap();
    bench
        .run("fixture test fixture")
        .fails(1, "no-story")
        .complains(&["`recount fixture update DIR`"]);
    bench
        .run("fixture update fixture")
        .ends_with(0)
        .says(&["fixture: updated"]);
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
            .complains(&["is of format 0; formats count from 1"]);
    }
}

#[test]
fn those_behind_one_that_cannot_be_played_are_played_all_the_same() {
    let bench = exported();
    let told = bench.run("fixture test fixture nope fixture");
    let told = told.fails(1, "no-fixture").says(&[
        "fixture: as recorded\nnope: not played: there is no fixture: nope/fixture.json is missing\nfixture: as recorded\n",
        "Of 3 fixtures: 2 as recorded, 0 went another way, 1 not played",
    ]);
    told.complains(&["1 of 3 fixtures not played; the first is nope: "]);
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
        .says(&["Of 2 fixtures: 0 as recorded, 1 went another way, 1 not played"]);
    bench
        .run("fixture update nope fixture")
        .fails(1, "no-fixture")
        .says(&[
            "fixture: updated",
            "Of 2 fixtures: 1 updated, 0 as it was, 1 not played",
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
fn an_update_replaces_a_link_and_not_what_it_leads_to() {
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
fn a_migration_goes_on_behind_one_that_is_no_fixture_and_an_export_stays_out_of_the_journal() {
    let bench = exported();
    let told = bench.run("fixture migrate nope fixture");
    told.fails(1, "no-fixture")
        .says(&["nope: not migrated: ", "fixture: of format 1"])
        .complains(&["1 of 2 fixtures not migrated; the first is nope: "]);
    let session = bench.session("j");
    for within in ["j", "j/deep/er", "fixture/../j/there"] {
        bench
            .run(&format!("fixture export j {session} {within}"))
            .fails(2, "within-journal")
            .complains(&[within]);
    }
    assert!(!bench.path("j/deep").exists());
}

/// The demo's journal as a fixture: its process is killed, and another one goes on.
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
    told.says(&["Played as recorded: 1 fixture"]);
    bench.run("diff d fixture").ends_with(0);
    let migrated = bench.run("fixture migrate fixture").ends_with(0);
    migrated.says(&["of format 1, which is current"]);
    let updated = bench.run("fixture update fixture").ends_with(0);
    assert_eq!(updated.out, "fixture: as it was\n");
}

#[test]
fn approved_demo_that_was_killed_plays_as_recorded() {
    demo_plays("--approve");
}

#[test]
fn denied_demo_that_was_killed_plays_as_recorded() {
    demo_plays("--deny");
}

/// Without a key store, the handle of a process is gone with it, and the next one tells the story:
/// so does the play.
#[test]
fn session_without_keys_plays_without_earlier_handles() {
    let bench = Bench::new();
    let tools = include_str!("../../../../fixtures/tools/support.toml");
    bench.write("support.toml", tools);
    let (_simulator, url) = bench.simulate(
        r#"
{"on": {"text": "tool outcome"}, "once": false, "send": [{"say": "It was found."}]}
{"on": {"text": "start"}, "send": [{"handle": "h1"}, {"call": [{"id": "w1", "name": "ask_warehouse", "args": {}}]}]}
{"on": "otherwise", "send": [{"say": "Hello."}]}
"#,
    );
    let run = format!("run --tools support.toml --endpoint {url} --journal j");
    bench.run(&format!("{run} --text start")).ends_with(0);
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
