//! How a model speaks and listens.

use serde_json::{Value, json};

/// What a model answers with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Modality {
    /// In writing.
    #[default]
    Text,
    /// Aloud: [`LiveHandle::listen`](crate::engine::LiveHandle::listen) hears it.
    Audio,
}

/// How a model speaks and listens, as the setup tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) modality: Option<Modality>,
    pub(crate) voice: Option<String>,
    pub(crate) language: Option<String>,
    /// Speech is written down, too, the user's and the model's.
    pub(crate) transcribed: bool,
    /// The client says when the user begins and stops to speak.
    pub(crate) marks_activity: bool,
}

impl Manner {
    /// With a voice comes speech, unless something else was said.
    fn modality(&self) -> Modality {
        let spoken = self.voice.is_some() || self.language.is_some();
        self.modality.unwrap_or(if spoken {
            Modality::Audio
        } else {
            Modality::Text
        })
    }

    /// Why these do not go together.
    pub(crate) fn mistake(&self) -> Option<String> {
        let voice = self.voice.as_ref()?;
        let written = self.modality() == Modality::Text;
        written.then(|| format!("it has the voice {voice:?} and answers in writing"))
    }

    /// The `generationConfig`.
    pub(crate) fn generation_config(&self) -> Value {
        let modality = match self.modality() {
            Modality::Text => "TEXT",
            Modality::Audio => "AUDIO",
        };
        let mut config = json!({"responseModalities": [modality]});
        let mut speech = serde_json::Map::new();
        if let Some(language) = &self.language {
            speech.insert("languageCode".to_owned(), json!(language));
        }
        if let Some(voice) = &self.voice {
            let voice = json!({"prebuiltVoiceConfig": {"voiceName": voice}});
            speech.insert("voiceConfig".to_owned(), voice);
        }
        if let (false, Some(config)) = (speech.is_empty(), config.as_object_mut()) {
            config.insert("speechConfig".to_owned(), Value::Object(speech));
        }
        config
    }

    /// What stands beside it in the setup.
    pub(crate) fn beside(&self) -> Vec<(&'static str, Value)> {
        let mut fields = Vec::new();
        if self.marks_activity {
            let manual = json!({"automaticActivityDetection": {"disabled": true}});
            fields.push(("realtimeInputConfig", manual));
        }
        if self.transcribed {
            fields.push(("inputAudioTranscription", json!({})));
            fields.push(("outputAudioTranscription", json!({})));
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_voice_speaks_and_nothing_else_is_said_than_was_chosen() {
        let plain = Manner::default();
        assert_eq!(
            plain.generation_config(),
            json!({"responseModalities": ["TEXT"]})
        );
        assert!(plain.beside().is_empty());
        let voice = Manner {
            voice: Some("Kore".to_owned()),
            language: Some("de-DE".to_owned()),
            transcribed: true,
            ..Manner::default()
        };
        let speech = json!({"languageCode": "de-DE", "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}});
        assert_eq!(
            voice.generation_config(),
            json!({"responseModalities": ["AUDIO"], "speechConfig": speech})
        );
        assert_eq!(voice.beside().len(), 2);
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
