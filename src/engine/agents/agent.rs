//! An agent: a named bundle of code that sessions are served by.
//!
//! Code is not in the journal, so a session names its agent, and whoever opens the journal
//! registers it again.

use std::sync::Arc;
use std::time::Duration;

use super::extractors::{Extractor, Turn};
use super::heard::HeardAs;
use super::hooks::AgentHooks;
use super::phases::PhaseBuilder;
use super::policies::CallLimits;
use super::reconnects::Reconnects;
use crate::fixture::Recording;
use crate::live::manner::Manner;
use crate::live::{Capabilities, Connector, Modality};
use crate::session::{Gates, OnSettled, PhaseDeclaration, PolicyChanges, PolicySet, ResponseShape};
use crate::tool::{
    ConfirmationProvider, FunctionCall, FunctionResponse, GateChoice, Services, State,
    ToolExecutionMode, Toolset,
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
    pub(super) reconnects: Reconnects,
    pub(in crate::engine) setup_timeout: Option<Duration>,
    pub(in crate::engine) withholds_input: bool,
    /// What holds, whatever the rest says: that of a record which is played.
    pub(in crate::engine) on_record: Option<PolicySet>,
    /// The gates of that record.
    pub(super) gates_on_record: Option<Gates>,
    /// The reader of frames of that record whose words are on no record.
    pub(super) heard_as: Option<HeardAs>,
    /// Where its sessions are recorded, and whether there is only one.
    pub(in crate::engine) recording: Option<(Recording, bool)>,
}

impl Agent {
    /// An agent without anything.
    pub fn new() -> Agent {
        Agent::default()
    }

    /// The model, such as `gemini-3.8-live`.
    pub fn model(mut self, model: impl Into<String>) -> Agent {
        self.model = model.into();
        self
    }

    /// What the model is told to be.
    pub fn instruction(mut self, instruction: impl Into<String>) -> Agent {
        self.instruction = Some(instruction.into());
        self
    }

    /// What the model answers with; without it in writing, or aloud where a [`voice`](Agent::voice)
    /// is chosen.
    pub fn modality(mut self, modality: Modality) -> Agent {
        self.manner.modality = Some(modality);
        self
    }

    /// The voice that the model speaks with, such as `Kore`.
    pub fn voice(mut self, voice: impl Into<String>) -> Agent {
        self.manner.voice = Some(voice.into());
        self
    }

    /// The language that the model speaks, such as `de-DE`.
    pub fn language(mut self, code: impl Into<String>) -> Agent {
        self.manner.language = Some(code.into());
        self
    }

    /// Has speech written down, the user's and the model's; the texts are on record.
    pub fn transcription(mut self) -> Agent {
        self.manner.transcribed = true;
        self
    }

    /// The program says when the user begins and stops to speak, by
    /// [`activity_start`](crate::engine::LiveHandle::activity_start) and
    /// [`activity_end`](crate::engine::LiveHandle::activity_end); the service does not listen for
    /// it.
    pub fn manual_activity(mut self) -> Agent {
        self.manner.marks_activity = true;
        self
    }

    /// Adds tools, joined by `|`.
    pub fn tools(mut self, tools: impl Into<Toolset>) -> Agent {
        self.tools = self.tools | tools.into();
        self
    }

    /// Where its sessions connect to.
    pub fn connect_to(mut self, connector: impl Connector) -> Agent {
        self.connector = Some(Arc::new(connector));
        self
    }

    /// As [`connect_to`](Agent::connect_to), for a connector that is shared.
    pub fn connect_to_shared(mut self, connector: Arc<dyn Connector>) -> Agent {
        self.connector = Some(connector);
        self
    }

    /// Who answers confirmation requests in this process; without it, the provider of its
    /// dispatcher does.
    pub fn confirmation_provider(mut self, provider: Arc<dyn ConfirmationProvider>) -> Agent {
        self.provider = Some(provider);
        self
    }

    /// Gated calls wait for a person even where nothing durable remembers them.
    pub fn strict(mut self) -> Agent {
        self.gates = GateChoice::Strict;
        self
    }

    /// Gated calls run without asking; the journal says so for each.
    pub fn unenforced_confirmations(mut self) -> Agent {
        self.gates = GateChoice::Unenforced;
        self
    }

    /// Begins to describe a phase of the conversation; see [`PhaseBuilder`].
    pub fn phase(self, name: impl Into<String>) -> PhaseBuilder<Agent> {
        PhaseBuilder::new(self, name.into(), Agent::with_phase)
    }

    pub(in crate::engine) fn with_phase(mut self, phase: PhaseDeclaration) -> Agent {
        self.phases.push(phase);
        self
    }

    /// A hook that reads what was said, at the end of every turn of the model, and writes to the
    /// state.
    ///
    /// What it writes is one change on record, by the hook's name. It runs beside the conversation
    /// and has 30 seconds; one that a crash cuts off is not run again.
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

    /// A hook that sees the calls of a message before anything else does, and may answer them
    /// itself.
    ///
    /// Its responses are sent as they are, on record as its own; calls that it leaves out take
    /// their course, and so do all of them where it gives `None`. What it answers runs no tool and
    /// asks nobody. It has 30 seconds; one that panics or takes longer has its calls refused. Calls
    /// that a phase rules out or whose arguments do not fit it does not see.
    ///
    /// A hook that a crash cuts off may have done the work, so its calls are in doubt, as
    /// [`T::in_doubt`] says.
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
    ///         responses.push(FunctionResponse { name: call.name.clone(), response, id: call.id.clone() });
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

    /// A hook that sees every response before it is on record and before the model gets it:
    /// results, acknowledgements, news, supplied responses and errors.
    ///
    /// What it gives back is what goes on record and what is sent; what it took out stands nowhere.
    /// It may be shown one response at a time. What is supplied for a call that has its result is
    /// shown to be compared with it, and what the hook writes to the state then is dropped. One
    /// that it gives no answer for, or all where it panics or takes longer than 30 seconds, are
    /// withheld, and the model is told so.
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

    /// How calls of the tool `name` are executed; the name must be that of a tool.
    ///
    /// The policy form is [`T::background`](crate::tool::T::background); here the words may be
    /// chosen, too.
    pub fn tool_execution_mode(
        mut self,
        name: impl Into<String>,
        mode: ToolExecutionMode,
    ) -> Agent {
        self.modes.push((name.into(), mode));
        self
    }

    /// Hands something to the tools of this agent: a client, a pool, settings. They get it by its
    /// type, from their [`ToolContext`](crate::tool::ToolContext).
    pub fn service<S: std::any::Any + Send + Sync>(mut self, service: S) -> Agent {
        self.services = self.services.with(service);
        self
    }

    /// How what the model is answered is wrapped.
    pub fn response_shape(mut self, shape: ResponseShape) -> Agent {
        self.response = shape;
        self
    }

    /// What the model can do, where that is not what [`Capabilities::of`] says.
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

    /// Seals the bodies of its sessions' records, and their objects, each session under a key of
    /// its own; the engine needs a [key store](crate::engine::EngineBuilder::keys). A session that
    /// has begun stays as it began.
    pub fn sealed(mut self) -> Agent {
        self.sealed = true;
        self
    }

    pub(in crate::engine) fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// What becomes of the outcome of a call that ends while its session has no connection; parked
    /// unless set.
    pub fn on_settled(mut self, choice: OnSettled) -> Agent {
        self.on_settled = choice;
        self
    }

    /// How long user and model may be silent on a connection that was [opened to tell an
    /// outcome](Agent::on_settled), before it ends and the session is folded up; 60 s unless set.
    /// Whoever is heard in audio alone is not silent. A session that somebody holds by its handle
    /// is never folded up.
    pub fn idle_fold_after(mut self, silence: Duration) -> Agent {
        self.idle_fold_after = Some(silence);
        self
    }

    /// How its sessions come back after they lost their connection.
    pub fn reconnects(mut self, reconnects: Reconnects) -> Agent {
        self.reconnects = reconnects;
        self
    }

    /// How long the service may take to complete the setup of a connection, 15 s unless set. Some
    /// refuse an option by saying nothing at all.
    pub fn setup_timeout(mut self, limit: Duration) -> Agent {
        self.setup_timeout = Some(limit);
        self
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
