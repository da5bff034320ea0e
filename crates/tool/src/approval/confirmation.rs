//! The first door to an approval: a provider in the same process.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use recount_session::{
    About, Actor, Answer, ConfirmationAnswered, Finding, Json, ObjectHash, RequestId, Seq,
    SessionId, Timestamp,
};
use serde_json::{Map, Value};

/// What a person says to a gated call.
///
/// ```
/// use recount_tool::ToolConfirmation;
/// assert!(ToolConfirmation::confirmed().confirmed);
/// assert_eq!(ToolConfirmation::denied("too much").reason.as_deref(), Some("too much"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolConfirmation {
    /// What the person was told.
    pub hint: Option<String>,
    /// Yes or no.
    pub confirmed: bool,
    /// Something for the tool.
    pub payload: Option<Value>,
    /// Why, in the person's words; of a denial the model is told, unless the tool [keeps it](crate::T::keep_reason).
    pub reason: Option<String>,
    /// The arguments with which the tool is to run in place of the model's, where it
    /// [allows that](crate::T::confirm_edits).
    pub args: Option<Value>,
    /// The hash of the request that was seen, as `PendingConfirmation` of the ledger tells it; an answer to
    /// another request is refused.
    pub request_hash: Option<ObjectHash>,
    /// Who said it and how that was known, as the tool sees it; an answer's own word for it counts nothing.
    pub by: Option<Actor>,
    /// What else the answer said, by key: kept on record, and without effect.
    pub extra: Map<String, Value>,
    /// What became of a call that was cut off, in place of a yes or a no; see
    /// [`settled_as_done`](ToolConfirmation::settled_as_done).
    pub found: Option<Finding>,
    /// Set where a recording is played: the answer was taken once, by the rules of its time.
    pub(crate) taken_before: bool,
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

    /// To a request about a call [in doubt](recount_session::About::InDoubt), which may have run already: it has, and this is
    /// its result, a JSON object. It does not run again, and the model is told the result as the call's.
    ///
    /// ```
    /// use recount_tool::ToolConfirmation;
    /// let settled = ToolConfirmation::settled_as_done(serde_json::json!({"receipt": 17}));
    /// assert!(!settled.confirmed && settled.found.is_some());
    /// ```
    pub fn settled_as_done(result: Value) -> ToolConfirmation {
        ToolConfirmation {
            found: Some(Finding::done(&result)),
            ..ToolConfirmation::default()
        }
    }

    /// To a request about a call [in doubt](recount_session::About::InDoubt): it has failed, and why. It does not run again,
    /// and the model is told the reason as the call's error, unless the tool [keeps it](crate::T::keep_reason).
    ///
    /// ```
    /// use recount_tool::ToolConfirmation;
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

    /// With something for the tool.
    pub fn with_payload(mut self, payload: Value) -> ToolConfirmation {
        self.payload = Some(payload);
        self
    }

    /// With other arguments for the tool, where it [allows that](crate::T::confirm_edits).
    ///
    /// ```
    /// use recount_tool::ToolConfirmation;
    /// let less = ToolConfirmation::confirmed().with_args(serde_json::json!({"amount": 40, "to": "bob"}));
    /// assert!(less.confirmed && less.args.is_some());
    /// ```
    pub fn with_args(mut self, args: Value) -> ToolConfirmation {
        self.args = Some(args);
        self
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
        ToolConfirmation {
            hint,
            confirmed: it.confirmed,
            payload: it.payload.map(|payload| payload.to_value()),
            reason: it.reason,
            args: it.edited_args.map(|args| args.to_value()),
            request_hash: None,
            by: Some(it.by),
            extra: extra.unwrap_or_default(),
            found: it.found,
            taken_before: false,
        }
    }

    /// An answer that is on record in what is played.
    #[doc(hidden)]
    pub fn taken_before(mut self) -> ToolConfirmation {
        self.taken_before = true;
        self
    }

    #[doc(hidden)]
    pub fn into_answer(self) -> Answer {
        let extra = Some(self.extra).filter(|it| !it.is_empty());
        Answer {
            confirmed: self.confirmed,
            reason: self.reason,
            payload: self.payload.as_ref().map(Json::of),
            edited_args: self.args.as_ref().map(Json::of),
            extra: extra.map(|it| Json::of(&Value::Object(it))),
            found: self.found,
        }
    }
}

/// What a provider is asked: all that `PendingConfirmation` of the ledger tells the other doors.
///
/// Of a [dispatcher](crate::ToolDispatcher) that runs its tools itself, the agent is `dispatcher`, and what a program says of
/// a session in an engine, such as labels, is empty.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfirmationRequest {
    /// The request's name.
    pub id: RequestId,
    /// The session.
    pub session: SessionId,
    /// The agent that serves it.
    pub agent: String,
    /// The embedding program's own name for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The one for whom the agent acts.
    pub on_behalf_of: Option<String>,
    /// The record of the request.
    pub request: Seq,
    /// Its hash, which an answer may [name](ToolConfirmation::to_request); a dispatcher's own records have none.
    pub request_hash: Option<ObjectHash>,
    /// The record of the call.
    pub call: Seq,
    /// Its hash; a dispatcher's own records have none.
    pub call_hash: Option<ObjectHash>,
    /// The call of the agent whose model made it; none where that of the conversation did.
    pub parent: Option<Seq>,
    /// The tool.
    pub tool_name: String,
    /// The arguments.
    pub args: Value,
    /// The arguments exactly as the model sent them, or as a person changed them.
    pub args_text: Json,
    /// The JSON Pointers of the arguments that are secret, and sealed.
    pub sealed_args: Vec<String>,
    /// What the tool's author wants the person to know.
    pub message: Option<String>,
    /// The tool itself wrote the message, while it ran; otherwise whoever declared it.
    pub message_by_tool: bool,
    /// May it run, or: it may have run, may it run again? Or the tool asks itself.
    pub about: About,
    /// The JSON Schema that the payload of a yes must fit.
    pub payload_schema: Option<Json>,
    /// The contract of the tool that is asked about.
    pub contract: ObjectHash,
    /// Its whole declaration.
    pub declaration: ObjectHash,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When silence becomes a no.
    pub expires_at: Option<Timestamp>,
    /// The model took the call back meanwhile.
    pub model_lost_interest: bool,
}

impl ConfirmationRequest {
    /// Makes a request with these ids. The caller fills in the other fields.
    #[doc(hidden)]
    #[must_use]
    pub fn blank(
        id: RequestId,
        session: SessionId,
        (contract, declaration): (ObjectHash, ObjectHash),
        requested_at: Timestamp,
    ) -> ConfirmationRequest {
        ConfirmationRequest {
            id,
            session,
            agent: String::new(),
            external_id: None,
            labels: BTreeMap::new(),
            on_behalf_of: None,
            request: Seq(0),
            request_hash: None,
            call: Seq(0),
            call_hash: None,
            parent: None,
            tool_name: String::new(),
            args: Value::Null,
            args_text: Json::of(&Value::Null),
            sealed_args: Vec::new(),
            message: None,
            message_by_tool: false,
            about: About::Gate,
            payload_schema: None,
            contract,
            declaration,
            requested_at,
            expires_at: None,
            model_lost_interest: false,
        }
    }
}

/// Answers confirmation requests in this process.
///
/// It is asked again after a restart for what is still open; one that panics or never returns leaves the request
/// open for the other doors. Any async closure is one:
///
/// ```
/// use recount_tool::{ConfirmationProvider, ConfirmationRequest, ToolConfirmation};
/// fn provider() -> impl ConfirmationProvider {
///     |request: ConfirmationRequest| async move {
///         if request.tool_name == "refund" { ToolConfirmation::denied("not today") } else { ToolConfirmation::confirmed() }
///     }
/// }
/// # let _ = provider();
/// ```
#[async_trait]
pub trait ConfirmationProvider: Send + Sync + 'static {
    /// Answers one request.
    async fn confirm(&self, request: ConfirmationRequest) -> ToolConfirmation;

    /// The name that stands on record as the program that answered, of which the first 128
    /// characters are kept. It is the path of the type unless the provider says another.
    fn name(&self) -> String {
        std::any::type_name::<Self>().to_owned()
    }
}

#[async_trait]
impl<F, A> ConfirmationProvider for F
where
    F: Fn(ConfirmationRequest) -> A + Send + Sync + 'static,
    A: Future<Output = ToolConfirmation> + Send,
{
    async fn confirm(&self, request: ConfirmationRequest) -> ToolConfirmation {
        self(request).await
    }
}

/// The same answer to every request, for tests and simple defaults.
///
/// A request about a call in doubt stays open for the other doors: a uniform yes would run what may
/// have run already.
#[derive(Clone, Debug)]
pub struct StaticConfirmation(ToolConfirmation);

impl StaticConfirmation {
    /// Says yes to every gate and to every tool that asks itself.
    pub fn allow_all() -> Arc<dyn ConfirmationProvider> {
        Arc::new(StaticConfirmation(ToolConfirmation::confirmed()))
    }

    /// Says no to every gate and to every tool that asks itself.
    pub fn deny_all(reason: impl Into<String>) -> Arc<dyn ConfirmationProvider> {
        Arc::new(StaticConfirmation(ToolConfirmation::denied(reason)))
    }
}

#[async_trait]
impl ConfirmationProvider for StaticConfirmation {
    async fn confirm(&self, request: ConfirmationRequest) -> ToolConfirmation {
        match request.about {
            About::Gate | About::Tool => self.0.clone(),
            About::InDoubt => std::future::pending().await,
        }
    }

    fn name(&self) -> String {
        let answers = if self.0.confirmed {
            "allow_all"
        } else {
            "deny_all"
        };
        format!("StaticConfirmation::{answers}")
    }
}
