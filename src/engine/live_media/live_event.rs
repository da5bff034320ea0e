//! The conversation as it happens, before it is on record.

use std::fmt;
use std::sync::Arc;

use crate::session::{CallId, Speaker};

/// Something of the conversation as it happens, before it is on record.
///
/// ```
/// use recount::engine::LiveEvent;
///
/// let audio = LiveEvent::Audio { mime_type: "audio/pcm;rate=24000".into(), data: vec![0; 960].into() };
/// assert_eq!(format!("{audio:?}"), "Audio(audio/pcm;rate=24000, 960 bytes)");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiveEvent {
    /// A piece of what the model says aloud.
    Audio {
        /// Its format, such as `audio/pcm;rate=24000`.
        mime_type: Arc<str>,
        /// Its bytes.
        data: Arc<[u8]>,
    },
    /// Something else that the model shows, such as a picture.
    Video {
        /// Its format.
        mime_type: Arc<str>,
        /// Its bytes.
        data: Arc<[u8]>,
    },
    /// A piece of what the model writes.
    Text(String),
    /// A piece of what was said, as text.
    Transcript {
        /// Who said it.
        speaker: Speaker,
        /// The words.
        text: String,
    },
    /// The user cut the model short: what is still to be played should not be.
    Interrupted,
    /// The model's turn is over.
    TurnComplete,
    /// The model waits for the response to a call: live input is kept from it from here on, where
    /// the agent [wants that](crate::engine::Agent::withhold_input_during_calls).
    InputWithheld,
    /// The model takes live input again, or its connection has ended.
    InputResumed,
    /// Everything that is open waits for somebody outside, and nothing goes on by itself. Told once
    /// each time it comes to that.
    Paused {
        /// The calls that wait, as
        /// [`Session::long_running_tool_ids`](crate::session::Session::long_running_tool_ids) names
        /// them.
        long_running_tool_ids: Arc<[CallId]>,
    },
    /// The connection is gone, and nobody here had ended it.
    Lost {
        /// The WebSocket close code, if there was one.
        code: Option<u16>,
        /// The peer's reason, or what the network said.
        reason: String,
    },
    /// A message, or a part of one, that could not be read, with the reason. A message makes one
    /// such event at most.
    Unreadable(String),
    /// So many events were lost here, because they were not taken in time.
    Lagged(u64),
}

impl fmt::Debug for LiveEvent {
    /// Tells formats and sizes: what is said belongs in no log.
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
