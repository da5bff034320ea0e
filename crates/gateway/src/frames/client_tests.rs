//! Tests of the classes of a client's messages.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use proptest::prelude::*;

use super::*;

fn class(frame: &str) -> ClientFrame {
    look(frame.as_bytes())
}

fn is_malformed(frame: &[u8]) -> bool {
    matches!(look(frame), ClientFrame::Malformed(_))
}

#[test]
fn frames_have_their_classes() {
    for (frame, expected) in [
        (
            r#"{"realtimeInput":{"audio":{"data":"AA"}}}"#,
            ClientFrame::Realtime,
        ),
        (
            r#"{"realtime_input":{"aud\u0069o":{"data":"AA"}}}"#,
            ClientFrame::Realtime,
        ),
        (
            r#"{"realtimeInput":{"text":"x"}}"#,
            ClientFrame::RealtimeText,
        ),
        (
            r#"{"realtimeInput":{"te\u0078t":"x","audio":{}}}"#,
            ClientFrame::RealtimeText,
        ),
        (r#"{"setup":{"model":"m"}}"#, ClientFrame::Setup),
        (r#"{"s\u0065tup":{"model":"m"}}"#, ClientFrame::Setup),
        (r#"{"context_update":{}}"#, ClientFrame::ContextUpdate),
        (r#"{"tool_response":{}}"#, ClientFrame::ToolResponse),
        (
            r#"{"realtimeInput":{},"toolResponse":{}}"#,
            ClientFrame::ToolResponse,
        ),
        (
            r#"{"clientContent":{},"toolResponse":{}}"#,
            ClientFrame::ToolResponse,
        ),
        (r#"{"client_content":{}}"#, ClientFrame::Content),
        (r#"{"toolResponse":null}"#, ClientFrame::Other),
        ("{}", ClientFrame::Other),
    ] {
        assert_eq!(class(frame), expected, "{frame}");
    }
}

#[test]
fn frame_that_the_vendor_may_read_differently_is_malformed() {
    for frame in [
        "",
        "[]",
        r#"{'toolResponse':{}}"#,
        r#"{toolResponse:{}}"#,
        r#"{"realtimeInput":{}} {"toolResponse":{}}"#,
        r#"{"realtimeInput":{"audio":{"data":"A"}},}"#,
        r#"{"ToolResponse":{}}"#,
        r#"{"clientContent":{},"Tool_Response":{}}"#,
        r#"{"toolResponse":{},"tool_response":{}}"#,
        r#"{"realtimeInput":{},"realtimeInput":{}}"#,
        r#"{"setup":{},"toolResponse":{}}"#,
        r#"{"setup":{},"contextUpdate":{}}"#,
        r#"{"contextUpdate":{},"toolResponse":{}}"#,
    ] {
        assert!(is_malformed(frame.as_bytes()), "{frame}");
    }
    assert!(is_malformed(b"{\"clientContent\":{\"a\":\"\xFF\"}}"));
    let wide: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(is_malformed(&wide));
}

#[test]
fn words_of_the_user_are_found() {
    for (frame, words) in [
        (r#"{"realtime_input":{"text":"Hello"}}"#, Some("Hello")),
        (r#"{"realtimeInput":{"audio":{"data":"AA"}}}"#, None),
        (
            r#"{"clientContent":{"turns":[{"role":"user","parts":[{"text":"a"},{"text":"b"}]},
               {"role":"model","parts":[{"text":"c"}]},{"parts":[{"text":"d"}]}]}}"#,
            Some("ab\nd"),
        ),
        (r#"{"clientContent":{"turnComplete":true}}"#, None),
        (r#"{"clientContent":7}"#, None),
        ("", None),
    ] {
        assert_eq!(user_text(frame).as_deref(), words, "{frame}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// A message that the engine's reader takes for a payload that matters has its class, or is
    /// malformed.
    #[test]
    fn payload_is_never_overlooked(
        pieces in prop::collection::vec(prop_oneof![
            Just(r#""toolResponse":{}"#), Just(r#""tool_response":{}"#),
            Just(r#""tool\u0052esponse":{}"#), Just(r#""setup":{"model":"m"}"#),
            Just(r#""contextUpdate":{}"#), Just(r#""context\u005fupdate":{}"#),
            Just(r#""realtimeInput":{"audio":{"data":"A"}}"#), Just(r#""realtimeInput":{}"#),
            Just(r#""clientContent":{}"#), Just(r#""other":"{\"toolResponse\":{}}""#),
        ], 0..4),
        white in "[ \\n\\t]{0,2}",
    ) {
        let frame = format!("{white}{{{white}{}}}", pieces.join(&format!("{white},{white}")));
        let class = class(&frame);
        if let ClientFrame::Malformed(_) = class {
            return Ok(());
        }
        let message = ClientMessage::decode(&frame).unwrap();
        for (is_there, expected) in [
            (message.tool_response.is_some(), ClientFrame::ToolResponse),
            (message.setup.is_some(), ClientFrame::Setup),
            (message.context_update.is_some(), ClientFrame::ContextUpdate),
        ] {
            prop_assert_eq!(is_there, class == expected, "{}", frame);
        }
    }

    #[test]
    fn classes_survive_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        for frame in [&bytes[..], format!("{{{text}}}").as_bytes()] {
            if serde_json::from_slice::<serde_json::Value>(frame).is_err() {
                prop_assert!(is_malformed(frame));
            }
        }
        drop(user_text(&text));
    }
}
