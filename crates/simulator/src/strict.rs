//! The fields of a setup that the real service knows. It rejects all others.

use serde_json::Value;

use recount_wire::{ClientMessage, Setup};

/// Returns the first unknown field of `setup` and its path, in the service's spelling.
pub(super) fn unknown_name(setup: &Setup) -> Option<(String, String)> {
    let text = ClientMessage::setup(setup.clone()).encode();
    let message: Value = serde_json::from_str(&text).ok()?;
    unknown_in(message.get("setup")?, Kind::Setup, "setup")
}

fn unknown_in(value: &Value, kind: Kind, place: &str) -> Option<(String, String)> {
    match (value, kind) {
        (_, Kind::Anything) => None,
        (Value::Array(items), _) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| unknown_in(item, kind, &format!("{place}[{index}]"))),
        (Value::Object(schemas), Kind::SchemaMap) => {
            schemas.iter().enumerate().find_map(|(index, (_, schema))| {
                unknown_in(schema, Kind::Schema, &format!("{place}[{index}].value"))
            })
        }
        (Value::Object(fields), _) => fields.iter().find_map(|(name, value)| {
            let known = kind.fields().iter().find(|(known, _)| known == name);
            match known {
                Some((_, kind)) => unknown_in(value, *kind, &format!("{place}.{}", snake(name))),
                None => Some((name.clone(), place.to_owned())),
            }
        }),
        _ => None,
    }
}

fn snake(name: &str) -> String {
    let mut spelt = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            spelt.push('_');
        }
        spelt.push(c.to_ascii_lowercase());
    }
    spelt
}

/// The type of a message within the setup, if its fields are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A scalar or an unchecked value.
    Anything,
    Setup,
    Generation,
    Speech,
    Voice,
    PrebuiltVoice,
    Thinking,
    Translation,
    Content,
    Part,
    Tool,
    Function,
    Schema,
    SchemaMap,
    Realtime,
    Activity,
    Resumption,
    Compression,
    Window,
    Transcription,
    Proactivity,
    History,
    Avatar,
    Safety,
}

impl Kind {
    fn fields(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Anything | Self::SchemaMap => &[],
            Self::Setup => SETUP,
            Self::Generation => GENERATION,
            Self::Speech => &[
                ("languageCode", Self::Anything),
                ("voiceConfig", Self::Voice),
                ("multiSpeakerVoiceConfig", Self::Anything),
            ],
            Self::Voice => &[
                ("prebuiltVoiceConfig", Self::PrebuiltVoice),
                ("replicatedVoiceConfig", Self::Anything),
            ],
            Self::PrebuiltVoice => &[("voiceName", Self::Anything)],
            Self::Thinking => &[
                ("thinkingBudget", Self::Anything),
                ("includeThoughts", Self::Anything),
                ("thinkingLevel", Self::Anything),
            ],
            Self::Translation => &[
                ("targetLanguageCode", Self::Anything),
                ("echoTargetLanguage", Self::Anything),
            ],
            Self::Content => &[("role", Self::Anything), ("parts", Self::Part)],
            Self::Part => PART,
            Self::Tool => TOOL,
            Self::Function => &[
                ("name", Self::Anything),
                ("description", Self::Anything),
                ("parameters", Self::Schema),
                ("parametersJsonSchema", Self::Anything),
                ("response", Self::Schema),
                ("responseJsonSchema", Self::Anything),
                ("behavior", Self::Anything),
            ],
            Self::Schema => SCHEMA,
            Self::Realtime => &[
                ("automaticActivityDetection", Self::Activity),
                ("activityHandling", Self::Anything),
                ("turnCoverage", Self::Anything),
                ("interimTranscriptTimestampEnabled", Self::Anything),
            ],
            Self::Activity => &[
                ("disabled", Self::Anything),
                ("startOfSpeechSensitivity", Self::Anything),
                ("endOfSpeechSensitivity", Self::Anything),
                ("prefixPaddingMs", Self::Anything),
                ("silenceDurationMs", Self::Anything),
            ],
            Self::Resumption => &[("handle", Self::Anything), ("transparent", Self::Anything)],
            Self::Compression => &[
                ("triggerTokens", Self::Anything),
                ("slidingWindow", Self::Window),
            ],
            Self::Window => &[("targetTokens", Self::Anything)],
            Self::Transcription => TRANSCRIPTION,
            Self::Proactivity => &[
                ("proactiveAudio", Self::Anything),
                ("proactiveVideo", Self::Anything),
            ],
            Self::History => &[("initialHistoryInClientContent", Self::Anything)],
            Self::Avatar => &[
                ("avatarName", Self::Anything),
                ("customizedAvatar", Self::Anything),
                ("audioBitrateBps", Self::Anything),
                ("videoBitrateBps", Self::Anything),
            ],
            Self::Safety => &[
                ("category", Self::Anything),
                ("threshold", Self::Anything),
                ("method", Self::Anything),
            ],
        }
    }
}

const SETUP: &[(&str, Kind)] = &[
    ("model", Kind::Anything),
    ("generationConfig", Kind::Generation),
    ("systemInstruction", Kind::Content),
    ("tools", Kind::Tool),
    ("realtimeInputConfig", Kind::Realtime),
    ("sessionResumption", Kind::Resumption),
    ("contextWindowCompression", Kind::Compression),
    ("inputAudioTranscription", Kind::Transcription),
    ("outputAudioTranscription", Kind::Transcription),
    ("proactivity", Kind::Proactivity),
    ("explicitVadSignal", Kind::Anything),
    ("historyConfig", Kind::History),
    ("avatarConfig", Kind::Avatar),
    ("safetySettings", Kind::Safety),
    ("labels", Kind::Anything),
];

const GENERATION: &[(&str, Kind)] = &[
    ("responseModalities", Kind::Anything),
    ("temperature", Kind::Anything),
    ("topP", Kind::Anything),
    ("topK", Kind::Anything),
    ("maxOutputTokens", Kind::Anything),
    ("seed", Kind::Anything),
    ("mediaResolution", Kind::Anything),
    ("speechConfig", Kind::Speech),
    ("thinkingConfig", Kind::Thinking),
    ("enableAffectiveDialog", Kind::Anything),
    ("translationConfig", Kind::Translation),
    ("candidateCount", Kind::Anything),
    ("presencePenalty", Kind::Anything),
    ("frequencyPenalty", Kind::Anything),
];

const PART: &[(&str, Kind)] = &[
    ("text", Kind::Anything),
    ("inlineData", Kind::Anything),
    ("fileData", Kind::Anything),
    ("functionCall", Kind::Anything),
    ("functionResponse", Kind::Anything),
    ("executableCode", Kind::Anything),
    ("codeExecutionResult", Kind::Anything),
    ("thought", Kind::Anything),
    ("thoughtSignature", Kind::Anything),
    ("videoMetadata", Kind::Anything),
    ("mediaResolution", Kind::Anything),
    ("partMetadata", Kind::Anything),
];

const TOOL: &[(&str, Kind)] = &[
    ("functionDeclarations", Kind::Function),
    ("googleSearch", Kind::Anything),
    ("googleSearchRetrieval", Kind::Anything),
    ("codeExecution", Kind::Anything),
    ("urlContext", Kind::Anything),
    ("googleMaps", Kind::Anything),
    ("fileSearch", Kind::Anything),
    ("computerUse", Kind::Anything),
    ("mcpServers", Kind::Anything),
    ("retrieval", Kind::Anything),
    ("enterpriseWebSearch", Kind::Anything),
    ("parallelAiSearch", Kind::Anything),
    ("exaAiSearch", Kind::Anything),
];

/// The part of OpenAPI that the protocol accepts, without `additionalProperties`, `$schema` and
/// `const`.
const SCHEMA: &[(&str, Kind)] = &[
    ("type", Kind::Anything),
    ("format", Kind::Anything),
    ("title", Kind::Anything),
    ("description", Kind::Anything),
    ("nullable", Kind::Anything),
    ("enum", Kind::Anything),
    ("items", Kind::Schema),
    ("minItems", Kind::Anything),
    ("maxItems", Kind::Anything),
    ("properties", Kind::SchemaMap),
    ("required", Kind::Anything),
    ("minProperties", Kind::Anything),
    ("maxProperties", Kind::Anything),
    ("minimum", Kind::Anything),
    ("maximum", Kind::Anything),
    ("minLength", Kind::Anything),
    ("maxLength", Kind::Anything),
    ("pattern", Kind::Anything),
    ("example", Kind::Anything),
    ("anyOf", Kind::Schema),
    ("propertyOrdering", Kind::Anything),
    ("default", Kind::Anything),
];

const TRANSCRIPTION: &[(&str, Kind)] = &[
    ("languageCodes", Kind::Anything),
    ("customVocabulary", Kind::Anything),
    ("wordTimestamp", Kind::Anything),
    ("diarization", Kind::Anything),
    ("mode", Kind::Anything),
    ("sourceText", Kind::Anything),
    ("languageAuto", Kind::Anything),
    ("languageHints", Kind::Anything),
    ("adaptationPhrases", Kind::Anything),
];
