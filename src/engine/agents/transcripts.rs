//! The record of what the user and the model say.

use super::agent::Agent;
use crate::session::Observation;

/// The part of what the user and the model say that a session records; see
/// [`Agent::record_transcripts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transcripts {
    /// All words, after [`Agent::redact`].
    #[default]
    Full,
    /// The words after [`Agent::redact`], without digits and addresses. Each digit becomes `#`, and
    /// so does each character of a word with an `@`.
    Redacted,
    /// No words. `[not recorded]` is recorded in place of each text.
    None,
}

/// The record of a text whose words are not recorded.
///
/// It is not empty, because an empty text of the model makes no record when a fixture is played.
pub(in crate::engine) const NOT_RECORDED: &str = "[not recorded]";

impl Agent {
    /// Sets the part of what the user and the model say that is recorded. The default is all.
    ///
    /// It applies to the text of [`send_text`], to transcripts of speech, to the text of the model,
    /// and to the reasons with which the service closes a connection, because they may quote.
    /// Fixtures that are [recorded](Agent::record_to) contain no more. Listeners, callbacks and the
    /// model itself get every word.
    ///
    /// It does not apply to arguments and results of calls, to the work of text agents, to the
    /// state, or to reasons of approvers and programs. They are redacted by [`Agent::redact`], and
    /// [`T::secret`] seals arguments. Records from before a change of the setting stay as they are.
    ///
    /// [`Transcripts::Redacted`] replaces one digit at a time, so a number that a transcript splits
    /// over two pieces is redacted as well. Of an address that is split, only the piece with the
    /// `@` is. Numbers in words, such as "four one", stay.
    ///
    /// With [`Transcripts::None`], each text stays on record with its time and speaker, so turns,
    /// resumption and replay do not change. Readers of the record get `[not recorded]`: the hooks
    /// of [`extract`](Agent::extract), subscribers, ADK events and `story`. A tool that looks back,
    /// and a connection that cannot resume the conversation, get no earlier words.
    ///
    /// [`send_text`]: crate::engine::LiveHandle::send_text
    /// [`T::secret`]: crate::tool::T::secret
    ///
    /// ```
    /// use recount::engine::Transcripts;
    /// use recount::prelude::*;
    ///
    /// let agent = Agent::new()
    ///     .model("gemini-3.8-live")
    ///     .record_transcripts(Transcripts::None);
    /// # let _ = agent;
    /// ```
    pub fn record_transcripts(mut self, transcripts: Transcripts) -> Agent {
        self.hooks.transcripts = transcripts;
        self
    }
}

impl Transcripts {
    /// Replaces what may not be recorded of an observation.
    pub(super) fn apply(self, observation: &mut Observation) {
        let text = if let Observation::UserTextSent(it) = observation {
            &mut it.text
        } else if let Observation::TranscriptReceived(it) = observation {
            &mut it.text
        } else if let Observation::ModelOutputReceived(it) = observation {
            &mut it.text
        } else if let Observation::Disconnected(it) = observation
            && it.code.is_some()
        {
            &mut it.reason
        } else if let Observation::ReconnectsExhausted(it) = observation {
            &mut it.reason
        } else {
            return;
        };
        if let Some(recorded) = self.recorded(text) {
            *text = recorded;
        }
    }

    /// Returns a text in its recorded form, which is never longer than the text or a few bytes.
    /// `None` if all of it is recorded.
    pub(super) fn recorded(self, text: &str) -> Option<String> {
        match self {
            Transcripts::Full => None,
            Transcripts::Redacted => Some(masked(text)).filter(|it| it != text),
            Transcripts::None => Some(NOT_RECORDED.to_owned()),
        }
    }
}

/// Replaces each digit, and each character of a word with an `@`.
fn masked(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let is_address = word.contains(['@', '＠']);
        let hides = |c: char| c.is_numeric() || is_address && !c.is_whitespace();
        masked.extend(word.chars().map(|c| if hides(c) { '#' } else { c }));
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Disconnected, Seq};

    #[test]
    fn digits_and_addresses_are_masked() {
        let said = "Order 17: 4111 1111, ٤١ or ４; ask <ada@example.com>,\tor Bob.";
        let expected = "Order ##: #### ####, ## or #; ask ##################\tor Bob.";
        assert_eq!(masked(said), expected);
        assert_eq!(masked(expected), expected);
        assert_eq!(Transcripts::Redacted.recorded("No number."), None);
    }

    #[test]
    fn reasons_of_the_service_are_no_words_but_own_ones_stay() {
        for (code, expected) in [(Some(1007), NOT_RECORDED), (None, "no route")] {
            let mut lost = Observation::from(Disconnected {
                epoch: Seq(3),
                code,
                reason: "no route".to_owned(),
            });
            Transcripts::None.apply(&mut lost);
            let expected = Observation::from(Disconnected {
                epoch: Seq(3),
                code,
                reason: expected.to_owned(),
            });
            assert_eq!(lost, expected);
        }
    }
}
