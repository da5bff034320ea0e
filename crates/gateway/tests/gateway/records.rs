//! The vendor gets of a client exactly the results and words that are on record.

use std::time::Duration;

use recount::prelude::*;
use recount::session::{Event, Finding, Observation, Seq};
use serde_json::{Value, json};

use crate::bench::{Bench, POLICIES, Side, agent, alone, answer, call, calls};

/// Answers that the journal cannot hold, and a part of the reason.
const UNFIT: [(&str, &str); 2] = [
    (r#"{"t":"\ud83d","amount":42}"#, "surrogate"),
    (r#"{"amount":1e999}"#, "number"),
];

const SESSION: [(&str, &str); 1] = [("x-recount-session", "s1")];

/// A bench whose held calls wait for a minute without an acknowledgement.
async fn inline() -> Bench {
    let agent = agent(POLICIES).acknowledge_after(Duration::from_secs(60));
    let engine = Engine::in_memory().agent("desk", agent);
    Bench::over(engine.open().await.unwrap()).await
}

/// A client's answer with this text.
fn answered(id: &str, name: &str, response: &str) -> String {
    let answer = format!(r#"{{"id":"{id}","scheduling":"SILENT","name":"{name}"}}"#);
    let answer = answer.replace(r#""name""#, &format!(r#""response": {response},"name""#));
    format!(r#"{{"toolResponse":{{"functionResponses":[{answer}]}}}}"#)
}

/// The observations of the only session.
async fn observed(bench: &Bench) -> Vec<Observation> {
    let session = bench.sessions().await[0].id;
    let facts = bench.engine.ledger().facts(session, Seq(1), 1_000).await;
    let observed = facts.unwrap().into_iter().filter_map(|it| match it.event {
        Event::Observed(observed) => Some(observed),
        Event::Decided(_) => None,
    });
    observed.collect()
}

/// The response of the only result on record, which has failed.
async fn failed_on_record(bench: &Bench) -> Value {
    let observed = observed(bench).await;
    let returned = observed.iter().filter_map(|it| {
        let Observation::ToolReturned(it) = it else {
            return None;
        };
        Some((it.failed, it.response.to_value()))
    });
    let returned: Vec<(bool, Value)> = returned.collect();
    let [(true, response)] = &returned[..] else {
        unreachable!("one failed result, not {returned:?}");
    };
    response.clone()
}

/// Checks that the vendor's next message has exactly this response, beside the other members.
async fn is_told(vendor: &mut Side, id: &str, response: &Value) {
    let told = vendor.next_json().await;
    let told = &told["toolResponse"]["functionResponses"][0];
    assert_eq!((&told["id"], &told["response"]), (&json!(id), response));
    assert_eq!(told["scheduling"], "SILENT", "{told}");
}

#[tokio::test]
async fn unfit_answer_to_an_observed_call_fails_on_record() {
    for (unfit, reason) in UNFIT {
        let mut bench = Bench::start().await;
        let (mut client, mut vendor) = bench.connected("k").await;
        vendor.binary(&calls(&[call("f1", "look_up")])).await;
        client.next_text().await;
        let updates = bench.engine.subscribe();
        client.text(&answered("f1", "look_up", unfit)).await;
        bench.recorded(updates, "tool_returned").await;
        let response = failed_on_record(&bench).await;
        assert!(response.to_string().contains(reason), "{response}");
        is_told(&mut vendor, "f1", &response).await;
    }
}

#[tokio::test]
async fn unfit_answer_to_a_held_call_fails_on_record() {
    for (unfit, reason) in UNFIT {
        let mut bench = inline().await;
        let (mut client, mut vendor) = bench.connected("k").await;
        vendor.binary(&calls(&[call("f1", "refund")])).await;
        bench.answer("refund", ToolConfirmation::confirmed()).await;
        assert_eq!(client.next_text().await, alone(&call("f1", "refund")));
        let updates = bench.engine.subscribe();
        client.text(&answered("f1", "refund", unfit)).await;
        bench.recorded(updates, "tool_returned").await;
        let response = failed_on_record(&bench).await;
        assert!(response.to_string().contains(reason), "{response}");
        is_told(&mut vendor, "f1", &response).await;
    }
}

/// Its outcome reaches the model as text, because the vendor has an acknowledgement.
#[tokio::test]
async fn unfit_answer_to_an_acknowledged_call_fails_on_record() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    client.next_text().await;
    client.text(&answered("f1", "refund", UNFIT[0].0)).await;
    let told = vendor.next_text().await;
    assert!(
        told.contains("[tool outcome]") && told.contains("surrogate"),
        "{told}"
    );
    failed_on_record(&bench).await;
}

#[tokio::test]
async fn unfit_late_answer_fails_on_record() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected_with("k", &SESSION, json!({})).await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    client.next_text().await;
    let updates = bench.engine.subscribe();
    client.drop_connection();
    bench.recorded(updates, "claim_ended").await;
    let (mut client, mut vendor) = bench.connected_with("k", &SESSION, json!({})).await;
    // The outcome is unknown, as the record says.
    vendor.next_json().await;
    client.text(&answered("f1", "refund", UNFIT[0].0)).await;
    let told = vendor.next_text().await;
    assert!(told.contains("surrogate"), "{told}");
    let found = observed(&bench).await.into_iter().find_map(|it| {
        let Observation::OutcomeFound(it) = it else {
            return None;
        };
        Some(it.found)
    });
    assert!(
        matches!(&found, Some(Finding::Failed(reason)) if reason.contains("surrogate")),
        "{found:?}"
    );
}

/// One of several results of a call.
#[tokio::test]
async fn unfit_interim_answer_is_recorded_as_the_vendor_gets_it() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "look_up")])).await;
    client.next_text().await;
    let interim = answered("f1", "look_up", UNFIT[0].0);
    let interim = interim.replace(r#""id""#, r#""willContinue":true,"id""#);
    let updates = bench.engine.subscribe();
    client.text(&interim).await;
    bench.recorded(updates, "tool_yielded").await;
    let yielded = observed(&bench).await.into_iter().find_map(|it| {
        let Observation::ToolYielded(it) = it else {
            return None;
        };
        Some(it.response.to_value())
    });
    is_told(&mut vendor, "f1", &yielded.unwrap()).await;
    client.text(&answer("f1", "look_up")).await;
    assert_eq!(vendor.next_text().await, answer("f1", "look_up"));
}

#[tokio::test]
async fn answer_with_a_key_twice_ends_the_connection() {
    for tool in ["look_up", "refund"] {
        let mut bench = inline().await;
        let (mut client, mut vendor) = bench.connected("k").await;
        vendor.binary(&calls(&[call("f1", tool)])).await;
        if tool == "refund" {
            bench.answer("refund", ToolConfirmation::confirmed()).await;
        }
        client.next_text().await;
        let twice = r#"{"a":[{"paid":false,"p\u0061id":true}]}"#;
        client.text(&answered("f1", tool, twice)).await;
        let close = client.closed().await;
        assert_eq!(close.map(|it| it.code.into()), Some(1007), "{tool}");
        let close = vendor.closed().await;
        assert_eq!(close.map(|it| it.code.into()), Some(1000), "{tool}");
    }
}

#[tokio::test]
async fn words_beside_answers_and_updates_are_recorded() {
    let content = r#""clientContent":{"turns":[{"parts":[{"text":"the words"}]}]}"#;
    let typed = r#""realtimeInput":{"text":"the words"}"#;
    for words in [content, typed] {
        for payload in [
            r#""toolResponse":{"functionResponses":[]}"#,
            r#""toolResponse":{"functionResponses":[{"id":"f9","response":{}}]}"#,
            r#""contextUpdate":{}"#,
            r#""contextUpdate":{"tools":{"tools":[]}}"#,
        ] {
            let mut bench = Bench::start().await;
            let (mut client, mut vendor) = bench.connected("k").await;
            let updates = bench.engine.subscribe();
            client.text(&format!("{{{payload},{words}}}")).await;
            let passed = vendor.next_text().await;
            assert!(passed.contains("the words"), "{passed}");
            bench.recorded(updates, "user_text_sent").await;
        }
    }
}

/// The words are checked as those of a message of their own.
#[tokio::test]
async fn unreadable_words_beside_answers_end_the_connection() {
    for payload in [r#""toolResponse":{}"#, r#""contextUpdate":{}"#] {
        let mut bench = Bench::start().await;
        let (mut client, mut vendor) = bench.connected("k").await;
        let message = format!(r#"{{{payload},"clientContent":{{"turns":7}}}}"#);
        client.text(&message).await;
        let close = client.closed().await;
        assert_eq!(close.map(|it| it.code.into()), Some(1007), "{message}");
        let close = vendor.closed().await;
        assert_eq!(close.map(|it| it.code.into()), Some(1000), "{message}");
    }
}
