//! What a tool tells the embedding program while it runs.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::session::Json;

/// An event of a tool, of a type of yours. It goes on record; the model does not hear of it.
///
/// ```
/// use recount::tool::ToolEvent;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Escalated { to: String }
///
/// impl ToolEvent for Escalated {
///     const NAME: &'static str = "escalated";
/// }
/// ```
pub trait ToolEvent: Serialize + DeserializeOwned {
    /// The event's name on record.
    const NAME: &'static str;
}

/// Where the events of a call go.
#[derive(Clone, Default)]
pub(crate) struct Emitter(Option<Arc<dyn Fn(String, Json) + Send + Sync>>);

impl Emitter {
    pub(crate) fn new(emit: impl Fn(String, Json) + Send + Sync + 'static) -> Emitter {
        Emitter(Some(Arc::new(emit)))
    }

    pub(crate) fn emit<E: ToolEvent>(&self, event: &E) -> Result<(), serde_json::Error> {
        let data = Json::of(&serde_json::to_value(event)?);
        if let Some(emit) = &self.0 {
            emit(E::NAME.to_owned(), data);
        }
        Ok(())
    }
}

impl fmt::Debug for Emitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Emitter").field(&self.0.is_some()).finish()
    }
}
