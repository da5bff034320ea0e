//! How one run of a tool ends.

use std::time::Duration;

use recount_session::{FunctionResponseScheduling, Json, Seq, ToolAsked};
use serde_json::Value;

use crate::run::error::ToolError;

/// How one run of a tool ends.
///
/// A function gives one from [`invoke`](crate::ToolFunction::invoke); of what its `call` returns it
/// is made with `into`:
///
/// ```
/// use recount_session::FunctionResponseScheduling;
/// use recount_tool::{ToolError, ToolOutcome};
/// use serde_json::json;
///
/// let failed = ToolOutcome::from(Err(ToolError::InvalidArgs("no city".into())));
/// let urgent = ToolOutcome::Scheduled(json!({"alarm": true}), FunctionResponseScheduling::Interrupt);
/// assert_ne!(failed, urgent);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// It returned its result; `null` is a result, too.
    Returned(Value),
    /// It returned its result, as the JSON text that goes on record: its numbers keep their digits.
    Text(Json),
    /// It returned its result and says when the model takes it up, whatever its policy says. Of a
    /// long-running tool the value is interim news as any other, and the policy says when.
    Scheduled(Value, FunctionResponseScheduling),
    /// It did not succeed.
    Failed(ToolError),
    /// It has begun something whose result will be supplied later from outside.
    Paused(Pending),
    /// It asks a person, and goes on with the answer: [`resume`](crate::ToolFunction::resume).
    Asked(Ask),
}

impl From<Result<Value, ToolError>> for ToolOutcome {
    fn from(result: Result<Value, ToolError>) -> Self {
        match result {
            Ok(value) => Self::Returned(value),
            Err(error) => Self::Failed(error),
        }
    }
}

/// What a tool asks a person, and what it wants to know again when it goes on.
///
/// Nothing of the tool waits meanwhile: the question is on record, the answer may come after any
/// number of restarts, and then [`resume`](crate::ToolFunction::resume) is called, not the tool
/// from its beginning. A no, and silence beyond the expiry, end the call: the tool does not go on.
/// A tool that would rather wait where it stands, and lose the question with its process, has
/// [`request_confirmation`](crate::ToolContext::request_confirmation).
///
/// ```
/// use recount_tool::{Ask, ToolOutcome};
/// use serde_json::json;
/// use std::time::Duration;
///
/// let ask = Ask::new("How many days may she take?", json!({"wanted": 5}))
///     .payload_schema(json!({"type": "object", "required": ["approved_days"]}))
///     .expires_after(Duration::from_secs(86_400));
/// let outcome: ToolOutcome = ask.into();
/// # let _ = outcome;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ask {
    /// What the person is asked.
    pub hint: String,
    /// The JSON Schema that the payload of a yes must fit; without it, any payload or none does.
    pub payload_schema: Option<Value>,
    /// What the tool wants to know again when it goes on; it is on record.
    pub state: Value,
    /// After how long silence is a no, in whole milliseconds on record; without it, never.
    pub expires_after: Option<Duration>,
}

impl Ask {
    /// Asks this; `state` comes back with the answer.
    #[must_use]
    pub fn new(hint: impl Into<String>, state: Value) -> Self {
        Self {
            hint: hint.into(),
            payload_schema: None,
            state,
            expires_after: None,
        }
    }

    /// A yes must bring a payload that fits this JSON Schema.
    #[must_use]
    pub fn payload_schema(mut self, schema: Value) -> Self {
        self.payload_schema = Some(schema);
        self
    }

    /// Silence is a no after this long.
    #[must_use]
    pub fn expires_after(mut self, wait: Duration) -> Self {
        self.expires_after = Some(wait);
        self
    }

    /// As it goes on record.
    #[doc(hidden)]
    pub fn recorded(&self, call: Seq, attempt: u32) -> ToolAsked {
        ToolAsked {
            call,
            attempt,
            hint: self.hint.clone(),
            payload_schema: self.payload_schema.as_ref().map(Json::of),
            state: Json::of(&self.state),
            expires_after_ms: self
                .expires_after
                .map(|wait| u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)),
            in_place: false,
        }
    }
}

/// Asks this, and wants to know nothing again.
impl From<&str> for Ask {
    fn from(hint: &str) -> Self {
        Self::new(hint, Value::Null)
    }
}

/// Asks this, and wants to know nothing again.
impl From<String> for Ask {
    fn from(hint: String) -> Self {
        Self::new(hint, Value::Null)
    }
}

impl From<Ask> for ToolOutcome {
    fn from(ask: Ask) -> Self {
        Self::Asked(ask)
    }
}

/// Says that a call's result will be supplied later from outside.
///
/// ```
/// use recount_tool::{Pending, ToolOutcome};
/// use serde_json::json;
///
/// let printing = Pending::with_interim(json!({"printing": true})).with_state(json!({"job": 17}));
/// let outcome: ToolOutcome = printing.into();
/// # let _ = outcome;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Pending {
    /// What the model is told meanwhile; without it, nothing.
    pub interim: Option<Value>,
    /// What the tool wants to know again when it [follows](crate::ToolFunction::follow) the call;
    /// without it, it is what the model is told. It is on record as it is: no shape of responses,
    /// no hook and no redactor changes it.
    pub state: Option<Value>,
    /// The text of the interim news, where it has one.
    #[doc(hidden)]
    pub interim_text: Option<Json>,
}

impl Pending {
    /// Pending, and the model is told nothing meanwhile.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Pending, and the model is told this meanwhile, such as a ticket number.
    #[must_use]
    pub fn with_interim(interim: Value) -> Self {
        Self {
            interim: Some(interim),
            ..Self::default()
        }
    }

    /// As [`with_interim`](Self::with_interim), number for number as the text has it; `null` is no
    /// news.
    #[doc(hidden)]
    pub fn with_interim_text(text: Json) -> Self {
        let interim = Some(text.to_value()).filter(|it| !it.is_null());
        Self {
            interim_text: interim.as_ref().map(|_| text),
            interim,
            ..Self::default()
        }
    }

    /// The tool wants to know this again when it follows the call; it is on record.
    #[must_use]
    pub fn with_state(mut self, state: Value) -> Self {
        self.state = Some(state);
        self
    }
}

impl From<Pending> for ToolOutcome {
    fn from(pending: Pending) -> Self {
        Self::Paused(pending)
    }
}
