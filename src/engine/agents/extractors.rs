//! Extractors: hooks that read the text of a turn and write to the state.
//!
//! An extractor runs at most once. One that a crash interrupts is not run again, and a turn
//! contains only what this process received.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::session::{Event, Fact, Observation, Speaker};
use crate::tool::State;

/// The text of a turn, in order.
///
/// ```
/// use recount::engine::Turn;
/// use recount::session::Speaker;
///
/// let turn = Turn {
///     said: vec![
///         (Speaker::User, "My name is ".into()),
///         (Speaker::User, "Ada.".into()),
///     ],
/// };
/// assert_eq!(turn.by(Speaker::User), "My name is Ada.");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The texts, each with its speaker.
    pub said: Vec<(Speaker, String)>,
}

impl Turn {
    /// Returns the whole text of one speaker.
    #[must_use]
    pub fn by(&self, speaker: Speaker) -> String {
        let said = self.said.iter().filter(|(who, _)| *who == speaker);
        said.map(|(_, text)| text.as_str()).collect()
    }

    /// Adds the text of a recorded fact.
    pub(in crate::engine) fn hear(&mut self, fact: &Fact) {
        let said = match &fact.event {
            Event::Observed(Observation::TranscriptReceived(it)) => (it.speaker, &it.text),
            Event::Observed(Observation::ModelOutputReceived(it)) => (Speaker::Model, &it.text),
            Event::Observed(Observation::UserTextSent(it)) => (Speaker::User, &it.text),
            Event::Observed(_) | Event::Decided(_) => return,
        };
        self.said.push((said.0, said.1.clone()));
    }
}

/// A named hook of an agent.
#[derive(Clone)]
pub(in crate::engine) struct Extractor {
    pub(in crate::engine) name: String,
    pub(in crate::engine) read: Arc<dyn Fn(Turn, State) -> BoxFuture<'static, ()> + Send + Sync>,
}
