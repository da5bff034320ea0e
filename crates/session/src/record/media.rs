//! The amount of audio and video of a connection, which the journal does not store.

use serde::{Deserialize, Serialize};

use crate::values::id::Seq;

/// `media_counted`: the amount of audio and video of one turn on one connection. The content is not
/// stored.
///
/// ```json
/// {"epoch":3,"heard":{"audio":{"frames":50,"bytes":96000}},
///  "sent":{"audio":{"frames":25,"bytes":16000},"video":{"frames":1,"bytes":20480}},
///  "withheld":{"audio":{"frames":5,"bytes":3200}}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaCounted {
    /// The connection.
    pub epoch: Seq,
    /// Media from the model.
    #[serde(default, skip_serializing_if = "MediaCount::is_none")]
    pub heard: MediaCount,
    /// Media sent to the model.
    #[serde(default, skip_serializing_if = "MediaCount::is_none")]
    pub sent: MediaCount,
    /// Media dropped because the model was waiting for the response to a call.
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
    /// Video (pictures), and everything else that is not audio.
    #[serde(default, skip_serializing_if = "Frames::is_none")]
    pub video: Frames,
}

/// The number of frames, and their size before any encoding.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// The number of frames.
    pub frames: u64,
    /// The total size, in bytes.
    pub bytes: u64,
}

impl MediaCount {
    /// True if there was no media.
    ///
    /// ```
    /// assert!(recount_session::MediaCount::default().is_none());
    /// ```
    pub fn is_none(&self) -> bool {
        self.audio.is_none() && self.video.is_none()
    }
}

impl Frames {
    /// True if there were no frames.
    pub fn is_none(&self) -> bool {
        self.frames == 0
    }

    /// Adds one frame.
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
