//! The speech settings of a model.

use super::wire::{
    AudioTranscriptionConfig, AutomaticActivityDetection, GenerationConfig, RealtimeInputConfig,
    Setup, SpeechConfig,
};

/// The form of a model's answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Modality {
    /// Written text.
    #[default]
    Text,
    /// Speech. [`LiveHandle::listen`](crate::engine::LiveHandle::listen) receives it.
    Audio,
}

/// The speech settings, as part of the setup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) modality: Option<Modality>,
    pub(crate) voice: Option<String>,
    pub(crate) language: Option<String>,
    /// True if the speech of the user and the model is transcribed.
    pub(crate) transcribed: bool,
    /// True if the client marks the beginning and end of the user's speech.
    pub(crate) marks_activity: bool,
}

impl Manner {
    /// Returns the modality. Defaults to audio if a voice or language is set.
    fn modality(&self) -> Modality {
        let spoken = self.voice.is_some() || self.language.is_some();
        self.modality.unwrap_or(if spoken {
            Modality::Audio
        } else {
            Modality::Text
        })
    }

    /// Describes settings that exclude each other.
    pub(crate) fn mistake(&self) -> Option<String> {
        let voice = self.voice.as_ref()?;
        let written = self.modality() == Modality::Text;
        written.then(|| format!("it has the voice {voice:?} and answers in writing"))
    }

    /// Writes the settings to the setup.
    pub(crate) fn tell(&self, setup: &mut Setup) {
        let modality = match self.modality() {
            Modality::Text => "TEXT",
            Modality::Audio => "AUDIO",
        };
        let voice = self.voice.clone().map(SpeechConfig::voice);
        let speech = (voice.is_some() || self.language.is_some()).then(|| SpeechConfig {
            language_code: self.language.clone(),
            ..voice.unwrap_or_default()
        });
        setup.generation_config = Some(GenerationConfig {
            response_modalities: vec![modality.to_owned()].into(),
            speech_config: speech,
            ..GenerationConfig::default()
        });
        if self.marks_activity {
            setup.realtime_input_config = Some(RealtimeInputConfig {
                automatic_activity_detection: Some(AutomaticActivityDetection {
                    disabled: Some(true),
                    ..AutomaticActivityDetection::default()
                }),
                ..RealtimeInputConfig::default()
            });
        }
        if self.transcribed {
            setup.input_audio_transcription = Some(AudioTranscriptionConfig::default());
            setup.output_audio_transcription = Some(AudioTranscriptionConfig::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::wire::ClientMessage;

    fn told(manner: &Manner) -> String {
        let mut setup = Setup::default();
        manner.tell(&mut setup);
        ClientMessage::setup(setup).encode()
    }

    #[test]
    fn voice_implies_audio_and_only_chosen_settings_are_sent() {
        let plain = told(&Manner::default());
        assert!(plain.ends_with(r#""generationConfig":{"responseModalities":["TEXT"]}}}"#));
        let voice = Manner {
            voice: Some("Kore".to_owned()),
            language: Some("de-DE".to_owned()),
            transcribed: true,
            marks_activity: true,
            ..Manner::default()
        };
        let told = told(&voice);
        for part in [
            r#""responseModalities":["AUDIO"]"#,
            r#""languageCode":"de-DE""#,
            r#""prebuiltVoiceConfig":{"voiceName":"Kore"}"#,
            r#""automaticActivityDetection":{"disabled":true}"#,
            r#""inputAudioTranscription":{},"outputAudioTranscription":{}"#,
        ] {
            assert!(told.contains(part), "{part} in {told}");
        }
        assert_eq!(voice.mistake(), None);
    }

    #[test]
    fn a_voice_that_writes_is_a_mistake() {
        let odd = Manner {
            modality: Some(Modality::Text),
            voice: Some("Kore".to_owned()),
            ..Manner::default()
        };
        assert!(odd.mistake().is_some_and(|it| it.contains("Kore")));
    }
}
