//! Classes of a client's messages.

use recount::live::wire::{ClientMessage, Content};

use super::members::Members;
use super::{FrameError, media};

/// The treatment of a message of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientFrame {
    /// Media and signs of activity. The session does not record them.
    Realtime,
    /// Realtime input with text, perhaps beside media; see [`user_text`].
    RealtimeText,
    /// The setup of the connection.
    Setup,
    /// A change of instruction or tools.
    ContextUpdate,
    /// Responses to calls, perhaps beside other input.
    ToolResponse,
    /// Turns of the conversation.
    Content,
    /// A message without a payload that the gateway knows.
    Other,
    /// A message that must not be forwarded, because the vendor may read it differently.
    Malformed(FrameError),
}

/// Classifies a message.
///
/// Only a message of media alone is decided by its bytes; others are read. A message with a setup,
/// a context update or responses is never of another class.
pub(crate) fn look(frame: &[u8]) -> ClientFrame {
    if media::is_input(frame) {
        return ClientFrame::Realtime;
    }
    let class = text_of(frame).and_then(class_of);
    class.unwrap_or_else(ClientFrame::Malformed)
}

/// Returns the text of a message.
///
/// # Errors
/// [`FrameError::NotAnObject`] if it is not UTF-8.
pub(crate) fn text_of(frame: &[u8]) -> Result<&str, FrameError> {
    let broken = |error: std::str::Utf8Error| {
        FrameError::NotAnObject(format!("other bytes at {}", error.valid_up_to()))
    };
    std::str::from_utf8(frame).map_err(broken)
}

pub(super) fn class_of(frame: &str) -> Result<ClientFrame, FrameError> {
    let mut members = Members::of_frame(frame)?;
    // Each is taken before the first is judged, so that a misspelt key is found beside any other.
    let setup = members.take("setup")?;
    let update = members.take("contextUpdate")?;
    let responses = members.take("toolResponse")?;
    let content = members.take("clientContent")?;
    let realtime = members.take("realtimeInput")?;
    match (setup.is_some(), update.is_some(), responses.is_some()) {
        (true, true, _) => Err(FrameError::TwoPayloads("setup", "contextUpdate")),
        (true, _, true) => Err(FrameError::TwoPayloads("setup", "toolResponse")),
        (_, true, true) => Err(FrameError::TwoPayloads("contextUpdate", "toolResponse")),
        // What is beside a setup would pass before the calls of the session are known.
        (true, false, false) if content.is_some() => {
            Err(FrameError::TwoPayloads("setup", "clientContent"))
        }
        (true, false, false) if realtime.is_some() => {
            Err(FrameError::TwoPayloads("setup", "realtimeInput"))
        }
        (true, false, false) => Ok(ClientFrame::Setup),
        (false, true, false) => Ok(ClientFrame::ContextUpdate),
        (false, false, true) => Ok(ClientFrame::ToolResponse),
        (false, false, false) if content.is_some() => Ok(ClientFrame::Content),
        (false, false, false) => match realtime {
            Some(input) if has_text(input.value) => Ok(ClientFrame::RealtimeText),
            Some(_) => Ok(ClientFrame::Realtime),
            None => Ok(ClientFrame::Other),
        },
    }
}

/// True if realtime input may have a text.
fn has_text(input: &str) -> bool {
    Members::of(input)
        .and_then(|mut it| it.take("text"))
        .map_or(true, |text| text.is_some())
}

/// True if a message is media and signs of activity alone, by its bytes.
pub(crate) fn is_media(frame: &[u8]) -> bool {
    media::is_input(frame)
}

/// Checks that the engine reads a message as one of the protocol.
///
/// # Errors
/// An error if the message cannot be read.
pub(crate) fn check(frame: &str) -> Result<(), FrameError> {
    ClientMessage::decode(frame)?;
    Ok(())
}

/// Returns the words of the user in a message: text of realtime input and of the user's turns.
///
/// `None` if there are none, or the message cannot be read.
pub(crate) fn user_text(frame: &str) -> Option<String> {
    let message = ClientMessage::decode(frame).ok()?;
    let turns = message.client_content.map(|it| it.turns.into_vec());
    let is_user = |turn: &Content| turn.role.as_deref().is_none_or(|role| role == "user");
    let turns = turns.into_iter().flatten().filter(is_user);
    let spoken = turns.map(|turn| turn.spoken());
    let typed = message.realtime_input.and_then(|it| it.text);
    let texts: Vec<String> = spoken.chain(typed).filter(|it| !it.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
