//! The parts of a setup that are about the conversation, not about the model's output.

use recount_text::json::Number;

use super::content::Content;
use super::field::message;
use super::function::Tool;
use super::repeated::Repeated;

message! {
    /// How the user's speech is noticed, and what it does.
    pub struct RealtimeInputConfig {
        /// Whether and how the service notices speech.
        pub automatic_activity_detection: Option<AutomaticActivityDetection> = "automaticActivityDetection",
        /// `START_OF_ACTIVITY_INTERRUPTS` or `NO_INTERRUPTION`.
        pub activity_handling: Option<String> = "activityHandling",
        /// `TURN_INCLUDES_ONLY_ACTIVITY`, `TURN_INCLUDES_ALL_INPUT` or
        /// `TURN_INCLUDES_AUDIO_ACTIVITY_AND_ALL_VIDEO`.
        pub turn_coverage: Option<String> = "turnCoverage",
        /// Whether transcripts that are not final have their times.
        pub interim_transcript_timestamp_enabled: Option<bool> = "interimTranscriptTimestampEnabled",
    }
}

message! {
    /// Whether and how the service notices speech.
    pub struct AutomaticActivityDetection {
        /// The client says when the user speaks.
        pub disabled: Option<bool> = "disabled",
        /// `START_SENSITIVITY_HIGH` or `START_SENSITIVITY_LOW`.
        pub start_of_speech_sensitivity: Option<String> = "startOfSpeechSensitivity",
        /// `END_SENSITIVITY_HIGH` or `END_SENSITIVITY_LOW`.
        pub end_of_speech_sensitivity: Option<String> = "endOfSpeechSensitivity",
        /// How long there must be speech before it counts, in milliseconds.
        pub prefix_padding_ms: Option<Number> = "prefixPaddingMs",
        /// How long there must be silence before speech counts as over, in milliseconds.
        pub silence_duration_ms: Option<Number> = "silenceDurationMs",
    }
}

message! {
    /// What happens when the conversation outgrows the model's window.
    pub struct ContextWindowCompression {
        /// From how many tokens on it is cut.
        pub trigger_tokens: Option<Number> = "triggerTokens",
        /// It is cut at its beginning.
        pub sliding_window: Option<SlidingWindow> = "slidingWindow",
    }
}

message! {
    /// The beginning of the conversation is forgotten.
    pub struct SlidingWindow {
        /// How many tokens are kept.
        pub target_tokens: Option<Number> = "targetTokens",
    }
}

message! {
    /// Speech is sent as text, too; its presence asks for it.
    pub struct AudioTranscriptionConfig {
        /// The languages to expect, such as `en-US`.
        pub language_codes: Repeated<String> = "languageCodes",
        /// `VERBATIM` or `SMART`.
        pub mode: Option<String> = "mode",
    }
    known "customVocabulary" "wordTimestamp" "diarization" "sourceText" "languageAuto" "languageHints"
        "adaptationPhrases"
}

message! {
    /// Whether the model may keep silent, or speak first.
    pub struct ProactivityConfig {
        /// On what it hears.
        pub proactive_audio: Option<bool> = "proactiveAudio",
        /// On what it sees.
        pub proactive_video: Option<bool> = "proactiveVideo",
    }
}

message! {
    /// How the conversation begins.
    pub struct HistoryConfig {
        /// The first `clientContent`, up to its `turnComplete`, is history and asks for no answer.
        pub initial_history_in_client_content: Option<bool> = "initialHistoryInClientContent",
    }
}

message! {
    /// A face for the model.
    pub struct AvatarConfig {
        /// One of the service's own.
        pub avatar_name: Option<String> = "avatarName",
        /// Bits of sound a second.
        pub audio_bitrate_bps: Option<Number> = "audioBitrateBps",
        /// Bits of picture a second.
        pub video_bitrate_bps: Option<Number> = "videoBitrateBps",
    }
    known "customizedAvatar"
}

message! {
    /// From when on the service refuses to speak.
    pub struct SafetySetting {
        /// Such as `HARM_CATEGORY_HARASSMENT`.
        pub category: Option<String> = "category",
        /// Such as `BLOCK_ONLY_HIGH`.
        pub threshold: Option<String> = "threshold",
        /// By probability or by severity; Vertex only.
        pub method: Option<String> = "method",
    }
}

message! {
    /// A new instruction or new tools in the middle of a conversation.
    pub struct ContextUpdate {
        /// What the model is told to be from here on.
        pub system_instruction: Option<Content> = "systemInstruction",
        /// What it may use from here on; absent, nothing changes.
        pub tools: Option<ToolList> = "tools",
    }
}

message! {
    /// All that the model may use; an empty list is none.
    pub struct ToolList {
        /// The tools.
        pub tools: Repeated<Tool> = "tools",
    }
}
