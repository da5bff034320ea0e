//! What a tool tells the embedding program while it runs.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::Error as _;

use crate::session::{Event, Json, Observation};

/// An event of a tool, of a type of yours. It goes on record; the model does not hear of it.
///
/// A tool tells it by [`ToolContext::emit`](super::ToolContext::emit), and the embedding program hears it by
/// [`Updates::next_event`](crate::engine::Updates::next_event). Emitting waits for nothing, so a tool in a loop is not slowed
/// down by the journal. What is too large for a record, or comes when nobody serves the session any more, is dropped.
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

    /// The event of this type that is on record here, if there is one.
    ///
    /// # Errors
    /// Where one of this name is on record in another form, such as that of an earlier version.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Debug, PartialEq)]
    /// # struct Escalated { to: String }
    /// # impl recount::tool::ToolEvent for Escalated { const NAME: &'static str = "escalated"; }
    /// use recount::session::{Event, Json, Seq, ToolEventEmitted};
    /// use recount::tool::ToolEvent;
    ///
    /// let data = Json::of(&serde_json::json!({"to": "desk"}));
    /// let event = Event::Observed(ToolEventEmitted { call: Seq(5), attempt: 1, name: "escalated".into(), data }.into());
    /// assert_eq!(Escalated::read(&event).transpose()?, Some(Escalated { to: "desk".into() }));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    fn read(event: &Event) -> Option<Result<Self, serde_json::Error>> {
        match event {
            Event::Observed(Observation::ToolEventEmitted(it)) if it.name == Self::NAME => {
                Some(serde_json::from_str(it.data.as_str()))
            }
            Event::Observed(_) | Event::Decided(_) => None,
        }
    }
}

/// Where the events of a call go.
#[derive(Clone, Default)]
pub(crate) struct Emitter(Option<Arc<dyn Fn(String, Json) + Send + Sync>>);

impl Emitter {
    pub(crate) fn new(emit: impl Fn(String, Json) + Send + Sync + 'static) -> Emitter {
        Emitter(Some(Arc::new(emit)))
    }

    pub(crate) fn emit<E: ToolEvent>(&self, event: &E) -> Result<(), serde_json::Error> {
        // Through the text, because a value rounds what it cannot hold.
        let data =
            Json::parse(&serde_json::to_string(event)?).map_err(serde_json::Error::custom)?;
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
