//! The desk that asks a dispatcher's provider, before a gated tool runs and while a running tool
//! waits.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use recount_session::{
    Actor, ConfirmationAnswered, ConfirmationRequested, Deadline, DeadlinePassed, Json, Rejection,
    Seq, SessionId, Timestamp, ToolAsked, ToolEventEmitted,
};
use tokio::time::Instant;

use super::next::{Due, Next};
use super::pipeline::{Core, DISPATCHER};
use crate::approval::answering::Asked;
use crate::approval::confirmation::{ConfirmationProvider, ConfirmationRequest};
use crate::run::error::ToolError;
use crate::run::tool_event::{LookBack, ToolEvents};
use recount_session::ToolConfirmation;

/// The maximum number of kept characters of a provider's name.
const NAME_MAX: usize = 128;

/// Returns the actor of an answer by a provider.
#[doc(hidden)]
pub fn answered_by(provider: &dyn ConfirmationProvider) -> Actor {
    let name: String = provider.name().chars().take(NAME_MAX).collect();
    Actor::embedder("confirmation provider").as_program(name)
}

/// A request for the provider, and the data to check its answer against.
pub(super) struct Question<'a> {
    pub(crate) session: SessionId,
    pub(crate) request: Seq,
    pub(crate) tool_name: &'a str,
    pub(crate) asked: Asked<'a>,
    pub(super) may_edit: bool,
    pub(crate) at: Timestamp,
    pub(super) expires: Option<Due>,
}

/// Asks the provider and returns the answer's record; `None` if the request expired first.
pub(super) async fn answer_of(
    provider: &dyn ConfirmationProvider,
    question: Question<'_>,
) -> Result<Option<ConfirmationAnswered>, ToolError> {
    let Question {
        session,
        request,
        tool_name,
        asked,
        may_edit,
        at,
        expires,
    } = question;
    let shown = ConfirmationRequest {
        id: session.request_id(request),
        session,
        agent: DISPATCHER.to_owned(),
        external_id: None,
        labels: BTreeMap::new(),
        on_behalf_of: None,
        request,
        request_hash: None,
        call: asked.question.call,
        call_hash: None,
        parent: None,
        tool_name: tool_name.to_owned(),
        args: asked.args.to_value(),
        args_text: asked.args.clone(),
        sealed_args: asked.sealed.to_vec(),
        message: asked.question.hint.clone(),
        message_by_tool: asked.question.asked.is_some(),
        about: asked.question.about,
        payload_schema: asked.question.payload_schema.clone(),
        contract: asked.question.contract,
        declaration: asked.question.declaration,
        requested_at: at,
        expires_at: asked.question.expires_at_us,
        model_lost_interest: false,
        needs: asked.question.needs.clone(),
    };
    if let Some(needs) = &asked.question.needs
        && let Err(barred) = needs.admit(&answered_by(provider), false)
    {
        tracing::warn!(
            tool = tool_name,
            code = barred.code(),
            "the tool takes answers of persons only, and this dispatcher has only a provider"
        );
        return Err(ToolError::Cancelled(format!(
            "the confirmation provider's answer does not count: {barred}"
        )));
    }
    // The call is inside an async block, because a provider may panic before it returns its future.
    let answering = async { (provider.confirm(shown).await, answered_by(provider)) };
    let answering = AssertUnwindSafe(answering).catch_unwind();
    let answer = match expires {
        None => answering.await,
        Some(due) => match tokio::time::timeout(due.wait, answering).await {
            Ok(answer) => answer,
            Err(_) => return Ok(None),
        },
    };
    let Ok((confirmation, by)) = answer else {
        let reason = "the confirmation provider panicked, so the call is not approved";
        return Err(ToolError::Cancelled(reason.to_owned()));
    };
    let unfit = |unfit| {
        ToolError::Cancelled(format!(
            "the confirmation provider's answer does not count: {unfit}"
        ))
    };
    let answer = asked
        .fit(confirmation, |args| Some(args.clone()))
        .map_err(unfit)?;
    if answer.args.is_some() && !may_edit {
        return Err(ToolError::Cancelled(Rejection::EditsNotAllowed.to_string()));
    }
    // A provider is a program, and only a person can allow later calls.
    if answer.allow_for.is_some() {
        return Err(ToolError::Cancelled(
            Rejection::LeaveNotPermitted.to_string(),
        ));
    }
    // A dispatcher's session does not survive a crash, so none of its calls is ever in doubt.
    if answer.found.is_some() {
        return Err(ToolError::Cancelled(Rejection::NothingToSettle.to_string()));
    }
    Ok(Some(answer.into_record(request, by)))
}

/// Asks the provider for a running tool, and measures the time of waiting.
pub(crate) struct ProviderAsker {
    pub(super) core: Arc<Mutex<Core>>,
    pub(crate) session: SessionId,
    pub(crate) provider: Arc<dyn ConfirmationProvider>,
    pub(crate) tool_name: String,
    pub(crate) args: Json,
    pub(crate) waited: Mutex<Waited>,
}

/// The time for which a run has waited for answers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Waited {
    since: Option<Instant>,
    before: Duration,
}

impl ProviderAsker {
    /// Runs a future with a time limit that excludes the time of waiting for answers.
    pub(crate) async fn within<F: Future>(&self, limit: Duration, running: F) -> Option<F::Output> {
        let begun = Instant::now();
        let mut running = std::pin::pin!(running);
        let mut alarm = std::pin::pin!(tokio::time::sleep(limit));
        std::future::poll_fn(|context| {
            if let Poll::Ready(output) = running.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            while alarm.as_mut().poll(context).is_ready() {
                let Waited { since, before } = *lock(&self.waited);
                // The answer wakes the waiting run, and then this poll checks the time again.
                if since.is_some() {
                    return Poll::Pending;
                }
                let due = begun + limit + before;
                if due <= Instant::now() {
                    return Poll::Ready(None);
                }
                alarm.as_mut().reset(due);
            }
            Poll::Pending
        })
        .await
    }

    async fn answer(
        &self,
        call: Seq,
        request: Seq,
        asked: &ConfirmationRequested,
        at: Timestamp,
        expires: Option<Due>,
    ) -> Result<ToolConfirmation, ToolError> {
        let question = Question {
            session: self.session,
            request,
            tool_name: &self.tool_name,
            asked: Asked {
                question: asked,
                hash: None,
                args: &self.args,
                sealed: &[],
                parameters: None,
            },
            may_edit: false,
            at,
            expires,
        };
        let hint = asked.hint.clone();
        match answer_of(&*self.provider, question).await? {
            Some(answered) => {
                lock(&self.core).note(call, answered.clone().into())?;
                Ok(ToolConfirmation::recorded(answered, hint))
            }
            None => {
                let due_us = expires.map_or_else(Default::default, |due| due.at);
                let deadline = Deadline::Confirmation { call, request };
                lock(&self.core).note(call, DeadlinePassed { deadline, due_us }.into())?;
                let mut denied = ToolConfirmation::denied("nobody answered in time");
                denied.hint = hint;
                Ok(denied)
            }
        }
    }
}

#[async_trait]
impl ToolEvents for ProviderAsker {
    fn take(&self, emitted: ToolEventEmitted) -> bool {
        self.core.take(emitted)
    }

    async fn ask(&self, asked: ToolAsked) -> Result<ToolConfirmation, ToolError> {
        let call = asked.call;
        if lock(&self.waited).since.is_some() {
            let reason = "the call waits for an answer already; ask again when that has come";
            return Err(ToolError::NotAvailable(reason.to_owned()));
        }
        let _wait = WaitGuard::begin(&self.waited);
        let next = lock(&self.core).observe(call, asked.into())?;
        let Next::Ask {
            request,
            question,
            at,
            expires,
        } = next
        else {
            return Err(ToolError::Cancelled("the call is over".to_owned()));
        };
        self.answer(call, request, &question, at, expires).await
    }

    async fn look_back(&self, turns: usize) -> Result<LookBack, ToolError> {
        self.core.look_back(turns).await
    }

    fn now(&self) -> Timestamp {
        self.core.now()
    }
}

/// A guard that measures one wait. It ends with the answer or when the waiting future is dropped.
struct WaitGuard<'a>(&'a Mutex<Waited>);

impl<'a> WaitGuard<'a> {
    fn begin(waited: &'a Mutex<Waited>) -> WaitGuard<'a> {
        lock(waited).since = Some(Instant::now());
        WaitGuard(waited)
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let mut waited = lock(self.0);
        if let Some(since) = waited.since.take() {
            waited.before += since.elapsed();
        }
    }
}

fn lock<T>(it: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
