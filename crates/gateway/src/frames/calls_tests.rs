//! Tests of the division of a vendor's messages.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

use proptest::prelude::*;
use recount::live::wire::ServerMessage;

use super::*;

fn refusal(frame: &str) -> FrameError {
    match split(frame) {
        Ok(divided) => unreachable!("{frame} is divided: {divided:?}"),
        Err(error) => error,
    }
}

#[test]
fn mixed_message_is_divided_byte_for_byte() {
    let first = r#"{"id":"a", "name":"pay","args":{"cents":9007199254740993,"n":1.0e2}}"#;
    let second = r#"{ "name":"l\u006fok" }"#;
    let usage = r#""usageMetadata" : {"totalTokenCount":7}"#;
    let frame = format!(
        r#"{{ {usage} ,"toolCall":{{"functionCalls":[{first} , {second}],"new":1}},"x":null}}"#
    );
    let divided = split(&frame).unwrap();
    let texts: Vec<_> = divided.calls.iter().map(|it| it.text).collect();
    assert_eq!(texts, [first, second]);
    assert_eq!(divided.calls[0].id.as_deref(), Some("a"));
    assert_eq!(divided.calls[0].name.as_deref(), Some("pay"));
    assert_eq!(divided.calls[1].id, None);
    assert_eq!(divided.calls[1].name.as_deref(), Some("look"));
    assert!(!divided.calls[0].is_piece);
    assert_eq!(divided.beside_calls, [r#""new":1"#]);
    assert_eq!(divided.rest.unwrap(), format!(r#"{{{usage},"x":null}}"#));
    assert!(divided.cancelled.is_none());
    let alone = frame_of(&[second]);
    assert_eq!(
        alone,
        r#"{"toolCall":{"functionCalls":[{ "name":"l\u006fok" }]}}"#
    );
}

#[test]
fn lone_calls_leave_no_rest() {
    let divided = split(r#"{"tool_call":{"function_calls":[{"id":"","name":null}]}}"#).unwrap();
    assert!(divided.rest.is_none());
    assert_eq!(divided.calls[0].id, None);
    assert_eq!(divided.calls[0].name, None);
    for frame in ["{}", r#"{"toolCall":null}"#, r#"{"toolCall":{}}"#] {
        let divided = split(frame).unwrap();
        assert!(
            divided.calls.is_empty() && divided.rest.is_none(),
            "{frame}"
        );
    }
}

#[test]
fn pieces_of_a_streamed_call_are_known() {
    for (call, is_piece) in [
        (r#"{"name":"a","partialArgs":[],"willContinue":true}"#, true),
        (r#"{"name":"a","partial_args":[{"jsonPath":"$.a"}]}"#, true),
        (r#"{"will_continue":false}"#, true),
        (r#"{"name":"a","args":{"willContinue":true}}"#, false),
        (
            r#"{"name":"a","partialArgs":null,"willContinue":null}"#,
            false,
        ),
    ] {
        let frame = frame_of(&[call]);
        let divided = split(&frame).unwrap();
        assert_eq!(divided.calls[0].is_piece, is_piece, "{call}");
    }
}

#[test]
fn cancellation_is_read_and_written() {
    let frame = r#"{"toolCallCancellation":{"ids":["a\"b","c"]},"usageMetadata":{}}"#;
    let divided = split(frame).unwrap();
    let cancelled = divided.cancelled.unwrap();
    assert_eq!(cancelled.ids, ["a\"b", "c"]);
    assert_eq!(
        cancelled.text,
        r#""toolCallCancellation":{"ids":["a\"b","c"]}"#
    );
    assert_eq!(divided.rest.as_deref(), Some(r#"{"usageMetadata":{}}"#));
    let written = cancellation(cancelled.ids.iter().map(String::as_str));
    assert_eq!(
        split(&written).unwrap().cancelled.unwrap().ids,
        cancelled.ids
    );
    assert!(matches!(
        refusal(r#"{"toolCallCancellation":{"ids":[7]}}"#),
        FrameError::WrongType { key: "ids", .. }
    ));
}

#[test]
fn message_that_two_readers_read_differently_is_refused() {
    for frame in [
        r#"{"toolCall":{},"toolCall":{}}"#,
        r#"{"toolCall":{},"tool_call":{}}"#,
        r#"{"toolCall":{},"tool\u0043all":{}}"#,
        r#"{"serverContent":{},"serverContent":{}}"#,
        r#"{"toolCall":{"functionCalls":[],"function_calls":[]}}"#,
        r#"{"toolCall":{"functionCalls":[{"name":"a","name":"b"}]}}"#,
        r#"{"toolCall":{"functionCalls":[{"id":"a","args":{},"args":{}}]}}"#,
        r#"{"toolCallCancellation":{"ids":[],"ids":["a"]}}"#,
    ] {
        let refused = refusal(frame);
        assert!(
            matches!(refused, FrameError::Ambiguous(_)),
            "{frame}: {refused}"
        );
    }
    for frame in [
        r#"{"ToolCall":{}}"#,
        r#"{"toolCall":{"FunctionCalls":[]}}"#,
        r#"{"toolCall":{"functionCalls":[{"Name":"a"}]}}"#,
        r#"{"toolCall":{"functionCalls":[{"name":"a","ARGS":{}}]}}"#,
        r#"{"toolcall_cancellation":{}}"#,
    ] {
        let refused = refusal(frame);
        assert!(
            matches!(refused, FrameError::Misspelt { .. }),
            "{frame}: {refused}"
        );
    }
}

#[test]
fn message_of_the_wrong_type_is_refused() {
    for frame in [
        r#"{"toolCall":[]}"#,
        r#"{"toolCall":{"functionCalls":{}}}"#,
        r#"{"toolCall":{"functionCalls":[null]}}"#,
        r#"{"toolCall":{"functionCalls":[{"id":7}]}}"#,
        r#"{"toolCall":{"functionCalls":[{"name":{}}]}}"#,
        r#"{"toolCall":{"functionCalls":[{"willContinue":"yes"}]}}"#,
    ] {
        let refused = refusal(frame);
        assert!(
            matches!(refused, FrameError::WrongType { .. }),
            "{frame}: {refused}"
        );
    }
    assert!(matches!(refusal("[]"), FrameError::NotAnObject(_)));
    let deep = frame_of(&[&format!(
        "{{\"args\":{}{}}}",
        "[".repeat(500),
        "]".repeat(500)
    )]);
    assert_eq!(refusal(&deep), FrameError::TooDeep);
}

#[test]
fn call_inside_a_turn_is_told() {
    for (part, is_call) in [
        (r#"{"functionCall":{}}"#, true),
        (r#"{"text":"a"},{"function_call":{}}"#, true),
        (r#"{"functionCall":1,"function_call":2}"#, true),
        (r#"{"text":"functionCall"}"#, false),
        // A trace of a tool that the vendor runs.
        (r#"{"toolCall":{"id":"a"}}"#, false),
    ] {
        let frame = format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{part}]}}}}}}"#);
        assert_eq!(split(&frame).unwrap().has_call_in_turn, is_call, "{part}");
    }
}

/// The text of a random JSON value, with white space between its tokens.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1.50e+3".to_owned()),
        Just("-0".to_owned()),
        "[ -!#-\\[\\]-~]{0,6}".prop_map(|it| format!("\"{it}\"")),
        Just(r#""\u00e4\"}{,\\""#.to_owned()),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|it| format!("[ {} ]", it.join(" ,"))),
            prop::collection::vec(inner, 0..4).prop_map(|values| {
                let numbered = values.iter().enumerate();
                let members: Vec<_> = numbered
                    .map(|(at, it)| format!("\"k{at}\" :{it}"))
                    .collect();
                format!("{{{}\t}}", members.join(", "))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Every member and every call of a message is in one part, with its exact text.
    #[test]
    fn division_loses_nothing(
        calls in prop::collection::vec((value(), any::<bool>()), 0..4),
        others in prop::collection::vec(value(), 0..4),
        at in 0_usize..4,
        cancels in any::<bool>(),
    ) {
        let texts: Vec<String> = calls.iter().zip(0..).map(|((args, has_id), number)| {
            let id = if *has_id { format!("\"id\" : \"c{number}\",") } else { String::new() };
            format!("{{ {id}\"name\":\"f{number}\" , \"args\" :{args}}}")
        }).collect();
        let numbered = others.iter().enumerate();
        let kept: Vec<String> = numbered.map(|(at, it)| format!("\"m{at}\"\n:{it}")).collect();
        let mut members = kept.clone();
        let called = format!("\"toolCall\":{{\"functionCalls\" : [{}]}}", texts.join(" ,\n"));
        members.insert(at.min(members.len()), called);
        let cancelled = r#""toolCallCancellation": {"ids":["x"]}"#;
        if cancels {
            members.push(cancelled.to_owned());
        }
        let frame = format!("{{\t{} }}", members.join(" , "));
        let divided = split(&frame).unwrap();
        let found: Vec<&str> = divided.calls.iter().map(|it| it.text).collect();
        prop_assert_eq!(&found, &texts.iter().map(String::as_str).collect::<Vec<_>>());
        let rest = (!kept.is_empty()).then(|| format!("{{{}}}", kept.join(",")));
        prop_assert_eq!(divided.rest, rest);
        prop_assert_eq!(divided.cancelled.map(|it| it.text), cancels.then_some(cancelled));
        for (call, text) in divided.calls.iter().zip(&texts) {
            let alone = frame_of(&[text]);
            let again = split(&alone).unwrap();
            prop_assert_eq!(&again.calls[0].id, &call.id);
            prop_assert_eq!(&again.calls[0].name, &call.name);
            prop_assert_eq!(again.calls[0].text, text);
        }
    }

    /// The engine's reader finds the same calls, wherever both accept a message.
    #[test]
    fn division_agrees_with_the_engine(calls in prop::collection::vec(value(), 0..3)) {
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        let frame = frame_of(&calls);
        if let (Ok(divided), Ok(message)) = (split(&frame), ServerMessage::decode(&frame)) {
            let read = message.tool_call.unwrap_or_default().function_calls.into_vec();
            let named = |id: &Option<String>| id.clone().unwrap_or_default();
            let ours: Vec<_> = divided.calls.iter().map(|it| named(&it.id)).collect();
            prop_assert_eq!(ours, read.iter().map(|it| named(&it.id)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn division_survives_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        drop(split(&text));
        drop(split(&format!("{{{text}}}")));
        drop(split(&frame_of(&[&text])));
    }
}
