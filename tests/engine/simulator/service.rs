//! The strictness of the service, as a script sets it.

use super::*;

/// The code and the reason with which the service rejects the last message. It accepts the earlier
/// ones.
fn refusal(service: &str, messages: &[&str]) -> Option<(u16, String)> {
    let text = format!(
        r#"{{"service":{service}}}
           {{"on":{{"text":"go"}},"send":[{{"call":[{{"id":"c1","name":"a"}}]}}]}}"#
    );
    let mut player = Player::new(script(&text));
    let connection = player.connect();
    let mut last = None;
    for message in messages {
        assert_eq!(last, None, "refused before {message}");
        last = player
            .receive_text(connection, message)
            .into_iter()
            .find_map(|action| match action {
                Action::Close { code, reason } => Some((code, reason)),
                Action::Send(_) | Action::SendRaw(_) | Action::Read(_) => None,
            });
    }
    last
}

const SETUP: &str = r#"{"setup":{"model":"models/m"}}"#;
const GO: &str = r#"{"realtimeInput":{"text":"go"}}"#;

#[test]
fn an_unknown_field_of_a_setup_is_named_with_its_place() {
    for (setup, name, place) in [
        (r#""toolConfig":{}"#, "toolConfig", "setup"),
        (
            r#""generationConfig":{"stopSequences":[]}"#,
            "stopSequences",
            "setup.generation_config",
        ),
        (
            concat!(
                r#""generation_config":{"speech_config":{"voice_config":"#,
                r#"{"prebuilt_voice_config":{"voice":"Kore"}}}}"#,
            ),
            "voice",
            "setup.generation_config.speech_config.voice_config.prebuilt_voice_config",
        ),
        (
            concat!(
                r#""tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"pay","#,
                r#""parameters":{"type":"OBJECT","additionalProperties":false}}]}]"#,
            ),
            "additionalProperties",
            "setup.tools[1].function_declarations[0].parameters",
        ),
        (
            concat!(
                r#""tools":[{"functionDeclarations":[{"name":"pay","parameters":{"type":"OBJECT","#,
                r#""properties":{"n":{"type":"INTEGER","const":1}}}}]}]"#,
            ),
            "const",
            "setup.tools[0].function_declarations[0].parameters.properties[0].value",
        ),
    ] {
        let message = format!(r#"{{"setup":{{"model":"m",{setup}}}}}"#);
        let (code, reason) = refusal(r#"{"strict":true}"#, &[&message]).unwrap();
        let expected =
            format!("Invalid JSON payload received. Unknown name \"{name}\" at '{place}'");
        assert_eq!(code, 1007);
        // A close frame has room for 123 bytes.
        assert_eq!(
            reason[..expected.len().min(123)],
            expected[..expected.len().min(123)]
        );
        assert_eq!(refusal("{}", &[&message]), None, "only where it is strict");
    }
}

/// Keys that users define are no fields: a strict service accepts every recorded setup of the
/// vendor's libraries.
#[test]
fn every_recorded_setup_is_known_to_a_strict_service() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/gemini-live");
    let mut taken = 0;
    for name in [
        "client_js_google_ai",
        "client_js_vertex",
        "client_python_google_ai",
    ] {
        let text = fs::read_to_string(format!("{directory}/{name}.jsonl")).unwrap();
        for line in text.lines() {
            let frame: Value = serde_json::from_str(line).unwrap();
            if frame["message"].get("setup").is_none() {
                continue;
            }
            let service = r#"{"strict":true,"accepts_any_handle":true}"#;
            assert_eq!(
                refusal(service, &[&frame["message"].to_string()]),
                None,
                "{name} {}",
                frame["case"]
            );
            taken += 1;
        }
    }
    assert!(taken > 50, "{taken}");
}

#[test]
fn strict_checks_are_off_by_default() {
    let nameless = r#"{"toolResponse":{"functionResponses":[{"name":"a","response":{}}]}}"#;
    let unknown =
        r#"{"toolResponse":{"functionResponses":[{"id":"c9","name":"a","response":{}}]}}"#;
    let known = r#"{"toolResponse":{"functionResponses":[{"id":"c1","name":"a","response":{}}]}}"#;
    let audio = r#"{"realtimeInput":{"audio":{"data":"AAAA","mimeType":"audio/pcm"}}}"#;
    let end = r#"{"realtimeInput":{"activityEnd":{}}}"#;
    for (service, messages, code, part) in [
        (
            r#"{"models":["x"]}"#,
            vec![SETUP],
            1008,
            "models/m is not found for API version",
        ),
        (
            r#"{"requires_ids":true}"#,
            vec![SETUP, GO, nameless],
            1007,
            "function_responses[0].id",
        ),
        (
            r#"{"refuses_unknown_calls":true}"#,
            vec![SETUP, GO, unknown],
            1008,
            "Requested entity was not found.",
        ),
        (
            r#"{"refuses_input_during_calls":true}"#,
            vec![SETUP, audio, GO, end, audio],
            1008,
            "Operation is not implemented",
        ),
    ] {
        let (found, reason) = refusal(service, &messages).unwrap_or_else(|| panic!("{service}"));
        assert_eq!(found, code, "{service}");
        assert!(reason.contains(part), "{service}: {reason}");
        assert_eq!(refusal("{}", &messages), None, "{service}");
    }
    assert_eq!(
        refusal(r#"{"models":["google/m"]}"#, &[SETUP]),
        None,
        "the last segment counts"
    );
    assert_eq!(
        refusal(
            r#"{"refuses_input_during_calls":true}"#,
            &[SETUP, GO, known, audio]
        ),
        None,
        "answered"
    );
}

#[test]
fn input_during_a_call_that_does_not_block_is_taken() {
    let setup = concat!(
        r#"{"setup":{"model":"m","tools":[{"function_declarations":[{"name":"a","#,
        r#""behavior":"NON_BLOCKING"}]}]}}"#,
    );
    let audio = r#"{"realtimeInput":{"audio":{"data":"AAAA","mimeType":"audio/pcm"}}}"#;
    let service = r#"{"refuses_input_during_calls":true}"#;
    assert_eq!(refusal(service, &[setup, GO, audio]), None);
}

#[test]
fn a_misspelt_script_says_where_what_was_meant_and_what_came() {
    for (line, parts) in [
        (
            r#"{"service":{"stricct":true}}"#,
            vec!["service: ", r#"did you mean "strict"?"#],
        ),
        (
            r#"{"on":"setpu"}"#,
            vec![
                "on: expected one of connect, setup",
                r#"did you mean "setup"?"#,
            ],
        ),
        (
            r#"{"on":{"tex":"a"}}"#,
            vec!["on: expected a trigger: text", r#"did you mean "text"?"#],
        ),
        (
            r#"{"on":"setup","conection":2}"#,
            vec![r#"did you mean "connection"?"#],
        ),
        (
            r#"{"on":"any_text","complete":false}"#,
            vec!["complete: expected a trigger of setup"],
        ),
        (
            r#"{"on":"setup","send":[{"wait":5}]}"#,
            vec!["send[0]: ", r#"did you mean "wait_ms"?"#],
        ),
        (
            r#"{"on":"setup","send":[{"audio":{"bytes":2}}]}"#,
            vec!["send[0].audio.bytes: expected 4 to"],
        ),
        (
            r#"{"on":"setup","send":[{"repeat":99999,"send":[]}]}"#,
            vec!["repeat: expected at most 20000, found 99999"],
        ),
        (
            r#"{"on":"setup","send":[{"raw":"x","opcode":"ping"}]}"#,
            vec![r#"found "ping""#],
        ),
        (
            r#"{"expect":{"handel":"h"}}"#,
            vec!["expect: ", r#"did you mean "handle"?"#],
        ),
        (
            r#"{"expect":{"told":"x"},"never":{"told":"x"}}"#,
            vec!["found both"],
        ),
        (r#"{"when":"x"}"#, vec!["expected say or call"]),
        (r#"{"on":"setup""#, vec!["expected JSON"]),
    ] {
        let problem = Script::parse(&format!("# first\n{line}"))
            .unwrap_err()
            .to_string();
        assert!(problem.starts_with("line 2 of the script"), "{problem}");
        for part in parts {
            assert!(problem.contains(part), "{line}: {problem}");
        }
    }
}
