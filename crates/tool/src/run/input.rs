//! The user's live input while a tool runs.

use std::fmt;
use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// One event of a session's live input, in the order of arrival.
///
/// ```
/// use recount_tool::InputEvent;
///
/// let audio = InputEvent::Audio {
///     mime_type: "audio/pcm;rate=16000".to_owned(),
///     data: vec![0; 640].into(),
/// };
/// assert_eq!(format!("{audio:?}"), "Audio(audio/pcm;rate=16000, 640 bytes)");
/// ```
#[derive(Clone, Eq, PartialEq)]
#[non_exhaustive]
pub enum InputEvent {
    /// A piece of the user's audio.
    Audio {
        /// The format, such as `audio/pcm;rate=16000`.
        mime_type: String,
        /// The bytes.
        data: Arc<[u8]>,
    },
    /// A picture from the user.
    Video {
        /// The format, such as `image/jpeg`.
        mime_type: String,
        /// The bytes.
        data: Arc<[u8]>,
    },
    /// A text from the user.
    Text(String),
    /// The user has begun to speak.
    ActivityStart,
    /// The user has stopped speaking.
    ActivityEnd,
    /// The number of events lost here, because the tool fell behind.
    Lagged(u64),
}

impl fmt::Debug for InputEvent {
    /// Shows formats and sizes only, because the user's words do not belong in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Audio { mime_type, data } => {
                write!(f, "Audio({mime_type}, {} bytes)", data.len())
            }
            Self::Video { mime_type, data } => {
                write!(f, "Video({mime_type}, {} bytes)", data.len())
            }
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::ActivityStart => f.write_str("ActivityStart"),
            Self::ActivityEnd => f.write_str("ActivityEnd"),
            Self::Lagged(lost) => write!(f, "Lagged({lost})"),
        }
    }
}

/// Creates the channel of one run of a tool, with room for [`ROOM`] events.
pub(crate) fn channel() -> (
    broadcast::Sender<InputEvent>,
    broadcast::Receiver<InputEvent>,
) {
    broadcast::channel(ROOM)
}

/// Forwards the input of a session to one run of a tool, until one of them ends.
///
/// A broadcast receiver that falls behind gets an error, which would silently end a `while let Ok`
/// loop. So the tool's channel is never overrun: events that do not fit are counted, and the tool
/// receives the count as an event in their place.
pub(crate) async fn feed(
    mut session: broadcast::Receiver<InputEvent>,
    tool: broadcast::Sender<InputEvent>,
) {
    let mut lost = 0;
    loop {
        match session.recv().await {
            // The event, the count before it, and one more count at the end must fit.
            Ok(event) if tool.len() + 3 <= ROOM => {
                let count = (lost > 0).then_some(InputEvent::Lagged(lost));
                lost = 0;
                for event in count.into_iter().chain([event]) {
                    if tool.send(event).is_err() {
                        return;
                    }
                }
            }
            Ok(_) => lost += 1,
            Err(RecvError::Lagged(more)) => lost += more,
            Err(RecvError::Closed) => break,
        }
    }
    if lost > 0 {
        // The tool may have dropped its receiver.
        let _ = tool.send(InputEvent::Lagged(lost));
    }
}

/// The number of events that may wait for a tool: some seconds of audio in pieces of 20 ms.
const ROOM: usize = 256;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn text(number: usize) -> InputEvent {
        InputEvent::Text(number.to_string())
    }

    fn all(mut receiver: broadcast::Receiver<InputEvent>) -> Vec<InputEvent> {
        let mut events = Vec::new();
        while let Ok(event) = receiver.recv().now_or_never().unwrap() {
            events.push(event);
        }
        events
    }

    #[test]
    fn lost_events_are_counted_in_their_place() {
        let (session, receiver) = broadcast::channel(1024);
        let (sender, mut tool) = channel();
        let mut feeding = Box::pin(feed(receiver, sender));
        for number in 0..300 {
            session.send(text(number)).unwrap();
        }
        // More than one poll, because the runtime makes a busy task yield.
        while (&mut feeding).now_or_never().is_none() && !session.is_empty() {}
        assert_eq!(tool.recv().now_or_never(), Some(Ok(text(0))));
        for number in 300..303 {
            session.send(text(number)).unwrap();
        }
        drop(session);
        while (&mut feeding).now_or_never().is_none() {}
        let mut rest = all(tool);
        let kept = ROOM - 2;
        let counted = [
            InputEvent::Lagged(300 - kept as u64),
            text(300),
            InputEvent::Lagged(2),
        ];
        let expected: Vec<_> = (1..kept).map(text).chain(counted).collect();
        assert!(rest == expected, "{:?}", rest.split_off(kept - 2));
    }

    #[test]
    fn count_precedes_the_events_after_a_gap() {
        let (session, receiver) = broadcast::channel(2);
        let (sender, tool) = channel();
        for number in 0..5 {
            session.send(text(number)).unwrap();
        }
        drop(session);
        assert_eq!(feed(receiver, sender).now_or_never(), Some(()));
        assert_eq!(all(tool), [InputEvent::Lagged(3), text(3), text(4)]);
    }

    #[test]
    fn feeding_ends_when_the_tool_stops_listening() {
        let (session, receiver) = broadcast::channel(2);
        let (sender, tool) = channel();
        drop(tool);
        session.send(text(0)).unwrap();
        assert_eq!(feed(receiver, sender).now_or_never(), Some(()));
    }

    #[test]
    fn debug_text_hides_the_input() {
        let data: Arc<[u8]> = b"secret".to_vec().into();
        let mime_type = "m".to_owned();
        let events = [
            InputEvent::Audio {
                mime_type: mime_type.clone(),
                data: Arc::clone(&data),
            },
            InputEvent::Video { mime_type, data },
            InputEvent::Text("secret".to_owned()),
            InputEvent::ActivityStart,
            InputEvent::ActivityEnd,
            InputEvent::Lagged(7),
        ];
        assert_eq!(
            format!("{events:?}"),
            "[Audio(m, 6 bytes), Video(m, 6 bytes), Text(6 bytes), ActivityStart, ActivityEnd, Lagged(7)]"
        );
    }
}
