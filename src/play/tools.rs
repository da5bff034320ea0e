//! The recorded tools, which do what is recorded, at the recorded time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::session::catalog::{Catalog, ToolDeclaration, ToolKind};
use crate::session::{
    CallId, Json, Observation, PolicySet, StateChange, ToolAsked, ToolReturned, ToolYielded,
};
use crate::tool::{
    Ask, InputEvent, InputStreamingTool, Pending, PolicyTool, StreamingTool, ToolConfirmation,
    ToolContext, ToolError, ToolFunction, ToolOutcome, Toolset, without_note,
};

/// The queues of prompts to the recorded tools, by call.
#[derive(Clone, Default)]
pub(super) struct Prompter(Arc<Mutex<BTreeMap<CallId, Prompts>>>);

/// The prompts of one call. Its runs take them, one run after another.
#[derive(Clone)]
struct Prompts {
    sender: mpsc::UnboundedSender<Prompt>,
    receiver: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Prompt>>>,
}

/// A prompt: one action of a tool.
pub(super) struct Prompt {
    /// The minimum age of the run at which the action is performed.
    pub(super) after: Option<Duration>,
    pub(super) what: Observation,
}

impl Prompter {
    /// Makes the tool of a call perform an action once its run has the age of the prompt.
    pub(super) fn prompt(&self, call: CallId, prompt: Prompt) {
        let _ = self.of(call).sender.send(prompt);
    }

    fn of(&self, call: CallId) -> Prompts {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let prompts = all.entry(call).or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let receiver = Arc::new(tokio::sync::Mutex::new(receiver));
            Prompts { sender, receiver }
        });
        prompts.clone()
    }

    async fn next(&self, call: CallId) -> Prompt {
        let prompts = self.of(call);
        let mut receiver = prompts.receiver.lock().await;
        match receiver.recv().await {
            Some(next) => next,
            None => std::future::pending().await,
        }
    }
}

/// The tools of a fixture, with their policies.
pub(super) fn on_record(catalog: &Catalog, policies: &PolicySet, prompter: &Prompter) -> Toolset {
    let mut all = Toolset::new();
    for declared in catalog.tools.values() {
        let policy = policies.of(&declared.name).clone();
        let in_doubt = policy.in_doubt;
        let mut tool = body(declared, prompter)
            .with_policy(policy)
            .with_in_doubt(in_doubt);
        if declared.kind == ToolKind::LongRunning {
            tool = tool.long_running();
        }
        if let Some(behavior) = declared.behavior {
            tool = tool.with_behavior(behavior);
        }
        if let Some(category) = &declared.category {
            tool = tool.with_category(category);
        }
        for pointer in &declared.secret {
            tool = tool.with_secret(pointer);
        }
        if let Some(definition) = &declared.definition {
            tool = tool.with_definition(definition.clone());
        }
        all = all | Toolset::from(tool);
    }
    all
}

/// A tool with this declaration that does what is recorded.
pub(super) fn body(declared: &ToolDeclaration, prompter: &Prompter) -> PolicyTool {
    let recorded = Recorded {
        declared: declared.clone(),
        prompter: prompter.clone(),
    };
    match declared.kind {
        // The outcome of an agent is recorded like the result of any tool.
        ToolKind::Function | ToolKind::LongRunning | ToolKind::Agent => {
            PolicyTool::new(Arc::new(recorded), Default::default())
        }
        ToolKind::Streaming => PolicyTool::streaming(Arc::new(recorded)),
        ToolKind::InputStreaming => PolicyTool::input_streaming(Arc::new(recorded)),
        ToolKind::Client => {
            let (description, schema) = (&declared.description, declared.parameters.clone());
            PolicyTool::client(&declared.name, description, schema)
        }
        ToolKind::ServerSide => {
            let declaration = declared.server_side.clone().unwrap_or_default();
            PolicyTool::server_side(&declared.name, declaration)
        }
    }
}

struct Recorded {
    declared: ToolDeclaration,
    prompter: Prompter,
}

impl Recorded {
    async fn play(
        &self,
        context: &ToolContext,
        yields: Option<&mpsc::Sender<Value>>,
    ) -> ToolOutcome {
        let (call, began) = (context.call_id(), Instant::now());
        loop {
            let Prompt { after, what } = self.prompter.next(call).await;
            if let Some(after) = after {
                sleep_until(began + after).await;
            }
            let kind = what.kind();
            let outcome = match what {
                Observation::ToolReturned(it) => {
                    // A play runs in a session, so there is one to end.
                    let ends = it.ends_session.clone();
                    ends.into_iter()
                        .for_each(|why| _ = context.end_session(why));
                    Some(returned(&it))
                }
                Observation::ToolPaused(it) => {
                    let interim = it.interim;
                    let pending = interim.map_or_else(Pending::new, Pending::with_interim_text);
                    let state = it.state.map(|it| it.to_value());
                    let pending = state.into_iter().fold(pending, Pending::with_state);
                    Some(ToolOutcome::Paused(pending))
                }
                Observation::ToolAsked(it) if !it.in_place => Some(ToolOutcome::Asked(ask(&it))),
                Observation::ToolAsked(it) => {
                    // The next prompts are the tool's reaction to the answer.
                    let _ = context.request_confirmation(ask(&it)).await;
                    None
                }
                Observation::ToolYielded(it) => match yields {
                    Some(yields) => yielded(&it, yields).await,
                    None => None,
                },
                Observation::ToolEventEmitted(it) => {
                    let emitted = context.emit_json(&it.name, it.data);
                    emitted.err().map(ToolOutcome::Failed)
                }
                Observation::StateChanged(it) => {
                    it.changes.iter().for_each(|it| write(context, it));
                    None
                }
                Observation::SessionOpened(_)
                | Observation::RunnerAttached(_)
                | Observation::RunnerDetached(_)
                | Observation::RunnerDraining(_)
                | Observation::CatalogChanged(_)
                | Observation::Connected(_)
                | Observation::Disconnected(_)
                | Observation::GoAwayReceived(_)
                | Observation::SwitchPlanned(_)
                | Observation::ReconnectScheduled(_)
                | Observation::ConnectFailed(_)
                | Observation::ReconnectsExhausted(_)
                | Observation::HistorySent(_)
                | Observation::ResumptionHandleReceived(_)
                | Observation::FunctionCallReceived(_)
                | Observation::HookAnswered(_)
                | Observation::LlmAsked(_)
                | Observation::LlmReplied(_)
                | Observation::CallCancellationReceived(_)
                | Observation::ConfirmationAnswered(_)
                | Observation::ApprovalGiven(_)
                | Observation::AnswerRefused(_)
                | Observation::LeaveRevoked(_)
                | Observation::ResponseSupplied(_)
                | Observation::OutcomeFound(_)
                | Observation::CallClaimed(_)
                | Observation::LeaseRenewed(_)
                | Observation::ClaimEnded(_)
                | Observation::ResponsesSent(_)
                | Observation::InstructionSent(_)
                | Observation::DeadlinePassed(_)
                | Observation::ModelOutputReceived(_)
                | Observation::TranscriptReceived(_)
                | Observation::UserTextSent(_)
                | Observation::TurnCompleted(_)
                | Observation::TurnInterrupted(_)
                | Observation::MediaCounted(_)
                | Observation::UsageReported(_)
                | Observation::FrameRejected(_)
                | Observation::OperatorCancelled(_)
                | Observation::Paused(_)
                | Observation::Unpaused(_)
                | Observation::SessionClosed(_) => {
                    let told = format!("a tool does nothing such as {kind}");
                    Some(ToolOutcome::Failed(ToolError::Other(told)))
                }
            };
            if let Some(outcome) = outcome {
                return outcome;
            }
        }
    }
}

/// The outcome of a run. The record has it in the words for the model, so the result is extracted
/// here and the engine wraps it again.
fn returned(it: &ToolReturned) -> ToolOutcome {
    let response = it.response.to_value();
    let (told, place) = match response.get("output") {
        Some(output) if response.get("scheduling").is_some() => (output.clone(), "/output"),
        Some(_) | None => (response, ""),
    };
    if it.failed {
        return ToolOutcome::Failed(ToolError::of_response(&told));
    }
    // A result in the background is wrapped in a report.
    let is_worded = told.get("status").and_then(Value::as_str) == Some("completed");
    let (result, place) = match told.get("result") {
        Some(result) if is_worded && told.get("tool").is_some() => {
            (result.clone(), format!("{place}/result"))
        }
        Some(_) | None => (told, place.to_owned()),
    };
    let text = it.response.text_at(&place).map(Json::parse);
    match it.scheduling {
        Some(scheduling) => ToolOutcome::Scheduled(result, scheduling),
        None => match text {
            Some(Ok(text)) => ToolOutcome::Text(text),
            Some(Err(_)) | None => ToolOutcome::Returned(result),
        },
    }
}

/// The result of a client's run, or the reason of its failure.
pub(super) fn result_in_words(it: &ToolReturned) -> Result<Json, String> {
    match returned(it) {
        ToolOutcome::Text(text) => Ok(text),
        ToolOutcome::Returned(value) | ToolOutcome::Scheduled(value, _) => Ok(Json::of(&value)),
        ToolOutcome::Failed(error) => Err(error.to_string()),
        ToolOutcome::Paused(_) | ToolOutcome::Asked(_) => Ok(it.response.clone()),
    }
}

fn ask(it: &ToolAsked) -> Ask {
    let mut ask = Ask::new(&it.hint, it.state.to_value());
    if let Some(schema) = &it.payload_schema {
        ask = ask.payload_schema(schema.to_value());
    }
    if let Some(ms) = it.expires_after_ms {
        ask = ask.expires_after(Duration::from_millis(ms));
    }
    ask
}

async fn yielded(it: &ToolYielded, yields: &mpsc::Sender<Value>) -> Option<ToolOutcome> {
    let sent = yields.send(it.response.to_value()).await;
    let no_listener = |_| ToolOutcome::Failed(ToolError::Other("there is no listener".to_owned()));
    sent.err().map(no_listener)
}

fn write(context: &ToolContext, change: &StateChange) {
    let value: Value = change.value.to_value();
    if value.is_null() {
        context.state.remove(&change.key);
    } else {
        context.state.set(&change.key, &change.value);
    }
}

#[async_trait]
impl ToolFunction for Recorded {
    fn name(&self) -> &str {
        &self.declared.name
    }

    fn description(&self) -> &str {
        without_note(&self.declared.description)
    }

    fn parameters(&self) -> Option<Value> {
        self.declared.parameters.clone()
    }

    /// The recorded one, so that a call has the recorded contract.
    fn implementation(&self) -> Option<Value> {
        self.declared.implementation.clone()
    }

    /// The record does not say which tools read the text of their arguments. Tools of other
    /// programs never do.
    fn reads_text(&self) -> bool {
        self.declared.definition.is_none()
    }

    async fn call(&self, _args: Value) -> Result<Value, ToolError> {
        let told = "a recorded tool runs where a fixture is played".to_owned();
        Err(ToolError::NotAvailable(told))
    }

    async fn invoke(&self, _args: Value, context: ToolContext) -> ToolOutcome {
        self.play(&context, None).await
    }

    async fn resume(
        &self,
        context: ToolContext,
        _state: Value,
        _answer: ToolConfirmation,
    ) -> ToolOutcome {
        self.play(&context, None).await
    }
}

/// The end of a stream, which carries no result.
fn ended(outcome: ToolOutcome) -> Result<(), ToolError> {
    match outcome {
        ToolOutcome::Failed(error) => Err(error),
        ToolOutcome::Returned(_)
        | ToolOutcome::Text(_)
        | ToolOutcome::Scheduled(..)
        | ToolOutcome::Paused(_)
        | ToolOutcome::Asked(_) => Ok(()),
    }
}

#[async_trait]
impl StreamingTool for Recorded {
    fn name(&self) -> &str {
        &self.declared.name
    }

    fn description(&self) -> &str {
        &self.declared.description
    }

    fn parameters(&self) -> Option<Value> {
        self.declared.parameters.clone()
    }

    async fn run(&self, _args: Value, _yields: mpsc::Sender<Value>) -> Result<(), ToolError> {
        let told = "a recorded tool runs where a fixture is played".to_owned();
        Err(ToolError::NotAvailable(told))
    }

    async fn run_with_context(
        &self,
        _args: Value,
        context: ToolContext,
        yields: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        ended(self.play(&context, Some(&yields)).await)
    }
}

#[async_trait]
impl InputStreamingTool for Recorded {
    fn name(&self) -> &str {
        &self.declared.name
    }

    fn description(&self) -> &str {
        &self.declared.description
    }

    fn parameters(&self) -> Option<Value> {
        self.declared.parameters.clone()
    }

    async fn run(
        &self,
        _args: Value,
        _input: broadcast::Receiver<InputEvent>,
        _yields: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        let told = "a recorded tool runs where a fixture is played".to_owned();
        Err(ToolError::NotAvailable(told))
    }

    async fn run_with_context(
        &self,
        _args: Value,
        context: ToolContext,
        _input: broadcast::Receiver<InputEvent>,
        yields: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        ended(self.play(&context, Some(&yields)).await)
    }
}
