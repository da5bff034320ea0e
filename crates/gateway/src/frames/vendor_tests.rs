//! Tests of the classes of the vendor's messages, with random spellings of the keys.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::time::Instant;

use proptest::prelude::*;
use recount::live::wire::ServerMessage;

use super::*;

/// A character of a JSON string, plain or escaped in a random spelling.
fn spelt(letter: char, choice: u8) -> String {
    match choice % 4 {
        0 => format!("\\u{:04x}", u32::from(letter)),
        1 => format!("\\u{:04X}", u32::from(letter)),
        _ => letter.to_string(),
    }
}

fn key(name: &str, choices: &[u8]) -> String {
    let choices = choices.iter().copied().cycle();
    let letters: String = name
        .chars()
        .zip(choices)
        .map(|(it, choice)| spelt(it, choice))
        .collect();
    format!("\"{letters}\"")
}

fn sibling() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#""usageMetadata":{"toolUsePromptTokenCount":2}"#.to_owned()),
        Just(
            r#""serverContent":{"modelTurn":{"parts":[{"inlineData":{"data":"AA=="}}]}}"#
                .to_owned()
        ),
        Just(r#""serverContent":{"outputTranscription":{"text":"\u003c\"tool\" \\u"}}"#.to_owned()),
        "[a-z]{1,8}".prop_map(|it| format!("\"{it}\":[1,{{}},null]")),
    ]
}

fn white() -> impl Strategy<Value = String> {
    "[ \\t\\r\\n]{0,3}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// A message that the engine's reader takes for a call or a cancellation is read before it
    /// passes.
    #[test]
    fn message_with_a_call_is_deciding(
        name in prop_oneof![
            Just("toolCall"), Just("tool_call"), Just("tool_Call"),
            Just("toolCallCancellation"), Just("tool_call_cancellation"),
            Just("toolCall_cancellation"),
        ],
        choices in prop::collection::vec(any::<u8>(), 1..24),
        plain in any::<bool>(),
        before in prop::collection::vec(sibling(), 0..3),
        after in prop::collection::vec(sibling(), 0..3),
        white in prop::collection::vec(white(), 5),
    ) {
        let choices = if plain { vec![3] } else { choices };
        let [w0, w1, w2, w3, w4] = &white[..] else { unreachable!("five") };
        let call = format!("{w1}{}{w2}:{w3}{{}}{w4}", key(name, &choices));
        let members: Vec<String> = before.into_iter().chain([call]).chain(after).collect();
        let frame = format!("{w0}{{{}}}{w0}", members.join(","));
        let has_call = serde_json::from_str::<serde_json::Value>(&frame).unwrap();
        prop_assert!(has_call.get(name).is_some(), "{frame}");
        prop_assert_eq!(look(frame.as_bytes()), VendorFrame::Deciding, "{}", frame);
    }

    /// The scan and the engine's reader agree on arbitrary objects made of fragments.
    #[test]
    fn reader_finds_no_call_where_the_scan_finds_none(
        pieces in prop::collection::vec(prop_oneof![
            Just("{"), Just("}"), Just("\""), Just(":"), Just(","), Just("{}"), Just("\\u0074"),
            Just("tool"), Just("ool"), Just("Call"), Just("_call"), Just("\\"), Just("[]"),
            Just("\"toolCall\""), Just("\"t\\u006folCall\":{}"), Just("Cancellation"),
            Just("\"serverContent\":{}"), Just(" "), Just("1"),
        ], 0..12),
    ) {
        let frame = format!("{{{}}}", pieces.concat());
        if look(frame.as_bytes()) != VendorFrame::Deciding
            && let Ok(message) = ServerMessage::decode(&frame)
        {
            prop_assert!(message.tool_call.is_none(), "{frame}");
            prop_assert!(message.tool_call_cancellation.is_none(), "{frame}");
        }
    }

    #[test]
    fn scan_survives_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let class = look(&bytes);
        if serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes).is_err() {
            prop_assert_ne!(class, VendorFrame::Passing);
        }
    }
}

#[test]
fn frames_have_their_classes() {
    for (frame, class) in [
        (
            r#"{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"data":"A"}}]}}}"#,
            VendorFrame::Passing,
        ),
        (
            r#"{"serverContent":{"turnComplete":true},"usageMetadata":{}}"#,
            VendorFrame::Recorded,
        ),
        (
            r#"{"usageMetadata":{"toolUsePromptTokenCount":2}}"#,
            VendorFrame::Recorded,
        ),
        (
            r#"{"serverContent":{"outputTranscription":{"text":"\u00e4 \u003d \ud83d\ude00"}}}"#,
            VendorFrame::Recorded,
        ),
        (r#"{"goAway":{"timeLeft":"9s"}}"#, VendorFrame::Recorded),
        ("{}", VendorFrame::Recorded),
        (r#"{"toolCall":{}}"#, VendorFrame::Deciding),
        (r#"{"tool__CALL":{}}"#, VendorFrame::Deciding),
        (
            r#"{"serverContent":{},'toolCall':{}}"#,
            VendorFrame::Deciding,
        ),
        (
            r#"{"serverContent":{"modelTurn":{"parts":[{"functionCall":{}}]}}}"#,
            VendorFrame::Deciding,
        ),
        (r#"{"a":"\u"}"#, VendorFrame::Deciding),
        (r#"{"a":"\u007"}"#, VendorFrame::Deciding),
        ("[]", VendorFrame::Deciding),
        ("", VendorFrame::Deciding),
    ] {
        assert_eq!(look(frame.as_bytes()), class, "{frame}");
    }
}

/// The JSON reader of Python detects other encodings than UTF-8.
#[test]
fn other_encodings_are_read_before_they_pass() {
    let call = r#"{"toolCall":{}}"#;
    let wide = |it: u16| it.to_le_bytes();
    let little: Vec<u8> = call.encode_utf16().flat_map(wide).collect();
    let big: Vec<u8> = call.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let longer: Vec<u8> = call
        .chars()
        .flat_map(|it| u32::from(it).to_le_bytes())
        .collect();
    for encoded in [little, big, longer] {
        assert_eq!(look(&encoded), VendorFrame::Deciding);
        let spaced = [b" \0", &encoded[..]].concat();
        assert_eq!(look(&spaced), VendorFrame::Deciding);
    }
    let marked = [b"\xEF\xBB\xBF", call.as_bytes()].concat();
    assert_eq!(look(&marked), VendorFrame::Deciding);
}

/// A measurement for people, run by hand in a release build.
#[test]
#[ignore = "measures time; run by hand with --release --nocapture"]
fn scan_of_audio_costs_little() {
    let data = "AAAB/+9z".repeat(48 * 128);
    let part = format!(r#"{{"inlineData":{{"mimeType":"audio/pcm","data":"{data}"}}}}"#);
    let audio = format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{part}]}}}}}}"#);
    let recorded = audio.replace("}}}", "},\"turnComplete\":true}}");
    for (name, frame) in [("passing", audio), ("recorded", recorded)] {
        let began = Instant::now();
        for _ in 0..1_000 {
            std::hint::black_box(look(std::hint::black_box(frame.as_bytes())));
        }
        let spent = began.elapsed().as_secs_f64() * 1e9 / 1_000.0;
        println!(
            "{name}: {:.1} ns per KiB",
            spent / (frame.len() as f64 / 1024.0)
        );
    }
}
