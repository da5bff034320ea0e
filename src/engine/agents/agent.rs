//! An agent: a named bundle of code that serves sessions.
//!
//! The journal contains no code. A session names its agent, and each process that opens the journal
//! registers the agent again.

use std::sync::Arc;
use std::time::Duration;

use super::extractors::{Extractor, Turn};
use super::fixture::heard::HeardAs;
use super::hooks::AgentHooks;
use super::phases::PhaseBuilder;
use super::policies::CallLimits;
use super::reconnects::Reconnects;
use crate::fixture::Recording;
use crate::live::manner::Manner;
use crate::live::{Capabilities, Connector, Modality};
use crate::session::{
    Gates, OnExpiry, OnSettled, PhaseDeclaration, PolicyChanges, PolicySet, ResponseShape,
};
use crate::tool::{
    ConfirmationProvider, FunctionCall, FunctionResponse, GateChoice, Services, State, T,
    TextAgent, ToolExecutionMode, Toolset,
};

/// Tools, policies, instruction and connection under one name.
///
/// ```
/// use recount::prelude::*;
/// let agent = Agent::new()
///     .model("gemini-3.8-live")
///     .instruction("You are the support desk.")
///     .tools(T::simple("ping", "Answers pong", |_| async { Ok(json!("pong")) }));
/// # let _ = agent;
/// ```
#[derive(Clone, Default)]
pub struct Agent {
    pub(super) model: String,
    pub(super) instruction: Option<String>,
    pub(in crate::engine) tools: Toolset,
    pub(in crate::engine) connector: Option<Arc<dyn Connector>>,
    pub(in crate::engine) provider: Option<Arc<dyn ConfirmationProvider>>,
    pub(in crate::engine) gates: GateChoice,
    pub(super) call_limits: CallLimits,
    pub(super) acknowledge_after: Option<Duration>,
    pub(in crate::engine) policies: Vec<PolicyChanges>,
    pub(super) phases: Vec<PhaseDeclaration>,
    pub(super) extractors: Vec<Extractor>,
    pub(super) services: Services,
    pub(super) modes: Vec<(String, ToolExecutionMode)>,
    pub(super) response: ResponseShape,
    pub(super) on_settled: OnSettled,
    pub(super) idle_fold_after: Option<Duration>,
    pub(in crate::engine) hooks: AgentHooks,
    pub(super) manner: Manner,
    pub(in crate::engine) capabilities: Option<Capabilities>,
    pub(super) sealed: bool,
    /// The time after which a gate without a time of its own counts an open question as denied.
    pub(super) gates_expire_after: Option<Duration>,
    pub(super) gates_on_expiry: Option<OnExpiry>,
    /// True if policy files may name tools that only clients declare.
    pub(super) tools_from_clients: bool,
    pub(super) reconnects: Reconnects,
    pub(in crate::engine) setup_timeout: Option<Duration>,
    pub(in crate::engine) withholds_input: bool,
    /// The policies of a fixture that is played. They override all others.
    pub(in crate::engine) on_record: Option<PolicySet>,
    /// The gates of that fixture.
    pub(super) gates_on_record: Option<Gates>,
    /// The reader of frames whose text was not recorded in that fixture.
    pub(super) heard_as: Option<HeardAs>,
    /// The recording of its sessions as fixtures, and whether it covers only one session.
    pub(in crate::engine) recording: Option<(Recording, bool)>,
}

impl Agent {
    /// Creates an agent without any parts.
    pub fn new() -> Agent {
        Agent::default()
    }

    /// Sets the model, such as `gemini-3.8-live`. An agent without a connector needs none: a
    /// program drives its sessions.
    pub fn model(mut self, model: impl Into<String>) -> Agent {
        self.model = model.into();
        self
    }

    /// Sets the system instruction.
    pub fn instruction(mut self, instruction: impl Into<String>) -> Agent {
        self.instruction = Some(instruction.into());
        self
    }

    /// Sets the modality of the model's output. The default is text, or audio if a
    /// [`voice`](Agent::voice) is set.
    pub fn modality(mut self, modality: Modality) -> Agent {
        self.manner.modality = Some(modality);
        self
    }

    /// Sets the model's voice, such as `Kore`.
    pub fn voice(mut self, voice: impl Into<String>) -> Agent {
        self.manner.voice = Some(voice.into());
        self
    }

    /// Sets the language that the model speaks, such as `de-DE`.
    pub fn language(mut self, code: impl Into<String>) -> Agent {
        self.manner.language = Some(code.into());
        self
    }

    /// Transcribes the speech of the user and the model. The texts are recorded, unless
    /// [`record_transcripts`](Agent::record_transcripts) leaves them out.
    pub fn transcription(mut self) -> Agent {
        self.manner.transcribed = true;
        self
    }

    /// Makes the program mark the user's activity, instead of the service's voice detection.
    ///
    /// The program calls [`activity_start`](crate::engine::LiveHandle::activity_start) and
    /// [`activity_end`](crate::engine::LiveHandle::activity_end).
    pub fn manual_activity(mut self) -> Agent {
        self.manner.marks_activity = true;
        self
    }

    /// Adds tools, joined by `|`.
    pub fn tools(mut self, tools: impl Into<Toolset>) -> Agent {
        self.tools = self.tools | tools.into();
        self
    }

    /// Adds a text agent that the model calls by name; see
    /// [`TextAgentTool`](crate::tool::TextAgentTool).
    ///
    /// ```
    /// use recount::prelude::*;
    /// use recount::tool::{LlmAgent, LlmReply, ScriptedLlm};
    ///
    /// let verifier = LlmAgent::new("verifier", ScriptedLlm::new([LlmReply::text("It is Ada.")]));
    /// let agent = Agent::new()
    ///     .model("gemini-3.8-live")
    ///     .agent_tool("verify_identity", "Verifies a caller's identity", verifier);
    /// # let _ = agent;
    /// ```
    pub fn agent_tool(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        agent: impl TextAgent,
    ) -> Agent {
        self.tools(T::agent(name, description, agent))
    }

    /// Sets the connector for its sessions.
    pub fn connect_to(mut self, connector: impl Connector) -> Agent {
        self.connector = Some(Arc::new(connector));
        self
    }

    /// Sets a shared connector, as [`connect_to`](Agent::connect_to) does.
    pub fn connect_to_shared(mut self, connector: Arc<dyn Connector>) -> Agent {
        self.connector = Some(connector);
        self
    }

    /// Sets the confirmation provider. The default is the provider of the agent's dispatcher.
    pub fn confirmation_provider(mut self, provider: Arc<dyn ConfirmationProvider>) -> Agent {
        self.provider = Some(provider);
        self
    }

    /// Makes gated calls wait for an approver even if the journal is not durable.
    pub fn strict(mut self) -> Agent {
        self.gates = GateChoice::Strict;
        self
    }

    /// Runs gated calls without approval. The journal records that for each.
    pub fn unenforced_confirmations(mut self) -> Agent {
        self.gates = GateChoice::Unenforced;
        self
    }

    /// Begins a phase of the conversation; see [`PhaseBuilder`].
    pub fn phase(self, name: impl Into<String>) -> PhaseBuilder<Agent> {
        PhaseBuilder::new(self, name.into(), Agent::with_phase)
    }

    pub(in crate::engine) fn with_phase(mut self, phase: PhaseDeclaration) -> Agent {
        self.phases.push(phase);
        self
    }

    /// Adds a hook that reads each turn of the model at its end, and writes to the state.
    ///
    /// Its writes are recorded as one change, under the hook's name. It runs beside the
    /// conversation, for at most 30 seconds. A hook that a crash interrupts is not run again.
    ///
    /// ```
    /// use recount::prelude::*;
    /// use recount::session::Speaker;
    ///
    /// let agent = Agent::new().extract("mood", |turn, state| async move {
    ///     if turn.by(Speaker::User).contains("angry") {
    ///         state.set("angry", true);
    ///     }
    /// });
    /// # let _ = agent;
    /// ```
    pub fn extract<F, Fut>(mut self, name: impl Into<String>, hook: F) -> Agent
    where
        F: Fn(Turn, State) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.extractors.push(Extractor {
            name: name.into(),
            read: Arc::new(move |turn, state| Box::pin(hook(turn, state))),
        });
        self
    }

    /// Sets a hook that sees the calls of a message first, and may answer them itself.
    ///
    /// Its responses are recorded as its own and sent unchanged. Calls that it leaves out proceed
    /// as usual, and all of them do if it returns `None`. An answered call runs no tool and asks no
    /// approver. The hook has 30 seconds; if it panics or takes longer, its calls are refused. It
    /// does not see calls that a phase excludes or whose arguments do not fit.
    ///
    /// A hook that a crash interrupts may have done the work, so its calls are in doubt, as
    /// [`T::in_doubt`] describes.
    ///
    /// [`T::in_doubt`]: crate::tool::T::in_doubt
    ///
    /// ```
    /// use recount::prelude::*;
    ///
    /// let agent = Agent::new().on_tool_call(|calls, state| async move {
    ///     let mut responses = Vec::new();
    ///     for call in calls.iter().filter(|call| call.name == "verify_identity") {
    ///         state.set("identity_verified", true);
    ///         let response = json!({"verified": true});
    ///         responses.push(FunctionResponse {
    ///             name: call.name.clone(),
    ///             response,
    ///             id: call.id.clone(),
    ///         });
    ///     }
    ///     Some(responses)
    /// });
    /// # let _ = agent;
    /// ```
    pub fn on_tool_call<F, Fut>(mut self, hook: F) -> Agent
    where
        F: Fn(Vec<FunctionCall>, State) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<Vec<FunctionResponse>>> + Send + 'static,
    {
        self.hooks.answer_calls(hook);
        self
    }

    /// Sets a hook that changes each response before it is recorded and sent to the model.
    ///
    /// It sees results, also those of clients, acknowledgements, interim results, supplied
    /// responses and errors. What it returns is recorded and sent; what it removes appears nowhere.
    /// It may be passed one response at a time. A response supplied for a call with a result is
    /// passed for comparison only, and the hook's writes to the state are then dropped. A response
    /// that it does not answer is withheld, and the model gets a notice instead. So are all of them
    /// if it panics or takes longer than 30 seconds.
    ///
    /// ```
    /// use recount::prelude::*;
    ///
    /// let agent = Agent::new().before_tool_response(|responses, state| async move {
    ///     responses.into_iter().map(|mut it| {
    ///         if it.name == "lookup_account" {
    ///             it.response["card"] = json!("[withheld]");
    ///             state.set("account_seen", true);
    ///         }
    ///         it
    ///     }).collect()
    /// });
    /// # let _ = agent;
    /// ```
    pub fn before_tool_response<F, Fut>(mut self, hook: F) -> Agent
    where
        F: Fn(Vec<FunctionResponse>, State) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<FunctionResponse>> + Send + 'static,
    {
        self.hooks.change_responses(hook);
        self
    }

    /// Sets the execution mode of the tool `name`, which must exist.
    ///
    /// [`T::background`](crate::tool::T::background) sets it as a policy; here the texts can be
    /// set, too.
    pub fn tool_execution_mode(
        mut self,
        name: impl Into<String>,
        mode: ToolExecutionMode,
    ) -> Agent {
        self.modes.push((name.into(), mode));
        self
    }

    /// Adds a service for the tools of this agent, such as a client, a pool or settings. Tools get
    /// it by its type, from their [`ToolContext`](crate::tool::ToolContext).
    pub fn service<S: std::any::Any + Send + Sync>(mut self, service: S) -> Agent {
        self.services = self.services.with(service);
        self
    }

    /// Sets the wrapper of responses to the model.
    pub fn response_shape(mut self, shape: ResponseShape) -> Agent {
        self.response = shape;
        self
    }

    /// Sets the model's capabilities, if [`Capabilities::of`] does not know them.
    ///
    /// ```
    /// use recount::live::Capabilities;
    /// use recount::prelude::*;
    ///
    /// let model = "gemini-3.8-live";
    /// let mut capabilities = Capabilities::of_model(model);
    /// capabilities.code_execution = true;
    /// let agent = Agent::new().model(model).tools(T::code_execution()).capabilities(capabilities);
    /// # let _ = agent;
    /// ```
    pub fn capabilities(mut self, capabilities: Capabilities) -> Agent {
        self.capabilities = Some(capabilities);
        self
    }

    /// Seals the records and objects of its sessions, each session under its own key. The engine
    /// needs a [key store](crate::engine::EngineBuilder::keys). An existing session stays as it
    /// began.
    pub fn sealed(mut self) -> Agent {
        self.sealed = true;
        self
    }

    pub(in crate::engine) fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Sets the delivery of outcomes of calls that end while the session has no connection. The
    /// default is parked.
    pub fn on_settled(mut self, choice: OnSettled) -> Agent {
        self.on_settled = choice;
        self
    }

    /// Sets the time of silence that ends a connection
    /// [opened to deliver an outcome](Agent::on_settled); 60 s by default.
    ///
    /// The session's task then ends, too. Audio counts as activity. A session with a handle keeps
    /// its connection.
    pub fn idle_fold_after(mut self, silence: Duration) -> Agent {
        self.idle_fold_after = Some(silence);
        self
    }

    /// Sets the policy for reconnecting after the loss of a connection.
    pub fn reconnects(mut self, reconnects: Reconnects) -> Agent {
        self.reconnects = reconnects;
        self
    }

    /// Sets the maximum time for the setup of a connection, 15 s by default. Some services refuse
    /// an option by sending nothing.
    pub fn setup_timeout(mut self, limit: Duration) -> Agent {
        self.setup_timeout = Some(limit);
        self
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.model)
            .field("transcripts", &self.hooks.transcripts)
            .finish_non_exhaustive()
    }
}
