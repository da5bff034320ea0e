//! What is sealed on record of an agent's run, and stands in clear where its model is asked.
//!
//! The agent itself sees it as it stands on record, so that its next step, and the hash of what it asks, are the same wherever they are looked
//! at, with a key and without.

use crate::session::Json;
use crate::tool::{LlmContent, LlmRequest, LlmSaid};

/// What is sealed, with what it was.
#[derive(Default)]
pub(super) struct Secrets {
    texts: Vec<(String, String)>,
    args: Vec<(Json, Json)>,
}

impl Secrets {
    pub(super) fn add_text(&mut self, sealed: String, clear: String) {
        self.texts.push((sealed, clear));
    }

    pub(super) fn add_args(&mut self, sealed: Json, clear: Json) {
        self.args.push((sealed, clear));
    }

    /// The same request for the eyes of the model.
    pub(super) fn in_clear(&self, mut request: LlmRequest) -> LlmRequest {
        if self.texts.is_empty() && self.args.is_empty() {
            return request;
        }
        request.instruction.iter_mut().for_each(|it| self.text(it));
        for content in &mut request.contents {
            match content {
                LlmContent::User { text } => self.text(text),
                LlmContent::Model { said } => said.iter_mut().for_each(|it| self.said(it)),
                // What a tool answers stands on record in clear.
                LlmContent::Tools { .. } => {}
            }
        }
        request
    }

    fn said(&self, said: &mut LlmSaid) {
        match said {
            LlmSaid::Text { text, .. } => self.text(text),
            LlmSaid::Call { args, .. } => {
                let mut known = self.args.iter();
                if let Some((_, clear)) = known.find(|(sealed, _)| sealed == args) {
                    args.clone_from(clear);
                }
            }
        }
    }

    fn text(&self, text: &mut String) {
        for (sealed, clear) in &self.texts {
            if text.contains(sealed) {
                *text = text.replace(sealed, clear);
            }
        }
    }
}
