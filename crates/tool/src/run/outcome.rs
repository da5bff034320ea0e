//! The outcome of one run of a tool.

use std::time::Duration;

use recount_session::{FunctionResponseScheduling, Json, Seq, ToolAsked};
use serde_json::Value;

use crate::run::error::ToolError;

/// The outcome of one run of a tool.
///
/// A function returns it from [`invoke`](crate::ToolFunction::invoke). The result of its `call`
/// converts with `into`:
///
/// ```
/// use recount_session::FunctionResponseScheduling;
/// use recount_tool::{ToolError, ToolOutcome};
/// use serde_json::json;
///
/// let failed = ToolOutcome::from(Err(ToolError::InvalidArgs("no city".into())));
/// let urgent = ToolOutcome::Scheduled(
///     json!({"alarm": true}),
///     FunctionResponseScheduling::Interrupt,
/// );
/// assert_ne!(failed, urgent);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// The result; `null` is a result, too.
    Returned(Value),
    /// The result as the JSON text to record: its numbers keep their digits.
    Text(Json),
    /// The result with its scheduling for the model, which overrides the policy. For a long-running
    /// tool the value is an interim response, and the policy's scheduling applies.
    Scheduled(Value, FunctionResponseScheduling),
    /// The run failed.
    Failed(ToolError),
    /// The tool has started work whose result will be supplied later from outside.
    Paused(Pending),
    /// The tool asks an approver and continues with the answer in
    /// [`resume`](crate::ToolFunction::resume).
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

/// A tool's question to an approver, with the state for resuming.
///
/// Nothing of the tool stays in memory meanwhile. The question is recorded, the answer may come
/// after any number of restarts, and then [`resume`](crate::ToolFunction::resume) is called instead
/// of `invoke`. A denial and an expired question end the call without `resume`. To wait inside the
/// run instead, and lose the question with the process, use
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
    /// The question for the approver.
    pub hint: String,
    /// The JSON Schema of an approval's payload; without it, any payload or none is valid.
    pub payload_schema: Option<Value>,
    /// The tool's own state for resuming; it is recorded.
    pub state: Value,
    /// The time after which a missing answer is a denial, recorded in whole milliseconds; `None`
    /// for never.
    pub expires_after: Option<Duration>,
}

impl Ask {
    /// Creates a question; `resume` receives `state` with the answer.
    #[must_use]
    pub fn new(hint: impl Into<String>, state: Value) -> Self {
        Self {
            hint: hint.into(),
            payload_schema: None,
            state,
            expires_after: None,
        }
    }

    /// Requires a payload that fits this JSON Schema for an approval.
    #[must_use]
    pub fn payload_schema(mut self, schema: Value) -> Self {
        self.payload_schema = Some(schema);
        self
    }

    /// Makes a missing answer a denial after this time.
    #[must_use]
    pub fn expires_after(mut self, wait: Duration) -> Self {
        self.expires_after = Some(wait);
        self
    }

    /// Returns the record of the question.
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

/// Creates a question without a state.
impl From<&str> for Ask {
    fn from(hint: &str) -> Self {
        Self::new(hint, Value::Null)
    }
}

/// Creates a question without a state.
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

/// A paused call, whose result will be supplied later from outside.
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
    /// The interim response for the model; without it, the model receives nothing meanwhile.
    pub interim: Option<Value>,
    /// The tool's own state for [`follow`](crate::ToolFunction::follow); without it, `follow`
    /// receives the interim response. It is recorded unchanged: no response shape, hook or redactor
    /// applies to it.
    pub state: Option<Value>,
    /// The text of the interim response, if it has one.
    #[doc(hidden)]
    pub interim_text: Option<Json>,
}

impl Pending {
    /// Creates a pause without an interim response.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a pause with an interim response for the model, such as a ticket number.
    #[must_use]
    pub fn with_interim(interim: Value) -> Self {
        Self {
            interim: Some(interim),
            ..Self::default()
        }
    }

    /// Creates a pause like [`with_interim`](Self::with_interim), with every digit of the text.
    /// `null` is no interim response.
    #[doc(hidden)]
    pub fn with_interim_text(text: Json) -> Self {
        let interim = Some(text.to_value()).filter(|it| !it.is_null());
        Self {
            interim_text: interim.as_ref().map(|_| text),
            interim,
            ..Self::default()
        }
    }

    /// Sets the tool's own state for `follow`; it is recorded.
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
