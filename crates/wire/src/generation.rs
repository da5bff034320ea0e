//! How the model generates: the configuration of a setup that is about its output.

use recount_text::json::Number;

use super::field::message;
use super::repeated::Repeated;

message! {
    /// How the model generates. A number is the same number however a library spells it.
    ///
    /// ```
    /// use recount_wire::GenerationConfig;
    ///
    /// let python = GenerationConfig::decode(r#"{"top_k":40.0}"#)?;
    /// let script = GenerationConfig::decode(r#"{"topK":"40"}"#)?;
    /// assert_eq!(python, script);
    /// assert_eq!(python.top_k.unwrap().as_i64(), Some(40));
    /// # Ok::<(), recount_wire::DecodeError>(())
    /// ```
    ///
    /// ```
    /// use recount_wire::{ClientMessage, GenerationConfig, Setup, SpeechConfig};
    ///
    /// let generation = GenerationConfig {
    ///     response_modalities: vec!["AUDIO".to_owned()].into(),
    ///     speech_config: Some(SpeechConfig::voice("Puck")),
    ///     ..GenerationConfig::default()
    /// };
    /// let setup = Setup { model: "models/m".into(), generation_config: Some(generation), ..Setup::default() };
    /// assert_eq!(
    ///     ClientMessage::setup(setup).encode(),
    ///     r#"{"setup":{"model":"models/m","generationConfig":{"responseModalities":["AUDIO"],"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Puck"}}}}}}"#
    /// );
    /// ```
    pub struct GenerationConfig {
        /// `AUDIO` or `TEXT`; one of them.
        pub response_modalities: Repeated<String> = "responseModalities",
        /// How much chance plays a part, 0 to 2.
        pub temperature: Option<Number> = "temperature",
        /// The share of likely words that are considered.
        pub top_p: Option<Number> = "topP",
        /// The number of likely words that are considered.
        pub top_k: Option<Number> = "topK",
        /// The longest output, in tokens.
        pub max_output_tokens: Option<Number> = "maxOutputTokens",
        /// Where chance begins.
        pub seed: Option<Number> = "seed",
        /// How many answers are made.
        pub candidate_count: Option<Number> = "candidateCount",
        /// How much words that were said are avoided.
        pub presence_penalty: Option<Number> = "presencePenalty",
        /// How much words that were said often are avoided.
        pub frequency_penalty: Option<Number> = "frequencyPenalty",
        /// `MEDIA_RESOLUTION_LOW`, `MEDIA_RESOLUTION_MEDIUM` or `MEDIA_RESOLUTION_HIGH`.
        pub media_resolution: Option<String> = "mediaResolution",
        /// The voice.
        pub speech_config: Option<SpeechConfig> = "speechConfig",
        /// How much it thinks.
        pub thinking_config: Option<ThinkingConfig> = "thinkingConfig",
        /// Whether it answers a tone of voice.
        pub enable_affective_dialog: Option<bool> = "enableAffectiveDialog",
        /// Whether it translates.
        pub translation_config: Option<TranslationConfig> = "translationConfig",
    }
    known "responseLogprobs" "responseMimeType" "logprobs" "responseSchema" "responseJsonSchema" "stopSequences"
        "routingConfig" "audioTimestamp"
}

message! {
    /// The voice of the model.
    pub struct SpeechConfig {
        /// Such as `en-US`.
        pub language_code: Option<String> = "languageCode",
        /// Whose voice.
        pub voice_config: Option<VoiceConfig> = "voiceConfig",
    }
    known "multiSpeakerVoiceConfig"
}

impl SpeechConfig {
    /// One of the service's voices, such as `Puck`.
    #[must_use]
    pub fn voice(name: impl Into<String>) -> SpeechConfig {
        let prebuilt = PrebuiltVoiceConfig {
            voice_name: Some(name.into()),
            ..PrebuiltVoiceConfig::default()
        };
        SpeechConfig {
            voice_config: Some(VoiceConfig {
                prebuilt_voice_config: Some(prebuilt),
                ..VoiceConfig::default()
            }),
            ..SpeechConfig::default()
        }
    }
}

message! {
    /// Whose voice.
    pub struct VoiceConfig {
        /// One of the service's own.
        pub prebuilt_voice_config: Option<PrebuiltVoiceConfig> = "prebuiltVoiceConfig",
    }
    known "replicatedVoiceConfig"
}

message! {
    /// One of the service's own voices.
    pub struct PrebuiltVoiceConfig {
        /// Such as `Puck`.
        pub voice_name: Option<String> = "voiceName",
    }
}

message! {
    /// How much the model thinks.
    pub struct ThinkingConfig {
        /// Whether its thoughts are sent.
        pub include_thoughts: Option<bool> = "includeThoughts",
        /// How many tokens it may think; 0 is none.
        pub thinking_budget: Option<Number> = "thinkingBudget",
        /// Such as `LOW`.
        pub thinking_level: Option<String> = "thinkingLevel",
    }
}

message! {
    /// Whether the model translates.
    pub struct TranslationConfig {
        /// Into which language, such as `de`.
        pub target_language_code: Option<String> = "targetLanguageCode",
        /// Whether what is in that language already is said again.
        pub echo_target_language: Option<bool> = "echoTargetLanguage",
    }
}
