//! The parts of a setup that concern the conversation and not the model's output.

use recount_text::json::Number;

use super::content::Content;
use super::field::message;
use super::function::Tool;
use super::repeated::Repeated;

message! {
    /// The detection of the user's speech, and its effect.
    pub struct RealtimeInputConfig {
        /// The settings for the service's speech detection.
        pub automatic_activity_detection: Option<AutomaticActivityDetection> =
            "automaticActivityDetection",
        /// `START_OF_ACTIVITY_INTERRUPTS` or `NO_INTERRUPTION`.
        pub activity_handling: Option<String> = "activityHandling",
        /// `TURN_INCLUDES_ONLY_ACTIVITY`, `TURN_INCLUDES_ALL_INPUT` or
        /// `TURN_INCLUDES_AUDIO_ACTIVITY_AND_ALL_VIDEO`.
        pub turn_coverage: Option<String> = "turnCoverage",
        /// True if preliminary transcripts have times.
        pub interim_transcript_timestamp_enabled: Option<bool> =
            "interimTranscriptTimestampEnabled",
    }
}

message! {
    /// The settings for the service's speech detection.
    pub struct AutomaticActivityDetection {
        /// True if the client reports the user's speech instead.
        pub disabled: Option<bool> = "disabled",
        /// `START_SENSITIVITY_HIGH` or `START_SENSITIVITY_LOW`.
        pub start_of_speech_sensitivity: Option<String> = "startOfSpeechSensitivity",
        /// `END_SENSITIVITY_HIGH` or `END_SENSITIVITY_LOW`.
        pub end_of_speech_sensitivity: Option<String> = "endOfSpeechSensitivity",
        /// The minimum duration of speech before it counts, in milliseconds.
        pub prefix_padding_ms: Option<Number> = "prefixPaddingMs",
        /// The minimum duration of silence before speech counts as ended, in milliseconds.
        pub silence_duration_ms: Option<Number> = "silenceDurationMs",
    }
}

message! {
    /// The handling of a conversation that exceeds the model's context window.
    pub struct ContextWindowCompression {
        /// The number of tokens from which the conversation is truncated.
        pub trigger_tokens: Option<Number> = "triggerTokens",
        /// Truncation at the beginning.
        pub sliding_window: Option<SlidingWindow> = "slidingWindow",
    }
}

message! {
    /// Truncation of the conversation at its beginning.
    pub struct SlidingWindow {
        /// The number of tokens to keep.
        pub target_tokens: Option<Number> = "targetTokens",
    }
}

message! {
    /// Transcription of speech, requested by the presence of this object.
    pub struct AudioTranscriptionConfig {
        /// The expected languages, such as `en-US`.
        pub language_codes: Repeated<String> = "languageCodes",
        /// `VERBATIM` or `SMART`.
        pub mode: Option<String> = "mode",
    }
    known "customVocabulary" "wordTimestamp" "diarization" "sourceText" "languageAuto"
          "languageHints"
        "adaptationPhrases"
}

message! {
    /// The model's freedom to stay silent or to speak first.
    pub struct ProactivityConfig {
        /// True if it applies to audio input.
        pub proactive_audio: Option<bool> = "proactiveAudio",
        /// True if it applies to video input.
        pub proactive_video: Option<bool> = "proactiveVideo",
    }
}

message! {
    /// The history at the beginning of the conversation.
    pub struct HistoryConfig {
        /// True if the first `clientContent`, up to its `turnComplete`, is history that needs no
        /// answer.
        pub initial_history_in_client_content: Option<bool> = "initialHistoryInClientContent",
    }
}

message! {
    /// An avatar for the model.
    pub struct AvatarConfig {
        /// The name of one of the service's avatars.
        pub avatar_name: Option<String> = "avatarName",
        /// The audio bit rate, in bits per second.
        pub audio_bitrate_bps: Option<Number> = "audioBitrateBps",
        /// The video bit rate, in bits per second.
        pub video_bitrate_bps: Option<Number> = "videoBitrateBps",
    }
    known "customizedAvatar"
}

message! {
    /// The threshold from which the service blocks content of a category.
    pub struct SafetySetting {
        /// The category, such as `HARM_CATEGORY_HARASSMENT`.
        pub category: Option<String> = "category",
        /// The threshold, such as `BLOCK_ONLY_HIGH`.
        pub threshold: Option<String> = "threshold",
        /// The measure: probability or severity (Vertex only).
        pub method: Option<String> = "method",
    }
}

message! {
    /// A new instruction or new tools during a conversation.
    pub struct ContextUpdate {
        /// The new instruction.
        pub system_instruction: Option<Content> = "systemInstruction",
        /// The new tools. Absent means no change.
        pub tools: Option<ToolList> = "tools",
    }
}

message! {
    /// The complete list of tools. An empty list removes all.
    pub struct ToolList {
        /// The tools.
        pub tools: Repeated<Tool> = "tools",
    }
}
