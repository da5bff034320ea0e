//! Observations about calls from outside: answers, results, findings and cancellations.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::standing::AllowFor;
use super::written::Written;
use crate::json::Json;
use crate::record::finding::Finding;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// The answer of an approver to a gated call, from the entry point to its record.
///
/// ```
/// use recount_session::ToolConfirmation;
/// assert!(ToolConfirmation::confirmed().confirmed);
/// assert_eq!(ToolConfirmation::denied("too much").reason.as_deref(), Some("too much"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolConfirmation {
    /// The hint that the approver saw.
    pub hint: Option<String>,
    /// True for an approval, false for a denial.
    pub confirmed: bool,
    /// The payload for the tool.
    pub payload: Option<Value>,
    /// The reason, in the approver's words. The model receives the reason of a denial, unless the
    /// tool keeps it with `T::keep_reason`.
    pub reason: Option<String>,
    /// The arguments that replace the model's, if the tool allows this with `T::confirm_edits`.
    pub args: Option<Value>,
    /// The hash of the request that the approver saw, as `PendingConfirmation` of the ledger
    /// contains it. An answer with the hash of another request is refused.
    pub request_hash: Option<ObjectHash>,
    /// The approver and the way in which the name was verified, for the tool. The value in an
    /// incoming answer is ignored.
    pub by: Option<Actor>,
    /// Unknown keys of the answer. They are recorded and have no effect.
    pub extra: Map<String, Value>,
    /// The outcome of a call in doubt, instead of an approval or a denial. See
    /// [`settled_as_done`](ToolConfirmation::settled_as_done).
    pub found: Option<Finding>,
    /// The bound of the standing leave that an approval also gives. See
    /// [`and_allow_for`](ToolConfirmation::and_allow_for).
    pub allow_for: Option<AllowFor>,
    /// True for an answer in a recording that is played. The rules of its time accepted it.
    taken_before: bool,
    args_written: Written,
    payload_written: Written,
}

impl ToolConfirmation {
    /// An approval.
    pub fn confirmed() -> ToolConfirmation {
        ToolConfirmation {
            confirmed: true,
            ..ToolConfirmation::default()
        }
    }

    /// A denial with its reason.
    pub fn denied(reason: impl Into<String>) -> ToolConfirmation {
        ToolConfirmation {
            reason: Some(reason.into()),
            ..ToolConfirmation::default()
        }
    }

    /// An answer that reports the outcome of a call in doubt.
    #[doc(hidden)]
    #[must_use]
    pub fn found(found: Finding) -> ToolConfirmation {
        ToolConfirmation {
            found: Some(found),
            ..ToolConfirmation::default()
        }
    }

    /// An answer to a request about a call [in doubt](crate::About::InDoubt): it ran, with this
    /// result.
    ///
    /// The result is a JSON object. The tool does not run again, and the model receives the result
    /// as the call's.
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

    /// An answer to a request about a call [in doubt](crate::About::InDoubt): it failed, with this
    /// reason.
    ///
    /// The tool does not run again. The model receives the reason as the call's error, unless the
    /// tool keeps it with `T::keep_reason`.
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

    /// Returns the part for a tool outside this process: `{"confirmed":true,"payload":…}`, without
    /// `payload` if there is none.
    #[doc(hidden)]
    pub fn for_program(&self) -> Value {
        let mut given = Map::from_iter([("confirmed".to_owned(), self.confirmed.into())]);
        given.extend(self.payload.clone().map(|it| ("payload".to_owned(), it)));
        given.into()
    }

    /// Returns the part for a tool outside this process as text, with the payload as it was
    /// written.
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

    /// The text with which the payload is recorded.
    #[doc(hidden)]
    #[must_use]
    pub fn payload_on_record(&self) -> Option<Json> {
        let payload = self.payload.as_ref();
        payload.map(|it| self.payload_written.text(it))
    }

    /// Sets the payload for the tool.
    pub fn with_payload(mut self, payload: Value) -> ToolConfirmation {
        self.payload = Some(payload);
        self
    }

    /// Sets arguments that replace the model's, if the tool allows this with `T::confirm_edits`.
    ///
    /// ```
    /// use recount_session::ToolConfirmation;
    /// let args = serde_json::json!({"amount": 40, "to": "bob"});
    /// let less = ToolConfirmation::confirmed().with_args(args);
    /// assert!(less.confirmed && less.args.is_some());
    /// ```
    pub fn with_args(mut self, args: Value) -> ToolConfirmation {
        self.args = Some(args);
        self
    }

    /// Sets arguments whose text is recorded as it was written.
    #[doc(hidden)]
    #[must_use]
    pub fn with_written_args(mut self, value: Value, text: Json) -> ToolConfirmation {
        self.args_written = Written::of(&value, text);
        self.with_args(value)
    }

    /// Sets a payload whose text is recorded as it was written.
    #[doc(hidden)]
    #[must_use]
    pub fn with_written_payload(mut self, value: Value, text: Json) -> ToolConfirmation {
        self.payload_written = Written::of(&value, text);
        self.with_payload(value)
    }

    /// Lets the approval also allow later calls of the tool in this session: a standing leave.
    ///
    /// The tool's policy must permit it, with `T::may_allow_for_session`.
    ///
    /// ```
    /// use recount_session::{AllowFor, ToolConfirmation};
    /// let five_more = ToolConfirmation::confirmed().and_allow_for(AllowFor::Count(5));
    /// assert_eq!(five_more.allow_for, Some(AllowFor::Count(5)));
    /// ```
    pub fn and_allow_for(mut self, bound: AllowFor) -> ToolConfirmation {
        self.allow_for = Some(bound);
        self
    }

    /// Restricts the answer to the request with this hash.
    pub fn to_request(mut self, hash: ObjectHash) -> ToolConfirmation {
        self.request_hash = Some(hash);
        self
    }

    /// Sets the reason, in the approver's words.
    pub fn with_reason(mut self, reason: impl Into<String>) -> ToolConfirmation {
        self.reason = Some(reason.into());
        self
    }

    /// The answer as it was recorded.
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
            allow_for: it.allow_for,
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

    /// Marks an answer of a recording that is played.
    #[doc(hidden)]
    pub fn taken_before(mut self) -> ToolConfirmation {
        self.taken_before = true;
        self
    }

    /// True for an answer of a recording that is played.
    #[doc(hidden)]
    pub fn was_taken_before(&self) -> bool {
        self.taken_before
    }

    /// Makes the record of this answer to `request`. The entry point has checked the hash of the
    /// request and knows the actor, so neither is taken from the answer.
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
            allow_for: self.allow_for,
            by,
        }
    }
}

/// `confirmation_answered`: the only answer to a request that counts.
///
/// ```json
/// {"request":7,"confirmed":true,"by":{"name":"ada","authenticated_by":"os_user"}}
/// {"request":7,"confirmed":true,"payload":{"cost_centre":"4711"},"edited_args":{"cents":4000},
///  "by":{"name":"ada","authenticated_by":"os_user"}}
/// {"request":9,"confirmed":false,"found":{"done":{"receipt":17}},
///  "by":{"name":"ada","authenticated_by":"os_user"}}
/// {"request":7,"confirmed":true,"allow_for":{"count":5},
///  "by":{"name":"ada","authenticated_by":"os_user"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationAnswered {
    /// The request.
    pub request: Seq,
    /// True for an approval, false for a denial.
    pub confirmed: bool,
    /// The reason, in the approver's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The payload for the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// The arguments that replace those of the call. The call's own record keeps the original ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_args: Option<Json>,
    /// Unknown keys of the answer, as an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Json>,
    /// The outcome of the call in doubt. The call does not run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Finding>,
    /// The bound of the standing leave that the approval gives: it allows later calls of the tool
    /// in this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_for: Option<AllowFor>,
    /// The approver.
    pub by: Actor,
}

/// `answer_refused`: an answer that did not count.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRefused {
    /// The request that the answer named.
    pub request: Seq,
    /// The code of the reason.
    pub refusal: String,
    /// The actor that answered.
    pub by: Actor,
    /// True on the last refusal recorded for the request. Further refusals are only returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last_recorded: bool,
}

/// `response_supplied`: the result of a paused call from outside, or news of it.
///
/// ```json
/// {"call":5,"response":{"shipped":true},"by":{"name":"warehouse","authenticated_by":"embedder"}}
/// {"call":5,"response":{"packed":3,"of":4},"will_continue":true,
///  "by":{"name":"warehouse","authenticated_by":"embedder"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseSupplied {
    /// The call.
    pub call: Seq,
    /// The response for the model.
    pub response: Json,
    /// True for news: the call stays paused, and more follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub will_continue: bool,
    /// The actor that supplied it.
    pub by: Actor,
}

/// `outcome_found`: the outcome of a call that had ended with an unknown one, or is in doubt.
///
/// ```json
/// {"call":5,"tool":"pay","found":{"done":{"receipt":17}},
///  "by":{"name":"ada","authenticated_by":"os_user"}}
/// {"call":6,"tool":"pack","found":{"done":{"packed":4}},"attempt":1,
///  "by":{"name":"warehouse","authenticated_by":"token"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeFound {
    /// The call.
    pub call: Seq,
    /// The tool that was called.
    pub tool: String,
    /// The outcome that was found.
    pub found: Finding,
    /// The actor that reports it.
    pub by: Actor,
    /// The start whose client reports its result after the lease. Such a report also counts while
    /// the call is open and in doubt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// `operator_cancelled`: an operator or the embedding program cancelled a call.
///
/// ```json
/// {"call":5,"reason":"wrong order","by":{"name":"ada","authenticated_by":"os_user"}}
/// {"call":6,"by":{"name":"ada","authenticated_by":"os_user"},
///  "response":{"status":"cancelled","call_id":"fc-2"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorCancelled {
    /// The call.
    pub call: Seq,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The actor that cancelled.
    pub by: Actor,
    /// The response for the model, if the call ran in the background and has its own words for
    /// this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
}
