//! Extractors: hooks that read what was said in a turn and write to the state.
//!
//! An extractor is a courtesy, not a debt: one that a crash cuts off is not run again, and a turn is as much of it as this
//! process has heard.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::task::AbortOnDropHandle;

use super::error::Error;
use super::inbox::Input;
use super::task::SessionTask;
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
    pub(super) fn hear(&mut self, fact: &Fact) {
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
pub(super) struct Extractor {
    pub(super) name: String,
    pub(super) read: Arc<dyn Fn(Turn, State) -> BoxFuture<'static, ()> + Send + Sync>,
}

/// How long an extractor may take; what it wrote until then is dropped.
const EXTRACTOR_LIMIT: Duration = Duration::from_secs(30);

impl SessionTask {
    /// Hands the turn that has ended to every extractor.
    pub(super) fn extract(&mut self) {
        let turn = std::mem::take(&mut self.turn);
        self.extracting.retain(|task| !task.is_finished());
        for extractor in &self.agent.extractors {
            let (name, state, own) = (extractor.name.clone(), self.state(), self.own.clone());
            let (read, turn, seen) = (extractor.read.clone(), turn.clone(), state.clone());
            // The call stands inside the block, because a hook may panic before it returns its future.
            let reading = AssertUnwindSafe(async move { read(turn, seen).await });
            let session = self.id;
            let task = tokio::spawn(async move {
                let read = tokio::time::timeout(EXTRACTOR_LIMIT, reading.catch_unwind()).await;
                match read {
                    Ok(Ok(())) => {
                        let _ = own.send(Input::HookEnded { name, state });
                    }
                    Ok(Err(_)) => tracing::error!(%session, hook = name, "the extractor panicked"),
                    Err(_) => tracing::error!(%session, hook = name, "the extractor took too long"),
                }
            });
            self.extracting.push(AbortOnDropHandle::new(task));
        }
    }

    /// Puts on record what a hook wrote; what cannot stand there is dropped, with a word in the log.
    pub(super) async fn hook_ended(&mut self, name: &str, state: &State) -> Result<(), Error> {
        match self.written_by(name, state) {
            Some(changed) => self.record(vec![changed]).await,
            None => Ok(()),
        }
    }
}
