//! Every view of a confirmation request shows the arguments that the request binds.

use std::sync::Arc;
use std::time::Duration;

use recount::adk::{CallArgs, Event, REQUEST_CONFIRMATION};
use recount::prelude::*;
use recount::tool::CommandTool;
use serde_json::Value;

use crate::program::Bench;
use crate::service::{Service, runtime};

const MODELS: &str = r#"{"days":9}"#;
const EDITED: &str = r#"{"days":9999}"#;

/// A service with a call of `shift` for 9 days, which the first approver changed to 9,999 days.
/// Returns the second request, too.
fn edited_request() -> (Service, String) {
    let mut service = Service::start();
    let first = service.ask_for("shift");
    let answer = ToolConfirmation::confirmed().with_args(json!({"days": 9999}));
    let answered = service
        .engine
        .answer(first.parse().unwrap(), answer, Actor::embedder("ada"));
    service.runtime.block_on(answered).unwrap();
    let pending = service.run("pending j --json").ends_with(0).json_lines();
    let second = pending[0]["request"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    (service, second)
}

/// The arguments on the last confirmation card of an ADK client, and the last answer on it.
fn adk_card_and_answer(service: &Service) -> (String, String) {
    let events = service.engine.adk_events(service.live.session_id());
    let events = service.runtime.block_on(events).unwrap();
    let calls = events.iter().flat_map(Event::calls);
    let card = calls.filter(|it| it.name == REQUEST_CONFIRMATION).last();
    let CallArgs::Confirmation(card) = &card.unwrap().args else {
        panic!("{card:?}")
    };
    let CallArgs::Given(args) = &card.original_function_call.args else {
        panic!("{card:?}")
    };
    let responses = events.iter().flat_map(Event::responses);
    let answers = responses.filter(|it| it.name == REQUEST_CONFIRMATION);
    let answer = answers.last().unwrap().response.to_string();
    (args.to_string(), answer)
}

#[test]
fn every_view_shows_the_arguments_that_an_edited_request_binds() {
    let (service, request) = edited_request();
    let pending = service.runtime.block_on(service.engine.pending()).unwrap();
    assert_eq!(pending[0].args.as_str(), EDITED);
    let (card, answer) = adk_card_and_answer(&service);
    assert_eq!(card, EDITED);
    assert_eq!(
        answer,
        format!(r#"{{"confirmed":true,"editedArgs":{EDITED}}}"#)
    );
    let listed = service.run("pending j").ends_with(0).out;
    assert!(
        listed.contains(EDITED) && !listed.contains(MODELS),
        "{listed}"
    );

    let log = service.run(&format!("log j {}", service.session()));
    let log = log.ends_with(0).out;
    let asked: Vec<&str> = log
        .lines()
        .filter(|it| it.contains(" requested: "))
        .collect();
    assert_eq!(asked.len(), 2, "{log}");
    assert!(
        asked[0].contains(MODELS) && asked[1].contains(EDITED),
        "{log}"
    );
    let approved = log.lines().find(|it| it.contains("approved by"));
    assert!(approved.unwrap().contains(EDITED), "{log}");

    let yes = ToolConfirmation::confirmed();
    let answered = service
        .engine
        .answer(request.parse().unwrap(), yes, Actor::embedder("grace"));
    service.runtime.block_on(answered).unwrap();
    service.shut_down();
    let rows = service
        .run("audit decisions j --json")
        .ends_with(0)
        .json_lines();
    let call = rows.iter().find(|it| it["row"] == "call").unwrap();
    let bound: Vec<&Value> = call["questions"].as_array().unwrap().iter().collect();
    assert_eq!(bound[0]["args"], json!({"days": 9}), "{call}");
    assert_eq!(bound[1]["args"], json!({"days": 9999}), "{call}");
    assert_eq!(call["edited_args"], json!({"days": 9999}));
    let full = service.run("audit decisions j --full").ends_with(0).out;
    let asked: Vec<&str> = full
        .lines()
        .filter(|it| it.contains("approval requested"))
        .collect();
    assert!(asked[0].contains(&format!("changed to {EDITED}")), "{full}");
    assert!(asked[1].contains(&format!("for {EDITED}")), "{full}");
}

/// `log --json` is no view: it prints the bytes of the record.
#[test]
fn unseen_characters_are_escaped_in_every_view() {
    let unseen = [
        '\t',
        '\u{a0}',
        '\u{34f}',
        '\u{115f}',
        '\u{180e}',
        '\u{200b}',
        '\u{200d}',
        '\u{202e}',
        '\u{2063}',
        '\u{2800}',
        '\u{3000}',
        '\u{3164}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{fff9}',
        '\u{1bca0}',
        '\u{1d173}',
        '\u{e000}',
        '\u{e0041}',
        '\u{10ffff}',
    ];
    let to: String = unseen.iter().flat_map(|it| ['x', *it]).collect();
    let (bench, runtime) = (Bench::new(), runtime());
    let tool = CommandTool::new("pay", "Pays", None, "cat", []);
    let pay = T::confirm(T::function(Arc::new(tool)), format!("Pay {to}?"));
    let builder = Engine::builder(bench.path("j"));
    let builder = builder.agent("a", Agent::new().model("m").tools(pay));
    let engine = runtime.block_on(builder.open()).unwrap();
    let live = runtime.block_on(engine.session("a").open()).unwrap();
    let (mut updates, session) = (live.subscribe(), live.session_id());
    let args = json!({ "to": to });
    runtime.spawn(async move {
        let _ = live
            .call_function("pay", args, Actor::embedder("ada"))
            .await;
    });
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    runtime.block_on(asked).unwrap();
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    let waiting = bench.run("pending j --json").ends_with(0);
    let request = waiting.json_lines()[0]["request"]
        .as_str()
        .unwrap()
        .to_owned();
    let log = bench.run(&format!("log j {session} --json")).ends_with(0);
    let attached = log
        .json_lines()
        .into_iter()
        .find(|it| it["kind"] == "runner_attached");
    let policies = attached.unwrap()["body"]["policies"]
        .as_str()
        .unwrap()
        .to_owned();
    let views = [
        format!("show j {policies}"),
        "pending j".to_owned(),
        "pending j --json".to_owned(),
        format!("log j {session}"),
        "audit decisions j --full".to_owned(),
        "audit decisions j --csv".to_owned(),
        format!("approve j {request} --yes"),
    ];
    for view in views {
        let shown = bench.run(&view).ends_with(0).out;
        let raw: Vec<&char> = unseen.iter().filter(|it| shown.contains(**it)).collect();
        assert!(
            raw.is_empty() && shown.contains("34f"),
            "{view}: {raw:?} in {shown}"
        );
    }
}
