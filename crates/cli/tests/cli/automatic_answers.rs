//! The answer of a flag or a provider is recorded as that of a program.

use std::fs;
use std::path::Path;

use recount::StaticConfirmation;
use recount::prelude::*;
use recount::simulator::{Script, Simulator};
use serde_json::Value;

use crate::answering::TOOLS;
use crate::program::Bench;
use crate::service::runtime;

/// The model speaks when it has the response.
const SCRIPT: &str = concat!(
    r#"{"on": {"text": "please"}, "send": [{"call": [{"id": "r1", "name": "refund", "#,
    r#""args": {"order": "A-17"}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["r1"]}, "send": [{"say": "It is decided."}]}"#,
    "\n",
);

/// The only answer in a journal, and the totals of its audit.
fn answer_and_totals(bench: &Bench, journal: &str) -> (Value, Value) {
    let session = bench.session(journal);
    let log = bench.run(&format!("log {journal} {session} --json"));
    let lines = log.ends_with(0).json_lines();
    let answer = lines
        .iter()
        .find(|it| it["kind"] == "confirmation_answered");
    let audit = bench.run(&format!("audit decisions {journal} --json"));
    let rows = audit.ends_with(0).json_lines();
    let totals = rows.iter().find(|it| it["row"] == "totals");
    (answer.unwrap().clone(), totals.unwrap().clone())
}

fn is_by_program(bench: &Bench, journal: &str, decided: &str, without_person: u64) {
    let (answer, totals) = answer_and_totals(bench, journal);
    assert_eq!(answer["actor"]["kind"], "program");
    assert_eq!(answer["body"]["by"]["as"], json!({"program": decided}));
    assert_eq!(totals["answers"], json!({}), "{totals}");
    let answers: u64 = ["approved", "denied"]
        .iter()
        .filter_map(|it| totals["program_answers"][it].as_u64())
        .sum();
    assert_eq!(answers, 1, "{totals}");
    assert_eq!(
        totals["ran_without_confirmation"], without_person,
        "{totals}"
    );
    let table = bench
        .run(&format!("audit decisions {journal}"))
        .ends_with(0)
        .out;
    assert!(table.contains("answers of programs: 1"), "{table}");
    assert!(!table.contains("answers of people"), "{table}");
    bench.run(&format!("verify {journal}")).ends_with(0);
    bench.run(&format!("replay {journal}")).ends_with(0);
}

#[test]
fn flags_of_run_are_recorded_as_programs() {
    for (flag, without_person) in [("--approve-all", 1), ("--deny-all", 0)] {
        let bench = Bench::new();
        bench.write("tools.toml", TOOLS);
        let (_simulator, url) = bench.simulate(SCRIPT);
        let run =
            format!("run --tools tools.toml --endpoint {url} --journal j --text please {flag}");
        bench.run(&run).ends_with(0);
        is_by_program(&bench, "j", &format!("recount run {flag}"), without_person);
    }
}

#[test]
fn demo_without_a_terminal_is_approved_by_a_program() {
    let bench = Bench::new();
    for (flag, decided) in [
        ("", "recount demo without a terminal"),
        ("--approve", "recount demo --approve"),
    ] {
        bench
            .run(&format!("demo {flag} --journal demo"))
            .ends_with(0);
        let (answer, totals) = answer_and_totals(&bench, "demo");
        assert_eq!(answer["actor"]["kind"], "program");
        assert_eq!(answer["body"]["by"]["as"], json!({"program": decided}));
        assert_eq!(totals["program_answers"], json!({"approved": 1}));
    }
}

#[test]
fn provider_is_recorded_as_a_program() {
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let script = Script::parse(SCRIPT).unwrap();
        let simulator = Simulator::start(script)
            .listen("127.0.0.1:0")
            .await
            .unwrap();
        let refund = T::simple("refund", "Refunds", |_| async { Ok(json!({})) });
        let agent = Agent::new()
            .model("m")
            .tools(T::confirm(refund, "Refund?"))
            .confirmation_provider(StaticConfirmation::allow_all())
            .connect_to(Endpoint::url(simulator.url()));
        let engine = Engine::builder(bench.path("j")).agent("support", agent);
        let engine = engine.open().await.unwrap();
        let live = engine.session("support").connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("please").await.unwrap();
        let ended = |event: &recount::session::Event| event.kind() == "turn_completed";
        updates.wait_for(ended).await.unwrap();
        engine.shutdown(std::time::Duration::ZERO).await.unwrap();
    });
    is_by_program(&bench, "j", "StaticConfirmation::allow_all", 1);
}

#[test]
fn older_answers_are_of_a_person_or_a_program() {
    let bench = Bench::new();
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let file = root.join("fixtures/journals/rules-1/approved.jsonl");
    fs::copy(file, bench.path("story.jsonl")).unwrap();
    bench.run("import story.jsonl j").ends_with(0);
    let (answer, totals) = answer_and_totals(&bench, "j");
    assert_eq!(answer["actor"]["kind"], "person");
    assert_eq!(totals["answers"], json!({"approved": 1}));
    assert_eq!(totals["answers_not_distinguished"], 1);
    let table = bench.run("audit decisions j").ends_with(0).out;
    let said = "1 answer by a person or a program (not recorded which)";
    assert!(table.contains(said), "{table}");
}
