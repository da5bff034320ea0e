//! The settings for the model's output, as part of a setup.

use recount_text::json::Number;

use super::field::message;
use super::repeated::Repeated;

message! {
    /// The settings for the model's output. Numbers are equal in all spellings of the libraries.
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
    /// let setup = Setup {
    ///     model: "models/m".into(),
    ///     generation_config: Some(generation),
    ///     ..Setup::default()
    /// };
    /// assert_eq!(
    ///     ClientMessage::setup(setup).encode(),
    ///     r#"{"setup":{"model":"models/m","generationConfig":{"responseModalities":["AUDIO"],"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Puck"}}}}}}"#
    /// );
    /// ```
    pub struct GenerationConfig {
        /// The modality, one of `AUDIO` and `TEXT`.
        pub response_modalities: Repeated<String> = "responseModalities",
        /// The randomness of the output, 0 to 2.
        pub temperature: Option<Number> = "temperature",
        /// The probability mass of the tokens to choose from.
        pub top_p: Option<Number> = "topP",
        /// The number of the most likely tokens to choose from.
        pub top_k: Option<Number> = "topK",
        /// The maximum length of the output, in tokens.
        pub max_output_tokens: Option<Number> = "maxOutputTokens",
        /// The seed of the random choice.
        pub seed: Option<Number> = "seed",
        /// The number of answers.
        pub candidate_count: Option<Number> = "candidateCount",
        /// The penalty for tokens that have occurred.
        pub presence_penalty: Option<Number> = "presencePenalty",
        /// The penalty for tokens that have occurred often.
        pub frequency_penalty: Option<Number> = "frequencyPenalty",
        /// `MEDIA_RESOLUTION_LOW`, `MEDIA_RESOLUTION_MEDIUM` or `MEDIA_RESOLUTION_HIGH`.
        pub media_resolution: Option<String> = "mediaResolution",
        /// The voice.
        pub speech_config: Option<SpeechConfig> = "speechConfig",
        /// The settings for thinking.
        pub thinking_config: Option<ThinkingConfig> = "thinkingConfig",
        /// True if the model responds to the tone of voice.
        pub enable_affective_dialog: Option<bool> = "enableAffectiveDialog",
        /// The settings for translation.
        pub translation_config: Option<TranslationConfig> = "translationConfig",
    }
    known "responseLogprobs" "responseMimeType" "logprobs" "responseSchema" "responseJsonSchema"
          "stopSequences"
        "routingConfig" "audioTimestamp"
}

message! {
    /// The voice of the model.
    pub struct SpeechConfig {
        /// The language, such as `en-US`.
        pub language_code: Option<String> = "languageCode",
        /// The voice.
        pub voice_config: Option<VoiceConfig> = "voiceConfig",
    }
    known "multiSpeakerVoiceConfig"
}

impl SpeechConfig {
    /// Selects one of the service's voices, such as `Puck`.
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
    /// A voice.
    pub struct VoiceConfig {
        /// One of the service's own voices.
        pub prebuilt_voice_config: Option<PrebuiltVoiceConfig> = "prebuiltVoiceConfig",
    }
    known "replicatedVoiceConfig"
}

message! {
    /// One of the service's own voices.
    pub struct PrebuiltVoiceConfig {
        /// The name, such as `Puck`.
        pub voice_name: Option<String> = "voiceName",
    }
}

message! {
    /// The settings for the model's thinking.
    pub struct ThinkingConfig {
        /// True if the thoughts are sent.
        pub include_thoughts: Option<bool> = "includeThoughts",
        /// The maximum number of tokens for thinking; 0 disables it.
        pub thinking_budget: Option<Number> = "thinkingBudget",
        /// The level, such as `LOW`.
        pub thinking_level: Option<String> = "thinkingLevel",
    }
}

message! {
    /// The settings for translation.
    pub struct TranslationConfig {
        /// The target language, such as `de`.
        pub target_language_code: Option<String> = "targetLanguageCode",
        /// True if speech in the target language is repeated.
        pub echo_target_language: Option<bool> = "echoTargetLanguage",
    }
}
