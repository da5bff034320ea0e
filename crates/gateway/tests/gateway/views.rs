//! Random conversations in which nothing is held: both sides see exactly what was sent, in order.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio_tungstenite::tungstenite::Message;

use crate::bench::{Bench, Side, answer, call, calls};

#[derive(Clone, Debug)]
enum Step {
    FromVendor(Message),
    FromClient(Message),
    /// The number of calls in one message, all observed, and the one that is answered first.
    Calls(usize, usize),
}

fn message(text: String) -> impl Strategy<Value = Message> {
    any::<bool>().prop_map(move |is_binary| match is_binary {
        true => Message::binary(text.clone()),
        false => Message::text(text.clone()),
    })
}

fn step() -> impl Strategy<Value = Step> {
    let words = "[a-zA-Z éß\\\\u00e9{}:,]{0,12}";
    let quoted = |it: String| serde_json::Value::from(it).to_string();
    let audio = "[A-Za-z0-9+/_-]{0,400}";
    let from_vendor = prop_oneof![
        audio.prop_map(|it| {
            let data = format!(r#"{{"inlineData":{{"data":"{it}"}}}}"#);
            format!(r#"{{"serverContent": {{"modelTurn":{{"parts":[{data}]}}}}}}"#)
        }),
        words.prop_map(move |it| format!(
            r#"{{"serverContent":{{"outputTranscription":{{"text":{}}}}}}}"#,
            quoted(it)
        )),
        words.prop_map(move |it| format!(r#"{{ "brandNew" : {{"toolCall": {}}} }}"#, quoted(it))),
        Just(r#"{"serverContent":{"turnComplete":true},"usageMetadata":{"n":1.0}}"#.to_owned()),
    ];
    let from_client = prop_oneof![
        audio.prop_map(|it| format!(r#"{{"realtime_input":{{"audio": {{"data":"{it}"}}}}}}"#)),
        words.prop_map(move |it| format!(r#"{{"realtimeInput":{{"text":{}}}}}"#, quoted(it))),
        words.prop_map(move |it| format!(
            r#"{{"clientContent":{{"turns":[{{"parts":[{{"text":{}}}]}}],"turnComplete":true}}}}"#,
            quoted(it)
        )),
        words.prop_map(move |it| format!(r#"{{"unknownMember":[{}]}}"#, quoted(it))),
    ];
    prop_oneof![
        from_vendor
            .prop_flat_map(message)
            .prop_map(Step::FromVendor),
        from_client
            .prop_flat_map(message)
            .prop_map(Step::FromClient),
        (1..5_usize)
            .prop_flat_map(|all| (Just(all), 0..all))
            .prop_map(|(all, first)| { Step::Calls(all, first) }),
    ]
}

async fn play(steps: Vec<Step>) {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let (mut for_client, mut for_vendor) = (Vec::new(), Vec::new());
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::FromVendor(message) => {
                for_client.push(message.clone());
                vendor.send(message).await;
            }
            Step::FromClient(message) => {
                for_vendor.push(message.clone());
                client.send(message).await;
            }
            Step::Calls(all, first) => {
                assert_seen(&mut client, &mut for_client).await;
                let id = |it: usize| format!("{number}-{it}");
                let frame: Vec<String> = (0..all).map(|it| call(&id(it), "look_up")).collect();
                let frame = Message::binary(calls(&frame));
                for_client.push(frame.clone());
                vendor.send(frame).await;
                // A client answers only what it has.
                assert_seen(&mut client, &mut for_client).await;
                for it in 0..all {
                    let given = Message::text(answer(&id((first + it) % all), "look_up"));
                    for_vendor.push(given.clone());
                    client.send(given).await;
                }
            }
        }
    }
    assert_seen(&mut client, &mut for_client).await;
    assert_seen(&mut vendor, &mut for_vendor).await;
}

async fn assert_seen(side: &mut Side, expected: &mut Vec<Message>) {
    for message in expected.drain(..) {
        assert_eq!(side.next().await, Some(message));
    }
}

#[test]
fn both_sides_see_what_was_sent_in_order() {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config {
        cases: 24,
        failure_persistence: None,
        ..Config::default()
    });
    let steps = prop::collection::vec(step(), 0..30);
    runner
        .run(&steps, |steps| {
            runtime.block_on(play(steps));
            Ok(())
        })
        .unwrap();
}
