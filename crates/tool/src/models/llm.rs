//! The interface between an agent and its language model: request and reply.

use std::sync::Arc;

use async_trait::async_trait;
use recount_session::{Json, ToolDeclaration};
use serde::Serialize;
use serde_json::Value;

/// A language model that is called turn by turn, with text.
///
/// ```
/// use async_trait::async_trait;
/// use recount_tool::{BaseLlm, LlmContent, LlmError, LlmReply, LlmRequest};
///
/// /// It says what it was asked.
/// struct Parrot;
///
/// #[async_trait]
/// impl BaseLlm for Parrot {
///     fn model(&self) -> &str {
///         "parrot-1"
///     }
///
///     async fn generate(&self, request: LlmRequest) -> Result<LlmReply, LlmError> {
///         match request.contents.first() {
///             Some(LlmContent::User { text }) => Ok(LlmReply::text(text)),
///             _ => Err(LlmError::Refused("nobody said anything".to_owned())),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait BaseLlm: Send + Sync + 'static {
    /// Returns the model's name for the record.
    fn model(&self) -> &str;

    /// Requests the next turn.
    ///
    /// The engine repeats a request if the process ended before the reply was recorded. It also
    /// repeats it a bounded number of times after an error that may be temporary.
    ///
    /// # Errors
    /// [`LlmError`]. Its text is recorded and sent to the model that called the agent, so it must
    /// hold no secret.
    async fn generate(&self, request: LlmRequest) -> Result<LlmReply, LlmError>;
}

#[async_trait]
impl<L: BaseLlm + ?Sized> BaseLlm for Arc<L> {
    fn model(&self) -> &str {
        (**self).model()
    }

    async fn generate(&self, request: LlmRequest) -> Result<LlmReply, LlmError> {
        (**self).generate(request).await
    }
}

/// A request to a model.
///
/// ```json
/// {"instruction":"Verify the caller.","contents":[{"user":{"text":"Who is 17?"}}],"tools":[{"name":"look_up","description":"…"}]}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LlmRequest {
    /// The system instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// The conversation so far; the last entry is the one to answer.
    pub contents: Vec<LlmContent>,
    /// The tools that the model may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<LlmTool>,
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmContent {
    /// A message to the model.
    User {
        /// The text of the message.
        text: String,
    },
    /// A turn of the model.
    Model {
        /// The parts of the turn, in order.
        said: Vec<LlmSaid>,
    },
    /// The responses to the calls of the last turn.
    Tools {
        /// The responses, in the order of the calls.
        answers: Vec<LlmAnswer>,
    },
}

/// One part of a model's turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmSaid {
    /// A text.
    Text {
        /// The text itself.
        text: String,
        /// An opaque value that the service wants back with the part.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A call of a tool.
    Call {
        /// The model's own id of the call.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The name of the tool.
        name: String,
        /// The arguments, a JSON object with every digit that the model wrote.
        args: Json,
        /// An opaque value that the service wants back with the part.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
}

impl LlmSaid {
    /// Creates a text.
    ///
    /// ```
    /// use recount_tool::LlmSaid;
    /// assert!(matches!(LlmSaid::text("Hello"), LlmSaid::Text { text, .. } if text == "Hello"));
    /// ```
    pub fn text(text: impl Into<String>) -> LlmSaid {
        LlmSaid::Text {
            text: text.into(),
            signature: None,
        }
    }

    /// Creates a call without an id.
    ///
    /// ```
    /// use recount_tool::LlmSaid;
    /// let call = LlmSaid::call("look_up", serde_json::json!({"order": 17}));
    /// assert!(matches!(call, LlmSaid::Call { name, .. } if name == "look_up"));
    /// ```
    pub fn call(name: impl Into<String>, args: Value) -> LlmSaid {
        LlmSaid::Call {
            id: None,
            name: name.into(),
            args: Json::of(&args),
            signature: None,
        }
    }
}

/// The response to one call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LlmAnswer {
    /// The model's own id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name of the tool.
    pub name: String,
    /// The response, a JSON object.
    pub response: Json,
}

/// A tool's declaration for a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LlmTool {
    /// The name of the tool.
    pub name: String,
    /// The description of the tool.
    pub description: String,
    /// The JSON Schema of the arguments; without one, any object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
}

impl From<&ToolDeclaration> for LlmTool {
    fn from(declared: &ToolDeclaration) -> LlmTool {
        LlmTool {
            name: declared.name.clone(),
            description: declared.description.clone(),
            parameters: declared.parameters.clone(),
        }
    }
}

/// A model's reply in one turn. After a reply with calls the model is called again when all calls
/// have ended; without calls the run is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LlmReply {
    /// The parts of the reply, in order.
    pub said: Vec<LlmSaid>,
    /// The token counts as the service reports them.
    pub usage: Option<Value>,
}

impl LlmReply {
    /// Creates a reply with a text and no calls.
    ///
    /// ```
    /// use recount_tool::LlmReply;
    /// assert_eq!(LlmReply::text("It is paid.").said.len(), 1);
    /// ```
    pub fn text(text: impl Into<String>) -> LlmReply {
        LlmReply {
            said: vec![LlmSaid::text(text)],
            usage: None,
        }
    }
}

/// The reason why a model did not reply. Its text is recorded: it says what was expected and found,
/// and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LlmError {
    /// The service is unreachable or overloaded; the request is repeated.
    #[error("{0}")]
    Unavailable(String),
    /// The service rejects this request; it is not repeated.
    #[error("{0}")]
    Refused(String),
}

impl LlmError {
    /// True if the request is repeated.
    #[doc(hidden)]
    #[must_use]
    pub fn is_asked_again(&self) -> bool {
        match self {
            LlmError::Unavailable(_) => true,
            LlmError::Refused(_) => false,
        }
    }
}
