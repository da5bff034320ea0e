//! `recount fixture`: what a journal's session plays to, and where it went another way.

use std::time::Duration;

use recount::prelude::*;
use recount::simulator::{Script, Simulator};

use crate::program::Bench;
use crate::service::runtime;

const SCRIPT: &str = r#"
{"on": {"text": "refund"}, "send": [{"call": [{"id": "c1", "name": "refund", "args": {"order": 17, "card": "4111 1111"}}]}]}
{"on": {"responses_to": ["c1"]}, "send": [{"say": "Refunded."}]}
"#;

/// The journal `j` with one session, in which a refund was granted, and that as the fixture `fixture`.
fn exported() -> Bench {
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
