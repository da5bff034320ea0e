//! Continuation of a conversation on a new connection: by a resumption handle, or with a history.

use super::outgoing;
use super::wire::{ClientContent, ClientMessage, Content, RawJson, SessionResumption, Setup};
use crate::session::{Capabilities, ResumptionHandle};

/// Adds resumption to a setup message. Asks for handles, and resumes by `handle` if there is one.
///
/// `announced` marks that a history follows. The service takes an announced history without
/// answering it. A history that is not announced says that it needs no answer.
pub(crate) fn setup(message: String, handle: Option<&ResumptionHandle>, announced: bool) -> String {
    let Ok(mut message) = ClientMessage::decode(&message) else {
        // This message was encoded by this library, so decoding cannot fail.
        return message;
    };
    if let Some(setup) = &mut message.setup {
        setup.session_resumption = Some(SessionResumption {
            handle: handle.map(|it| it.reveal().to_owned()),
            ..setup.session_resumption.take().unwrap_or_default()
        });
        if announced {
            announce(setup);
        }
    }
    message.encode()
}

fn announce(setup: &mut Setup) {
    let config = serde_json::json!({"initialHistoryInClientContent": true});
    if let Ok(config) = RawJson::parse(&config.to_string()) {
        setup.other.set("historyConfig", config);
    }
}

/// The speaker in a turn of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Model,
    /// The outcome of a call in the engine's words. The model receives it as a turn of the user.
    Engine,
}

/// Encodes turns of the conversation in order. `complete` ends an announced history, or a text that
/// needs an answer.
pub(crate) fn turns(turns: &[(Role, String)], complete: bool) -> String {
    let turns = turns.iter().map(|(role, text)| match role {
        Role::User | Role::Engine => Content::text("user", text),
        Role::Model => Content::text("model", text),
    });
    ClientMessage {
        client_content: Some(ClientContent {
            turns: turns.collect(),
            turn_complete: Some(complete),
            ..ClientContent::default()
        }),
        ..ClientMessage::default()
    }
    .encode()
}

/// Encodes text that needs an answer, separate from an announced history.
pub(crate) fn asked(asked: &[(Role, String)], capabilities: Capabilities) -> String {
    if capabilities.client_content {
        turns(asked, true)
    } else {
        outgoing::realtime(&in_one(asked))
    }
}

/// Encodes the history and the text that needs an answer as one message. A model without turns
/// would answer each message.
pub(crate) fn text(history: &[(Role, String)], asked: &[(Role, String)]) -> String {
    if history.is_empty() {
        return outgoing::realtime(&in_one(asked));
    }
    let mut text = "[conversation] You may not know of this:\n".to_owned();
    for (role, said) in history {
        // Each text must stay on one line, so that it cannot imitate another speaker.
        let said = said.replace(['\n', '\r'], " ");
        let line = match role {
            Role::User => format!("The user said: {said}\n"),
            Role::Model => format!("You said: {said}\n"),
            Role::Engine => format!("{said}\n"),
        };
        text.push_str(&line);
    }
    if asked.is_empty() {
        text.push_str("[end] No answer is needed.");
    } else {
        text.push_str("[end] And now:\n");
        text.push_str(&in_one(asked));
    }
    outgoing::realtime(&text)
}

fn in_one(words: &[(Role, String)]) -> String {
    let words: Vec<&str> = words.iter().map(|(_, text)| text.as_str()).collect();
    words.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_setup() -> String {
        let model = "models/m".to_owned();
        let setup = Setup {
            model,
            ..Setup::default()
        };
        ClientMessage::setup(setup).encode()
    }

    #[test]
    fn setup_asks_for_handles_and_resumes_by_its_own() {
        let asked = setup(a_setup(), None, false);
        assert_eq!(
            asked,
            r#"{"setup":{"model":"models/m","sessionResumption":{}}}"#
        );
        let handle = ResumptionHandle::new("h1");
        let resumed = setup(a_setup(), Some(&handle), false);
        assert!(resumed.contains(r#""sessionResumption":{"handle":"h1"}"#));
    }

    #[test]
    fn announced_history_ends_with_turn_complete() {
        let announced = setup(a_setup(), None, true);
        assert!(announced.contains(r#""historyConfig":{"initialHistoryInClientContent":true}"#));
        let told = [
            (Role::User, "Hi".to_owned()),
            (Role::Model, "Hello".to_owned()),
        ];
        assert_eq!(
            turns(&told, true),
            r#"{"clientContent":{"turns":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"text":"Hello"}]}],"turnComplete":true}}"#
        );
    }
}
