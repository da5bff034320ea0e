//! A language model as an agent asks it: what it is sent, and what it says.

use std::sync::Arc;

use async_trait::async_trait;
use recount_session::{Json, ToolDeclaration};
use serde::Serialize;
use serde_json::Value;

/// A language model that is asked turn by turn, over text.
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
    /// The model's name, as it goes on record.
    fn model(&self) -> &str;

    /// Asks for the next turn.
    ///
    /// It is asked anew where a process ended before the reply was on record, and a bounded number
    /// of times where the error says that it may pass.
    ///
    /// # Errors
    /// [`LlmError`]. Its words go on record and to the model that called the agent: they must hold
    /// no secret.
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

/// What a model is asked.
///
/// ```json
/// {"instruction":"Verify the caller.","contents":[{"user":{"text":"Who is 17?"}}],"tools":[{"name":"look_up","description":"…"}]}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LlmRequest {
    /// What it is told to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// The conversation so far; the last of it is what it is to answer.
    pub contents: Vec<LlmContent>,
    /// What it may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<LlmTool>,
}

/// One part of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmContent {
    /// Somebody asks.
    User {
        /// What.
        text: String,
    },
    /// The model said this.
    Model {
        /// In its order.
        said: Vec<LlmSaid>,
    },
    /// What came of the calls that it made.
    Tools {
        /// In the order of the calls.
        answers: Vec<LlmAnswer>,
    },
}

/// One thing that a model says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmSaid {
    /// Words.
    Text {
        /// Them.
        text: String,
        /// What the service wants back with it, unread.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A call of a tool.
    Call {
        /// The model's own id of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The tool.
        name: String,
        /// The arguments, a JSON object with every digit that the model wrote.
        args: Json,
        /// What the service wants back with it, unread.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
}

impl LlmSaid {
    /// Words.
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

    /// A call without an id.
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

/// What came of one call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LlmAnswer {
    /// The model's own id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The response, a JSON object.
    pub response: Json,
}

/// A tool, as a model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LlmTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments; without one, any object.
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

/// What a model says in one turn. With calls the turn goes on when all of them have ended; without
/// any, it is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LlmReply {
    /// What it says, in its order.
    pub said: Vec<LlmSaid>,
    /// The counts as the service gave them.
    pub usage: Option<Value>,
}

impl LlmReply {
    /// Words and no calls.
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

/// Why a model did not reply. The words go on record: they say what was expected and what came, and
/// no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LlmError {
    /// It cannot be reached now, or has too much to do: it is asked again.
    #[error("{0}")]
    Unavailable(String),
    /// It will not answer this, however often it is asked.
    #[error("{0}")]
    Refused(String),
}

impl LlmError {
    /// True if the model is asked again.
    #[doc(hidden)]
    #[must_use]
    pub fn is_asked_again(&self) -> bool {
        match self {
            LlmError::Unavailable(_) => true,
            LlmError::Refused(_) => false,
        }
    }
}
