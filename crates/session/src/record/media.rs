//! How much audio and video went past the journal.

use serde::{Deserialize, Serialize};

use crate::values::id::Seq;

/// `media_counted`: the audio and video of a turn, or of what of it a connection saw. Its content
/// stands nowhere.
///
/// ```json
/// {"epoch":3,"heard":{"audio":{"frames":50,"bytes":96000}},"sent":{"audio":{"frames":25,"bytes":16000},"video":{"frames":1,"bytes":20480}},
///  "withheld":{"audio":{"frames":5,"bytes":3200}}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaCounted {
    /// The connection.
    pub epoch: Seq,
    /// What came from the model.
    #[serde(default, skip_serializing_if = "MediaCount::is_none")]
    pub heard: MediaCount,
    /// What went to the model.
    #[serde(default, skip_serializing_if = "MediaCount::is_none")]
    pub sent: MediaCount,
    /// What would have gone to the model, had it not been waiting for the response to a call: it
    /// was dropped.
    #[serde(default, skip_serializing_if = "MediaCount::is_none")]
    pub withheld: MediaCount,
}

/// Audio and video in one direction.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaCount {
    /// Audio.
    #[serde(default, skip_serializing_if = "Frames::is_none")]
    pub audio: Frames,
    /// Video, which is pictures, and whatever else is no audio.
    #[serde(default, skip_serializing_if = "Frames::is_none")]
    pub video: Frames,
}

/// Frames, and their bytes before any encoding.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// How many.
    pub frames: u64,
    /// How many bytes they have in all.
    pub bytes: u64,
}

impl MediaCount {
    /// Whether there was nothing.
    ///
    /// ```
    /// assert!(recount_session::MediaCount::default().is_none());
    /// ```
    pub fn is_none(&self) -> bool {
        self.audio.is_none() && self.video.is_none()
    }
}

impl Frames {
    /// Whether there were none.
    pub fn is_none(&self) -> bool {
        self.frames == 0
    }

    /// Counts one more.
    ///
    /// ```
    /// use recount_session::Frames;
    ///
    /// let mut audio = Frames::default();
    /// audio.count(640);
    /// assert_eq!(audio, Frames { frames: 1, bytes: 640 });
    /// ```
    pub fn count(&mut self, bytes: usize) {
        self.frames = self.frames.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }
}
