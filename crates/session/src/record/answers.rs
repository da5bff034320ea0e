//! What people outside say about calls.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::finding::Finding;
use super::written::Written;
use crate::json::Json;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// The answer of a person to a gated call, from the door at which it is given to its record.
///
/// ```
/// use recount_session::ToolConfirmation;
/// assert!(ToolConfirmation::confirmed().confirmed);
/// assert_eq!(ToolConfirmation::denied("too much").reason.as_deref(), Some("too much"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolConfirmation {
    /// What the person was told.
    pub hint: Option<String>,
    /// Yes or no.
    pub confirmed: bool,
    /// Something for the tool.
    pub payload: Option<Value>,
    /// Why, in the person's words; of a denial the model is told, unless the tool keeps it with
    /// `T::keep_reason`.
    pub reason: Option<String>,
    /// The arguments with which the tool is to run in place of the model's, where it
    /// allows that by `T::confirm_edits`.
    pub args: Option<Value>,
    /// The hash of the request that was seen, as `PendingConfirmation` of the ledger tells it; an
    /// answer to another request is refused.
    pub request_hash: Option<ObjectHash>,
    /// Who said it and how that was known, as the tool sees it; an answer's own word for it counts
    /// nothing.
    pub by: Option<Actor>,
    /// What else the answer said, by key: kept on record, and without effect.
    pub extra: Map<String, Value>,
    /// What became of a call that was cut off, in place of a yes or a no; see
    /// [`settled_as_done`](ToolConfirmation::settled_as_done).
    pub found: Option<Finding>,
    /// Set where a recording is played: the answer was taken once, by the rules of its time.
    taken_before: bool,
    args_written: Written,
    payload_written: Written,
}

impl ToolConfirmation {
    /// Yes.
    pub fn confirmed() -> ToolConfirmation {
        ToolConfirmation {
            confirmed: true,
            ..ToolConfirmation::default()
        }
    }

    /// No, and why.
    pub fn denied(reason: impl Into<String>) -> ToolConfirmation {
        ToolConfirmation {
            reason: Some(reason.into()),
            ..ToolConfirmation::default()
        }
    }

    /// Makes the answer that states the outcome of a call in doubt.
    #[doc(hidden)]
    #[must_use]
    pub fn found(found: Finding) -> ToolConfirmation {
        ToolConfirmation {
            found: Some(found),
            ..ToolConfirmation::default()
        }
    }

    /// To a request about a call [in doubt](crate::About::InDoubt), which may have run already: it
    /// has, and this is its result, a JSON object. It does not run again, and the model is told the
    /// result as the call's.
    ///
    /// ```
    /// use recount_session::ToolConfirmation;
    /// let settled = ToolConfirmation::settled_as_done(serde_json::json!({"receipt": 17}));
    /// assert!(!settled.confirmed && settled.found.is_some());
    /// ```
    pub fn settled_as_done(result: Value) -> ToolConfirmation {
        ToolConfirmation {
            found: Some(Finding::done(&result)),
            ..ToolConfirmation::default()
        }
    }

    /// To a request about a call [in doubt](crate::About::InDoubt): it has failed, and why. It does
    /// not run again, and the model is told the reason as the call's error, unless the tool keeps
    /// it with `T::keep_reason`.
    ///
    /// ```
    /// use recount_session::ToolConfirmation;
    /// let settled = ToolConfirmation::settled_as_failed("the bank refused it");
    /// assert!(!settled.confirmed && settled.found.is_some());
    /// ```
    pub fn settled_as_failed(reason: impl Into<String>) -> ToolConfirmation {
        ToolConfirmation {
            found: Some(Finding::failed(reason)),
            ..ToolConfirmation::default()
        }
    }

    /// The part that a tool outside this process is given: `{"confirmed":true,"payload":…}`,
    /// without a payload if none was given.
    #[doc(hidden)]
    pub fn for_program(&self) -> Value {
        let mut given = Map::from_iter([("confirmed".to_owned(), self.confirmed.into())]);
        given.extend(self.payload.clone().map(|it| ("payload".to_owned(), it)));
        given.into()
    }

    /// That part as text, with the payload as it was written.
    #[doc(hidden)]
    pub fn text_for_program(&self) -> String {
        let confirmed = self.confirmed;
        let Some(payload) = &self.payload else {
            return format!(r#"{{"confirmed":{confirmed}}}"#);
        };
        let payload = self.payload_written.text(payload);
        let payload = payload.as_str();
        format!(r#"{{"confirmed":{confirmed},"payload":{payload}}}"#)
    }

    /// With something for the tool.
    pub fn with_payload(mut self, payload: Value) -> ToolConfirmation {
        self.payload = Some(payload);
        self
    }

    /// With other arguments for the tool, where it allows that by `T::confirm_edits`.
    ///
    /// ```
    /// use recount_session::ToolConfirmation;
    /// let less = ToolConfirmation::confirmed().with_args(serde_json::json!({"amount": 40, "to": "bob"}));
    /// assert!(less.confirmed && less.args.is_some());
    /// ```
    pub fn with_args(mut self, args: Value) -> ToolConfirmation {
        self.args = Some(args);
        self
    }

    /// With arguments whose text goes on record as it was written.
    #[doc(hidden)]
    #[must_use]
    pub fn with_written_args(mut self, value: Value, text: Json) -> ToolConfirmation {
        self.args_written = Written::of(&value, text);
        self.with_args(value)
    }

    /// With a payload whose text goes on record as it was written.
    #[doc(hidden)]
    #[must_use]
    pub fn with_written_payload(mut self, value: Value, text: Json) -> ToolConfirmation {
        self.payload_written = Written::of(&value, text);
        self.with_payload(value)
    }

    /// To the request with this hash and no other.
    pub fn to_request(mut self, hash: ObjectHash) -> ToolConfirmation {
        self.request_hash = Some(hash);
        self
    }

    /// With the person's own words.
    pub fn with_reason(mut self, reason: impl Into<String>) -> ToolConfirmation {
        self.reason = Some(reason.into());
        self
    }

    /// As it stands on record.
    #[doc(hidden)]
    pub fn recorded(it: ConfirmationAnswered, hint: Option<String>) -> ToolConfirmation {
        let extra = it.extra.and_then(|extra| match extra.to_value() {
            Value::Object(extra) => Some(extra),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => None,
        });
        let mut confirmation = ToolConfirmation {
            hint,
            confirmed: it.confirmed,
            reason: it.reason,
            by: Some(it.by),
            extra: extra.unwrap_or_default(),
            found: it.found,
            ..ToolConfirmation::default()
        };
        if let Some(payload) = it.payload {
            confirmation = confirmation.with_written_payload(payload.to_value(), payload);
        }
        if let Some(args) = it.edited_args {
            confirmation = confirmation.with_written_args(args.to_value(), args);
        }
        confirmation
    }

    /// An answer that is on record in what is played.
    #[doc(hidden)]
    pub fn taken_before(mut self) -> ToolConfirmation {
        self.taken_before = true;
        self
    }

    /// True if the answer is on record in what is played.
    #[doc(hidden)]
    pub fn was_taken_before(&self) -> bool {
        self.taken_before
    }

    /// Makes the record of this answer to `request`. The door has checked the hash of the request
    /// and knows the actor, so neither is taken from the answer.
    #[doc(hidden)]
    pub fn into_record(self, request: Seq, by: Actor) -> ConfirmationAnswered {
        let extra = Some(self.extra).filter(|it| !it.is_empty());
        let (payload, args) = (self.payload.as_ref(), self.args.as_ref());
        ConfirmationAnswered {
            request,
            confirmed: self.confirmed,
            reason: self.reason,
            payload: payload.map(|it| self.payload_written.text(it)),
            edited_args: args.map(|it| self.args_written.text(it)),
            extra: extra.map(|it| Json::of(&Value::Object(it))),
            found: self.found,
            by,
        }
    }
}

/// `confirmation_answered`: the one answer that counts.
///
/// ```json
/// {"request":7,"confirmed":true,"by":{"name":"ada","authenticated_by":"os_user"}}
/// {"request":7,"confirmed":true,"payload":{"cost_centre":"4711"},"edited_args":{"cents":4000},"by":{"name":"ada","authenticated_by":"os_user"}}
/// {"request":9,"confirmed":false,"found":{"done":{"receipt":17}},"by":{"name":"ada","authenticated_by":"os_user"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationAnswered {
    /// The request.
    pub request: Seq,
    /// Yes or no.
    pub confirmed: bool,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the person gave for the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// The arguments with which the tool runs in place of those of the call, which stay on record
    /// there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_args: Option<Json>,
    /// What else the answer said: an object of the keys that mean nothing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Json>,
    /// What became of the call that was in doubt: it does not run again, and this is its outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Finding>,
    /// Who.
    pub by: Actor,
}

/// `answer_refused`: somebody answered and it did not count.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRefused {
    /// The request they named.
    pub request: Seq,
    /// Why it did not count.
    pub refusal: String,
    /// Who.
    pub by: Actor,
    /// True on the last one recorded for the request: further refusals are only returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last_recorded: bool,
}

/// `response_supplied`: the result of a paused call, from outside, or news of it.
///
/// ```json
/// {"call":5,"response":{"shipped":true},"by":{"name":"warehouse","authenticated_by":"embedder"}}
/// {"call":5,"response":{"packed":3,"of":4},"will_continue":true,"by":{"name":"warehouse","authenticated_by":"embedder"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseSupplied {
    /// The call.
    pub call: Seq,
    /// The response for the model.
    pub response: Json,
    /// It is news and no end: more follows, and the call stays paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub will_continue: bool,
    /// Who supplied it.
    pub by: Actor,
}

/// `outcome_found`: what became of a call that had ended without anybody knowing.
///
/// ```json
/// {"call":5,"tool":"pay","found":{"done":{"receipt":17}},"by":{"name":"ada","authenticated_by":"os_user"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeFound {
    /// The call.
    pub call: Seq,
    /// The tool that was called.
    pub tool: String,
    /// What became of it.
    pub found: Finding,
    /// Who says so.
    pub by: Actor,
}

/// `operator_cancelled`.
///
/// ```json
/// {"call":5,"reason":"wrong order","by":{"name":"ada","authenticated_by":"os_user"}}
/// {"call":6,"by":{"name":"ada","authenticated_by":"os_user"},"response":{"status":"cancelled","call_id":"fc-2"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorCancelled {
    /// The call.
    pub call: Seq,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who.
    pub by: Actor,
    /// What the model is told, where the call ran in the background and has words of its own for
    /// that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
}
