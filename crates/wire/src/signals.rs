//! Signals of voice activity, as the service detects it.

use super::field::message;

message! {
    /// The start or end of the user's speech (Vertex only, requested by `explicitVadSignal`).
    pub struct VoiceActivity {
        /// `ACTIVITY_START` or `ACTIVITY_END`.
        pub kind: Option<String> = "type",
        /// The time within the audio, such as `1.200s`.
        pub audio_offset: Option<String> = "audioOffset",
    }
}

message! {
    /// The older form of [`VoiceActivity`].
    pub struct VoiceActivityDetectionSignal {
        /// `VAD_SIGNAL_TYPE_SOS` or `VAD_SIGNAL_TYPE_EOS`.
        pub vad_signal_type: Option<String> = "vadSignalType",
    }
}

message! {
    /// The proof that the user's voice may be used.
    pub struct VoiceConsentSignature {
        /// The signature.
        pub signature: Option<String> = "signature",
    }
}
