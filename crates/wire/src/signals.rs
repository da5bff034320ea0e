//! Whether the user speaks, as the service notices it.

use super::field::message;

message! {
    /// The user begins or stops to speak; Vertex, where `explicitVadSignal` asks for it.
    pub struct VoiceActivity {
        /// `ACTIVITY_START` or `ACTIVITY_END`.
        pub kind: Option<String> = "type",
        /// Where in the sound, such as `1.200s`.
        pub audio_offset: Option<String> = "audioOffset",
    }
}

message! {
    /// The older form of it.
    pub struct VoiceActivityDetectionSignal {
        /// `VAD_SIGNAL_TYPE_SOS` or `VAD_SIGNAL_TYPE_EOS`.
        pub vad_signal_type: Option<String> = "vadSignalType",
    }
}

message! {
    /// That the user's voice may be used.
    pub struct VoiceConsentSignature {
        /// The proof.
        pub signature: Option<String> = "signature",
    }
}
