//! What is sealed on record of an agent's run, and stands in clear where its model is asked.
//!
//! The agent itself sees it as it stands on record, so that its next step, and the hash of what it asks, are the same wherever they are looked
//! at, with a key and without.

use crate::session::Json;
use crate::tool::{LlmContent, LlmRequest, LlmSaid};

/// Arguments of calls: as they are on record, and as the model wrote them.
#[derive(Default)]
pub(super) struct Secrets(Vec<(Json, Json)>);

impl Secrets {
    pub(super) fn add(&mut self, sealed: Json, clear: Json) {
        self.0.push((sealed, clear));
    }

    /// The same request for the eyes of the model.
    pub(super) fn in_clear(&self, mut request: LlmRequest) -> LlmRequest {
        let said = request.contents.iter_mut().filter_map(|it| match it {
            LlmContent::Model { said } => Some(said),
            LlmContent::User { .. } | LlmContent::Tools { .. } => None,
        });
        for said in said.flatten() {
            if let LlmSaid::Call { args, .. } = said
                && let Some((_, clear)) = self.0.iter().find(|(sealed, _)| sealed == args)
            {
                args.clone_from(clear);
            }
        }
        request
    }
}
