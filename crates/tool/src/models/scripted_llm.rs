//! A language model with scripted replies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::models::llm::{BaseLlm, LlmError, LlmReply, LlmRequest};

/// A language model with scripted replies, one a turn, that keeps its requests. For tests and
/// offline programs.
///
/// ```
/// use recount_tool::{BaseLlm, LlmReply, LlmRequest, ScriptedLlm};
///
/// # async fn example() {
/// let model = ScriptedLlm::new([LlmReply::text("Hello")]);
/// assert_eq!(model.generate(LlmRequest::default()).await, Ok(LlmReply::text("Hello")));
/// assert!(model.generate(LlmRequest::default()).await.is_err());
/// assert_eq!(model.asked().len(), 2);
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedLlm(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    replies: VecDeque<Result<LlmReply, LlmError>>,
    asked: Vec<LlmRequest>,
}

impl ScriptedLlm {
    /// Creates a model that gives these replies in order, and then none.
    pub fn new(replies: impl IntoIterator<Item = LlmReply>) -> ScriptedLlm {
        ScriptedLlm::with_failures(replies.into_iter().map(Ok))
    }

    /// Creates a model like [`new`](ScriptedLlm::new), with some turns that fail.
    ///
    /// ```
    /// use recount_tool::{LlmError, LlmReply, ScriptedLlm};
    /// let busy = LlmError::Unavailable("the service has too much to do".to_owned());
    /// let model = ScriptedLlm::with_failures([Err(busy), Ok(LlmReply::text("Hello"))]);
    /// # let _ = model;
    /// ```
    pub fn with_failures(
        replies: impl IntoIterator<Item = Result<LlmReply, LlmError>>,
    ) -> ScriptedLlm {
        let replies = replies.into_iter().collect();
        let asked = Vec::new();
        ScriptedLlm(Arc::new(Mutex::new(Script { replies, asked })))
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn asked(&self) -> Vec<LlmRequest> {
        self.script().asked.clone()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl BaseLlm for ScriptedLlm {
    fn model(&self) -> &str {
        "scripted"
    }

    async fn generate(&self, request: LlmRequest) -> Result<LlmReply, LlmError> {
        let mut script = self.script();
        script.asked.push(request);
        let over = || {
            Err(LlmError::Refused(
                "the script has no further reply".to_owned(),
            ))
        };
        script.replies.pop_front().unwrap_or_else(over)
    }
}
