//! Extractors: hooks that read what was said in a turn and write to the state.
//!
//! An extractor is a courtesy, not a debt: one that a crash cuts off is not run again, and a turn
//! is as much of it as this process has heard.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::session::{Event, Fact, Observation, Speaker};
use crate::tool::State;

/// What was said in a turn, in order.
///
/// ```
/// use recount::engine::Turn;
/// use recount::session::Speaker;
///
/// let turn = Turn { said: vec![(Speaker::User, "My name is ".into()), (Speaker::User, "Ada.".into())] };
/// assert_eq!(turn.by(Speaker::User), "My name is Ada.");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Who said what.
    pub said: Vec<(Speaker, String)>,
}

impl Turn {
    /// All that one of them said, as one text.
    #[must_use]
    pub fn by(&self, speaker: Speaker) -> String {
        let said = self.said.iter().filter(|(who, _)| *who == speaker);
        said.map(|(_, text)| text.as_str()).collect()
    }

    /// Takes up what was said on record.
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

/// A hook of an agent, under its name.
#[derive(Clone)]
pub(in crate::engine) struct Extractor {
    pub(in crate::engine) name: String,
    pub(in crate::engine) read: Arc<dyn Fn(Turn, State) -> BoxFuture<'static, ()> + Send + Sync>,
}
