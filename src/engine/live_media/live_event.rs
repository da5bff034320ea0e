//! The events of a live conversation, before they are recorded.

use std::fmt;
use std::sync::Arc;

use crate::session::{CallId, Speaker};

/// An event of a live conversation, before it is recorded.
///
/// ```
/// use recount::engine::LiveEvent;
///
/// let audio = LiveEvent::Audio {
///     mime_type: "audio/pcm;rate=24000".into(),
///     data: vec![0; 960].into(),
/// };
/// assert_eq!(format!("{audio:?}"), "Audio(audio/pcm;rate=24000, 960 bytes)");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiveEvent {
    /// A piece of the model's audio.
    Audio {
        /// Its format, such as `audio/pcm;rate=24000`.
        mime_type: Arc<str>,
        /// Its bytes.
        data: Arc<[u8]>,
    },
    /// Other media of the model, such as a picture.
    Video {
        /// Its format.
        mime_type: Arc<str>,
        /// Its bytes.
        data: Arc<[u8]>,
    },
    /// A piece of the model's text.
    Text(String),
    /// A piece of a transcript.
    Transcript {
        /// The speaker.
        speaker: Speaker,
        /// The text.
        text: String,
    },
    /// The user interrupted the model: audio that is not played yet should be dropped.
    Interrupted,
    /// The model's turn has ended.
    TurnComplete,
    /// Live input is withheld from now on, because the model waits for the response to a call.
    ///
    /// Sent only if the agent [withholds](crate::engine::Agent::withhold_input_during_calls) input.
    InputWithheld,
    /// Live input resumes, or the connection has ended.
    InputResumed,
    /// Every open call now waits for an approver or an outside result. Sent once each time.
    Paused {
        /// The calls that wait, from
        /// [`Session::long_running_tool_ids`](crate::session::Session::long_running_tool_ids).
        long_running_tool_ids: Arc<[CallId]>,
    },
    /// The connection was lost; it was not closed by this side.
    Lost {
        /// The WebSocket close code, if there was one.
        code: Option<u16>,
        /// The reason given by the peer or the network.
        reason: String,
    },
    /// An unreadable message or part of one, with the reason. A message makes one such event at
    /// most.
    Unreadable(String),
    /// The number of events lost here, because they were not read in time.
    Lagged(u64),
}

impl fmt::Debug for LiveEvent {
    /// Prints formats and sizes only, because content must not be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Audio { mime_type, data } => {
                write!(f, "Audio({mime_type}, {} bytes)", data.len())
            }
            Self::Video { mime_type, data } => {
                write!(f, "Video({mime_type}, {} bytes)", data.len())
            }
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Transcript { speaker, text } => {
                write!(f, "Transcript({speaker:?}, {} bytes)", text.len())
            }
            Self::Interrupted => f.write_str("Interrupted"),
            Self::TurnComplete => f.write_str("TurnComplete"),
            Self::InputWithheld => f.write_str("InputWithheld"),
            Self::InputResumed => f.write_str("InputResumed"),
            Self::Paused {
                long_running_tool_ids,
            } => write!(f, "Paused({long_running_tool_ids:?})"),
            Self::Lost { code, reason } => write!(f, "Lost({code:?}, {reason})"),
            Self::Unreadable(problem) => write!(f, "Unreadable({problem})"),
            Self::Lagged(lost) => write!(f, "Lagged({lost})"),
        }
    }
}
