//! Messages of the vendor's own libraries are read in either spelling, and nothing of them is lost.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use recount::live::wire::{
    ClientMessage, DecodeError, FunctionDeclaration, FunctionResponse, Other, RawJson, Schema,
    ServerMessage, Setup, Tool,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Frame {
    sdk: String,
    platform: String,
    case: String,
    message: Box<RawValue>,
}

/// The frames of every recording whose file name begins with `prefix`.
fn frames(prefix: &str) -> Vec<Frame> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/gemini-live");
    let mut paths: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(prefix)
        })
        .collect();
    paths.sort();
    paths
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            text.lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect::<Vec<Frame>>()
        })
        .collect()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn typed(frame: &Frame) -> ClientMessage {
    ClientMessage::decode(frame.message.get())
        .unwrap_or_else(|error| panic!("{} {}: {error}", frame.sdk, frame.case))
}

/// Splits tools so that each kind has an entry of its own.
///
/// One of the libraries does so, the other lets two kinds share an entry.
fn with_one_kind_of_tool_an_entry(mut message: ClientMessage) -> ClientMessage {
    let setup = message.setup.as_mut().unwrap();
    let mut tools: Vec<Value> = Vec::new();
    for entry in &setup.tools {
        let functions = Tool {
            function_declarations: entry.function_declarations.clone(),
            ..Tool::default()
        };
        let mut kinds = vec![functions];
        kinds.extend(entry.other.iter().map(|(name, value)| {
            let mut kind = Tool::default();
            kind.other.set(name, value.clone());
            kind
        }));
        for kind in kinds.into_iter().filter(|it| *it != Tool::default()) {
            let alone = Setup {
                model: String::new(),
                tools: vec![kind].into(),
                ..Setup::default()
            };
            let alone = value(&ClientMessage::setup(alone).encode());
            tools.push(alone["setup"]["tools"][0].clone());
        }
    }
    tools.sort_by_key(Value::to_string);
    let mut alone = value(&message.encode());
    alone["setup"]["tools"] = tools.into();
    ClientMessage::decode(&alone.to_string()).unwrap()
}

/// True if every field at every level has a type of its own.
fn is_typed_throughout(message: &impl std::fmt::Debug) -> bool {
    !format!("{message:?}").contains("Other([(")
}

#[test]
fn every_recorded_client_frame_is_understood() {
    let frames = frames("client_");
    assert!(frames.len() >= 148);
    for frame in &frames {
        let message = ClientMessage::decode(frame.message.get())
            .unwrap_or_else(|error| panic!("{} {}: {error}", frame.sdk, frame.case));
        assert_eq!(message.payloads().len(), 1, "{} {}", frame.sdk, frame.case);
        assert!(
            message.other.is_empty(),
            "{} {}: {:?}",
            frame.sdk,
            frame.case,
            message.other
        );
        let again = ClientMessage::decode(&message.encode()).unwrap();
        assert_eq!(again, message, "{} {}", frame.sdk, frame.case);
    }
}

/// The JavaScript frames are camelCase already, so each must be written as it was read.
#[test]
fn a_frame_in_camel_case_is_written_as_it_was_read() {
    for frame in frames("client_js") {
        let message = ClientMessage::decode(frame.message.get()).unwrap();
        assert_eq!(
            value(&message.encode()),
            value(frame.message.get()),
            "{}",
            frame.case
        );
    }
}

#[test]
fn only_user_defined_keys_are_written_in_snake_case() {
    fn snake_keys(value: &Value, found: &mut Vec<String>) {
        const FREE: [&str; 5] = [
            "args",
            "response",
            "parametersJsonSchema",
            "labels",
            "properties",
        ];
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    if key.contains('_') {
                        found.push(key.clone());
                    }
                    if !FREE.contains(&key.as_str()) {
                        snake_keys(value, found);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| snake_keys(item, found)),
            _ => {}
        }
    }
    for frame in frames("client_") {
        let mut found = Vec::new();
        snake_keys(
            &value(&ClientMessage::decode(frame.message.get()).unwrap().encode()),
            &mut found,
        );
        assert!(found.is_empty(), "{} {}: {found:?}", frame.sdk, frame.case);
    }
}

#[test]
fn both_spellings_of_a_case_are_the_same_message() {
    /// The JavaScript library drops this field silently.
    const DIFFER: [&str; 1] = ["setup.history_config"];
    const MIXED: &str = "setup.mixed_tools";
    let mut cases: BTreeMap<(String, String), Vec<Frame>> = BTreeMap::new();
    for frame in frames("client_") {
        cases
            .entry((frame.platform.clone(), frame.case.clone()))
            .or_default()
            .push(frame);
    }
    let mut compared = 0;
    for ((platform, case), frames) in cases {
        let [first, second] = frames.as_slice() else {
            continue;
        };
        compared += 1;
        let (mut one, mut another) = (typed(first), typed(second));
        if case == MIXED {
            assert_ne!(one, another);
            one = with_one_kind_of_tool_an_entry(one);
            another = with_one_kind_of_tool_an_entry(another);
        }
        let same = one == another;
        let differ = DIFFER.contains(&case.as_str());
        assert_eq!(same, !differ, "{platform} {case}\n{one:#?}\n{another:#?}");
    }
    assert!(compared >= 40, "{compared}");
}

#[test]
fn every_regular_server_message_survives() {
    let mut seen = 0;
    for frame in frames("server_") {
        if frame.case.starts_with("odd.") {
            continue;
        }
        seen += 1;
        let message = ServerMessage::decode(frame.message.get())
            .unwrap_or_else(|error| panic!("{}: {error}", frame.case));
        assert_eq!(
            value(&message.encode()),
            value(frame.message.get()),
            "{}",
            frame.case
        );
        // Names that are not the protocol's, and values that are opaque even to the vendor.
        const OPAQUE: [&str; 2] = [
            "voice_activity.sdk_name",
            "server_content.grounding_metadata",
        ];
        let opaque = OPAQUE.contains(&frame.case.as_str());
        assert_eq!(is_typed_throughout(&message), !opaque, "{}", frame.case);
    }
    assert!(seen >= 70, "{seen}");
}

#[test]
fn every_odd_server_message_is_kept_or_refused() {
    for frame in frames("server_")
        .iter()
        .filter(|frame| frame.case.starts_with("odd."))
    {
        let text = match value(frame.message.get()) {
            Value::String(text) => text,
            _ => frame.message.get().to_owned(),
        };
        let decoded = ServerMessage::decode(&text);
        match frame.case.as_str() {
            "odd.not_json" => {
                assert_eq!(decoded.unwrap_err().expected, "JSON");
            }
            "odd.int_time_left" => {
                let go_away = decoded.unwrap().go_away.unwrap();
                assert_eq!(go_away.duration().unwrap().as_secs(), 5);
            }
            "odd.snake_case" => {
                let encoded = decoded.unwrap().encode();
                assert_eq!(
                    value(&encoded),
                    json!({"serverContent": {"turnComplete": true}})
                );
            }
            case => assert_eq!(value(&decoded.unwrap().encode()), value(&text), "{case}"),
        }
    }
}

#[test]
fn unknown_fields_survive_at_every_level() {
    let future = r#""future_field":{"a_b":1.0},"futureField":[9007199254740993]"#;
    let client = [
        format!(r#"{{"setup":{{"model":"m",{future}}}}}"#),
        format!(
            concat!(
                r#"{{"setup":{{"model":"m","tools":[{{"functionDeclarations":[{{"name":"n","#,
                r#"{future}}}],{future}}}]}}}}"#,
            ),
            future = future,
        ),
        format!(
            concat!(
                r#"{{"setup":{{"model":"m","sessionResumption":{{{future}}},"#,
                r#""systemInstruction":{{{future}}}}}}}"#,
            ),
            future = future,
        ),
        format!(
            concat!(
                r#"{{"clientContent":{{"turns":[{{"parts":[{{"text":"t",{future}}}],{future}}}],"#,
                r#"{future}}}}}"#,
            ),
            future = future,
        ),
        format!(r#"{{"realtimeInput":{{"audio":{{"data":"",{future}}},{future}}}}}"#),
        format!(r#"{{"toolResponse":{{"functionResponses":[{{"id":"i",{future}}}],{future}}}}}"#),
        format!(r#"{{{future}}}"#),
    ];
    for text in client {
        let message = ClientMessage::decode(&text).unwrap();
        assert_eq!(message.encode().len(), text.len(), "{text}");
        assert_eq!(value(&message.encode()), value(&text));
    }
    let server = [
        format!(r#"{{"setupComplete":{{{future}}},{future}}}"#),
        format!(
            r#"{{"serverContent":{{"modelTurn":{{"parts":[{{{future}}}],{future}}},{future}}}}}"#
        ),
        format!(r#"{{"serverContent":{{"inputTranscription":{{"text":"t",{future}}}}}}}"#),
        format!(r#"{{"toolCall":{{"functionCalls":[{{"name":"n",{future}}}],{future}}}}}"#),
        format!(r#"{{"toolCallCancellation":{{"ids":["a"],{future}}},"goAway":{{{future}}}}}"#),
        format!(r#"{{"sessionResumptionUpdate":{{{future}}}}}"#),
    ];
    for text in server {
        let message = ServerMessage::decode(&text).unwrap();
        assert_eq!(message.encode().len(), text.len(), "{text}");
        assert_eq!(value(&message.encode()), value(&text));
    }
}

/// A typed field must not end up among the other fields, where it would be written again but never
/// interpreted.
#[test]
fn every_typed_field_is_found_in_snake_case() {
    let client = ClientMessage::decode(
        r#"{"tool_response":{"function_responses":[{"id":"i","name":"n","response":{"a_b":1},
         "scheduling":"SILENT",
            "will_continue":true,"parts":[{"inline_data":{"mime_type":"image/png",
             "data":"-__-"}}]}]},
           "realtime_input":{"text":"t","media_chunks":[{"mime_type":"m"}],"activity_start":{},
            "activity_end":{},
            "audio_stream_end":true},
           "client_content":{"turns":[{"role":"user",
            "parts":[{"function_call":{"will_continue":false}}]}],
            "turn_complete":true},
           "context_update":{"system_instruction":{}},
           "setup":{"model":"m","generation_config":{"top_k":1},"system_instruction":{},
            "session_resumption":{"handle":"h","transparent":true},
            "tools":[{"function_declarations":[{"name":"n","description":"d",
             "parameters":{"any_of":[]},
             "parameters_json_schema":{"a_b":1},"response":{"any_of":[]},
              "response_json_schema":{"a_b":1},
             "behavior":"BLOCKING"}]}]}}"#,
    )
    .unwrap();
    assert_eq!(client.payloads().len(), 5);
    let setup = client.setup.unwrap();
    let top_k = setup.generation_config.unwrap().top_k.unwrap();
    assert_eq!(top_k.as_i64(), Some(1));
    let resumption = setup.session_resumption.unwrap();
    assert_eq!(
        (resumption.handle.as_deref(), resumption.transparent),
        (Some("h"), Some(true))
    );
    assert!(setup.system_instruction.is_some());
    assert_eq!(setup.other, Other::default());
    let declaration = setup.tools[0].function_declarations[0].clone();
    assert_eq!(
        declaration,
        FunctionDeclaration {
            name: "n".into(),
            description: Some("d".into()),
            parameters: Schema::decode(r#"{"anyOf":[]}"#).ok(),
            parameters_json_schema: Some(json!({"a_b": 1}).into()),
            response: Schema::decode(r#"{"anyOf":[]}"#).ok(),
            response_json_schema: Some(json!({"a_b": 1}).into()),
            behavior: Some("BLOCKING".into()),
            other: Other::default(),
        }
    );
    let input = client.realtime_input.unwrap();
    assert_eq!(input.media_chunks[0].mime_type.as_deref(), Some("m"));
    assert!(input.activity_start.is_some() && input.activity_end.is_some());
    assert_eq!(
        (input.text.as_deref(), input.audio_stream_end),
        (Some("t"), Some(true))
    );
    let content = client.client_content.unwrap();
    assert_eq!(content.turn_complete, Some(true));
    assert_eq!(
        content.turns[0].parts[0]
            .function_call
            .as_ref()
            .unwrap()
            .will_continue,
        Some(false)
    );
    let mut answer = FunctionResponse::new("i", "n", json!({"a_b": 1}));
    answer.scheduling = Some("SILENT".into());
    answer.will_continue = Some(true);
    answer.parts = client.tool_response.as_ref().unwrap().function_responses[0]
        .parts
        .clone();
    assert_eq!(
        answer.parts[0]
            .inline_data
            .as_ref()
            .unwrap()
            .data
            .as_deref(),
        Some("-__-")
    );
    assert_eq!(client.tool_response.unwrap().function_responses[0], answer);

    let server = ServerMessage::decode(
        r#"{"setup_complete":{"session_id":"s"},"usage_metadata":{"total_token_count":1},
         "go_away":{"time_left":"1s"},
           "tool_call_cancellation":{"ids":["a"]},
           "session_resumption_update":{"new_handle":"h","resumable":true,
            "last_consumed_client_message_index":"42"},
           "server_content":{"model_turn":{"role":"model","parts":[{"text":"t","thought":false,
             "function_response":{"id":"i"}}]},"generation_complete":true,"turn_complete":true,
              "interrupted":true,
            "input_transcription":{"text":"in","finished":true},
             "output_transcription":{"text":"out"},
            "turn_complete_reason":"R","interaction_status":"IDLE","waiting_for_input":true}}"#,
    )
    .unwrap();
    assert_eq!(
        server.setup_complete.unwrap().session_id.as_deref(),
        Some("s")
    );
    assert_eq!(
        server.usage_metadata.unwrap().encode(),
        r#"{"totalTokenCount":1}"#
    );
    assert_eq!(
        server.go_away.unwrap().duration(),
        Some(std::time::Duration::from_secs(1))
    );
    assert_eq!(&server.tool_call_cancellation.unwrap().ids[..], ["a"]);
    let update = server.session_resumption_update.unwrap();
    assert_eq!(update.last_consumed(), Some(42));
    assert_eq!(
        (update.new_handle.as_deref(), update.resumable),
        (Some("h"), Some(true))
    );
    let content = server.server_content.unwrap();
    assert_eq!(content.other, Other::default());
    assert_eq!(content.input_transcription.unwrap().finished, Some(true));
    assert_eq!(
        content.output_transcription.unwrap().text.as_deref(),
        Some("out")
    );
    assert_eq!(content.turn_complete_reason.as_deref(), Some("R"));
    assert_eq!(content.interaction_status.as_deref(), Some("IDLE"));
    let flags = [
        content.generation_complete,
        content.turn_complete,
        content.interrupted,
        content.waiting_for_input,
    ];
    assert_eq!(flags, [Some(true); 4]);
    let turn = content.model_turn.unwrap();
    assert_eq!(turn.spoken(), "t");
    assert!(turn.parts[0].function_response.is_some());
}

#[test]
fn arguments_and_answers_keep_every_token() {
    let args = concat!(
        r#"{ "snake_key" : 9007199254740993, "f":1.0,"e":1e400,"s":"\u00e9\ud800", "#,
        r#""a":{"b_c":[-0]}, "a":2}"#,
    );
    let text = format!(r#"{{"tool_call":{{"function_calls":[{{"id":"c","args":{args}}}]}}}}"#);
    let message = ServerMessage::decode(&text).unwrap();
    let call = &message.tool_call.as_ref().unwrap().function_calls[0];
    assert_eq!(call.args.as_ref().unwrap().as_str(), args);
    assert!(message.encode().contains(args));

    let text = format!(r#"{{"toolResponse":{{"functionResponses":[{{"response":{args}}}]}}}}"#);
    let message = ClientMessage::decode(&text).unwrap();
    let answer = &message.tool_response.as_ref().unwrap().function_responses[0];
    assert_eq!(answer.response.as_ref().unwrap().as_str(), args);
    assert!(message.encode().contains(args));
}

#[test]
fn arguments_may_be_missing_or_deep() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!(
        r#"{{"toolCall":{{"functionCalls":[{{"name":"a"}},{{"name":"b","args":{deep}}}]}}}}"#
    );
    let calls = ServerMessage::decode(&text)
        .unwrap()
        .tool_call
        .unwrap()
        .function_calls;
    assert_eq!(calls[0].args, None);
    assert_eq!(calls[0].id, None);
    assert_eq!(calls[1].args.as_ref().unwrap().as_str(), deep);
}

/// Every field in the reference of the protocol, in the spelling of neither library.
const WHOLE_SETUP: &str = r#"{"setup":{"model":"m","labels":{"my_team":"x"},
 "generation_config":{"response_modalities":["AUDIO"],"temperature":0.5,"top_p":"0.9","top_k":40.0,
  "max_output_tokens":"256","seed":7,"candidate_count":1,"presence_penalty":0,"frequency_penalty":0,
  "media_resolution":"MEDIA_RESOLUTION_LOW","enable_affective_dialog":true,
  "speech_config":{"language_code":"en-US",
   "voice_config":{"prebuilt_voice_config":{"voice_name":"Puck"}}},
  "thinking_config":{"include_thoughts":true,"thinking_budget":0,"thinking_level":"LOW"},
  "translation_config":{"target_language_code":"de","echo_target_language":false}},
 "system_instruction":{"parts":[{"text":"t"}]},
 "tools":[{"function_declarations":[{"name":"n","behavior":"NON_BLOCKING",
  "parameters":{"type":"OBJECT","title":"t",
   "description":"d","nullable":true,"properties":{"snake_key":{"type":"ARRAY","min_items":"1",
    "max_items":3,
   "items":{"type":"STRING","enum":["a"],"format":"f","min_length":1,"max_length":2,"pattern":"p",
    "example":{"a_b":1}}},
   "n":{"any_of":[{"type":"NUMBER","minimum":1,"maximum":2.0,"default":{"c_d":1}},{"ref":"r"}]}},
   "required":["snake_key"],"property_ordering":["n"],"min_properties":1,"max_properties":2,
    "defs":{"r":{}}}}]}],
 "realtime_input_config":{"automatic_activity_detection":{"disabled":false,
   "start_of_speech_sensitivity":"START_SENSITIVITY_HIGH",
    "end_of_speech_sensitivity":"END_SENSITIVITY_LOW",
   "prefix_padding_ms":20,"silence_duration_ms":100},"activity_handling":"NO_INTERRUPTION",
  "turn_coverage":"TURN_INCLUDES_ALL_INPUT","interim_transcript_timestamp_enabled":true},
 "session_resumption":{"handle":"h","transparent":true},
 "context_window_compression":{"trigger_tokens":"25600","sliding_window":{"target_tokens":12800}},
 "input_audio_transcription":{},"output_audio_transcription":{"language_codes":["en-US"],
  "mode":"SMART"},
 "proactivity":{"proactive_audio":true,"proactive_video":false},"explicit_vad_signal":true,
 "history_config":{"initial_history_in_client_content":true},
 "avatar_config":{"avatar_name":"a","audio_bitrate_bps":1,"video_bitrate_bps":2},
 "safety_settings":[{"category":"C","threshold":"T","method":"M"}]}}"#;

const WHOLE_ANSWER: &str = r#"{"setup_complete":{"session_id":"s",
 "voice_consent_signature":{"signature":"x"}},
 "usage_metadata":{"prompt_token_count":1,"cached_content_token_count":1,"response_token_count":1,
  "candidates_token_count":1,"tool_use_prompt_token_count":1,"thoughts_token_count":1,
   "total_token_count":"1",
  "prompt_tokens_details":[{"modality":"TEXT","token_count":1}],"cache_tokens_details":[],
   "response_tokens_details":[],
  "candidates_tokens_details":[],"tool_use_prompt_tokens_details":[],"service_tier":"s",
   "traffic_type":"t"},
 "voice_activity":{"type":"ACTIVITY_START","audio_offset":"1.200s"},
 "voice_activity_detection_signal":{"vad_signal_type":"VAD_SIGNAL_TYPE_SOS"},
 "tool_call":{"function_calls":[{"id":"i","name":"n","args":{"a_b":1},"will_continue":true,
  "partial_args":[{"json_path":"$.a","string_value":"s","will_continue":true},{"json_path":"$.b",
   "number_value":1},
   {"json_path":"$.c","bool_value":true},{"json_path":"$.d","null_value":"NULL_VALUE"}]}]},
 "server_content":{"model_turn":{"parts":[{"text":"t","thought":true,"thought_signature":"AQID",
  "part_metadata":{"a_b":1}},
   {"file_data":{"mime_type":"m","file_uri":"u","display_name":"d"}},
    {"executable_code":{"language":"PYTHON","code":"c","id":"e"}},
   {"code_execution_result":{"outcome":"OUTCOME_OK","output":"4","id":"e"}},
   {"tool_call":{"id":"s","tool_type":"GOOGLE_SEARCH","args":{"a_b":1}}},
   {"tool_response":{"id":"s","tool_type":"GOOGLE_SEARCH","response":{"a_b":1}}}]},
  "interim_input_transcription":{"text":"t","finished":false,"language_code":"en",
   "speaker_label":"1","start_offset":"0s",
   "end_offset":"1s"},
  "grounding_metadata":{"web_search_queries":["q"],"grounding_chunks":[{"web":{"uri":"u",
   "title":"t","domain":"d"}}]},
  "url_context_metadata":{"url_metadata":[{"retrieved_url":"u","url_retrieval_status":"S"}]}}}"#;

#[test]
fn everything_the_protocol_names_has_a_type() {
    let setup = ClientMessage::decode(WHOLE_SETUP).unwrap();
    assert!(is_typed_throughout(&setup), "{setup:#?}");
    let update = format!(
        r#"{{"context_update":{{"system_instruction":{{"parts":[]}},"tools":{{"tools":{}}}}}}}"#,
        value(WHOLE_SETUP)["setup"]["tools"]
    );
    let update = ClientMessage::decode(&update).unwrap();
    assert!(is_typed_throughout(&update), "{update:#?}");
    let answer = ServerMessage::decode(WHOLE_ANSWER).unwrap();
    assert!(is_typed_throughout(&answer), "{answer:#?}");
    let written = format!("{} {}", setup.encode(), answer.encode());
    let of_users = ["\"my_team\"", "\"snake_key\"", "\"a_b\"", "\"c_d\""];
    let rest = of_users.iter().fold(written, |text, key| {
        assert!(text.contains(key), "{key}");
        text.replace(key, "")
    });
    let keys = rest.split('"').skip(1).step_by(2);
    let snake: Vec<&str> = keys
        .filter(|it| it.contains('_') && *it == it.to_lowercase())
        .collect();
    assert!(snake.is_empty(), "{snake:?}");
}

/// A field of the wrong type does not cost an unrelated part of the message.
#[test]
fn a_field_of_the_wrong_type_stays_where_it_is() {
    for text in [
        r#"{"usageMetadata":7,"serverContent":{"turnComplete":true}}"#,
        r#"{"usageMetadata":{"totalTokenCount":"many","promptTokensDetails":{}}}"#,
        concat!(
            r#"{"serverContent":{"outputTranscription":{"text":"t","finished":"yes","#,
            r#""languageCode":[]}}}"#,
        ),
        r#"{"voiceActivity":{"type":1}}"#,
        r#"{"goAway":{"timeLeft":{}}}"#,
    ] {
        let message = ServerMessage::decode(text).unwrap();
        assert_eq!(value(&message.encode()), value(text));
    }
}

#[test]
fn media_are_written_in_the_alphabet_that_everybody_reads() {
    use recount::live::wire::{Blob, Part};

    let bytes = [0xFB, 0xFF, 0xFE, 0xFF];
    let blob = Blob::of("image/png", &bytes);
    assert_eq!(blob.data.as_deref(), Some("+//+/w=="));
    for data in ["+//+/w==", "+//+/w", "-__-_w==", "-__-_w"] {
        let text = json!({"mimeType": "image/png", "data": data});
        let text =
            format!(r#"{{"clientContent":{{"turns":[{{"parts":[{{"inlineData":{text}}}]}}]}}}}"#);
        let message = ClientMessage::decode(&text).unwrap();
        let content = message.client_content.unwrap();
        let part: &Part = &content.turns[0].parts[0];
        assert_eq!(part.inline_data.as_ref(), Some(&blob));
        assert_eq!(part.inline_data.as_ref().unwrap().bytes().unwrap(), bytes);
    }
    let other = Blob::of("image/png", &bytes[..3]);
    assert_ne!(other, blob);
}

#[test]
fn too_deep_nesting_is_rejected_anywhere_without_overflow() {
    let nested =
        |open: &str, close: &str| format!("{}{{}}{}", open.repeat(10_000), close.repeat(10_000));
    let part = nested(r#"{"functionResponse":{"parts":["#, "]}}");
    let text = format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{part}]}}}}}}"#);
    let error = ServerMessage::decode(&text).unwrap_err();
    assert_eq!(error.expected, "at most 64 levels of objects and lists");
    assert!(ServerMessage::decode_within(&text, usize::MAX).is_err());
    // A value of any JSON is kept as it is.
    let schema = nested(r#"{"items":"#, "}");
    let text = format!(
        concat!(
            r#"{{"setup":{{"model":"m","tools":[{{"functionDeclarations":[{{"name":"n","#,
            r#""parameters":{schema}}}]}}]}}}}"#,
        ),
        schema = schema,
    );
    let message = ClientMessage::decode(&text).unwrap();
    assert_eq!(message.encode().len(), text.len());

    let shallow = r#"{"serverContent":{"modelTurn":{"parts":[{}]}}}"#;
    assert!(ServerMessage::decode_within(shallow, 5).is_ok());
    let error = ServerMessage::decode_within(shallow, 4).unwrap_err();
    assert_eq!(
        error.to_string(),
        "serverContent.modelTurn.parts[0]: expected at most 4 levels of objects and lists, found \
        more"
    );
}

#[test]
fn a_refusal_says_where_and_what() {
    let cases = [
        ("[]", "message: expected an object, found a list"),
        (
            r#"{"toolCall":3}"#,
            "toolCall: expected an object, found a number",
        ),
        (
            r#"{"tool_call":{"functionCalls":[{},{"id":7}]}}"#,
            "toolCall.functionCalls[1].id: expected a string, found a number",
        ),
        (
            r#"{"serverContent":{"turnComplete":"yes"}}"#,
            "serverContent.turnComplete: expected a boolean, found a string",
        ),
        (
            r#"{"toolCallCancellation":{"ids":{}}}"#,
            "toolCallCancellation.ids: expected a list, found an object",
        ),
        (
            r#"{"goAway":{},"go_away":{}}"#,
            "goAway: expected the field once, found it twice",
        ),
    ];
    for (text, refusal) in cases {
        assert_eq!(
            ServerMessage::decode(text).unwrap_err().to_string(),
            refusal
        );
    }
    let error: DecodeError = ClientMessage::decode(r#"{"setup":{}}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "setup.model: expected a model, found none"
    );
}

#[test]
fn empty_messages_and_empty_lists_are_there() {
    for text in [
        r#"{"setup":{"model":"m","sessionResumption":{},"inputAudioTranscription":{}}}"#,
        r#"{"realtimeInput":{"activityStart":{}}}"#,
        r#"{"clientContent":{"turns":[],"turnComplete":false}}"#,
        r#"{"contextUpdate":{"tools":{"tools":[]}}}"#,
        r#"{"setup":{"model":"m","tools":[{"googleSearch":{}}]}}"#,
    ] {
        assert_eq!(ClientMessage::decode(text).unwrap().encode(), text);
    }
    assert_eq!(
        ServerMessage::setup_complete().encode(),
        r#"{"setupComplete":{}}"#
    );
}

/// JSON whose keys are often those of the protocol, so that the reader gets past the first level.
fn arbitrary_json() -> impl Strategy<Value = Value> {
    const KEYS: [&str; 24] = [
        "setup",
        "model",
        "tools",
        "function_declarations",
        "name",
        "parameters",
        "clientContent",
        "turns",
        "parts",
        "text",
        "realtime_input",
        "audio",
        "data",
        "toolResponse",
        "functionResponses",
        "response",
        "toolCall",
        "functionCalls",
        "id",
        "args",
        "serverContent",
        "model_turn",
        "goAway",
        "ids",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 5, |inner| {
        let key = prop_oneof![
            4 => proptest::sample::select(KEYS.to_vec()).prop_map(str::to_owned),
            1 => ".{0,6}",
        ];
        prop_oneof![
            1 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => proptest::collection::vec((key, inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_rejected_or_written_back_equal(value in arbitrary_json()) {
        let text = value.to_string();
        if let Ok(message) = ServerMessage::decode(&text) {
            prop_assert_eq!(ServerMessage::decode(&message.encode()).unwrap(), message);
        }
        if let Ok(message) = ClientMessage::decode(&text) {
            prop_assert_eq!(ClientMessage::decode(&message.encode()).unwrap(), message);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in r#"[\[\]{}:,"a-z_0-9.\\ ]{0,60}"#) {
        let _ = ServerMessage::decode(&text);
        let _ = ClientMessage::decode(&text);
    }

    #[test]
    fn any_arguments_stay_the_text_they_were(value in arbitrary_json()) {
        let args = RawJson::from(&value);
        let text = format!(r#"{{"toolCall":{{"functionCalls":[{{"args":{args}}}]}}}}"#);
        let message = ServerMessage::decode(&text).unwrap();
        let read = message.tool_call.as_ref().unwrap().function_calls[0].args.clone();
        prop_assert_eq!(read, (!value.is_null()).then_some(args));
    }
}
