//! A live session built in one expression.

use std::path::PathBuf;
use std::sync::Arc;

use recount_journal::seal::KeyStore;

use crate::engine::agents::agent::Agent;
use crate::engine::agents::extractors::Turn;
use crate::engine::agents::phases::PhaseBuilder;
use crate::engine::agents::transcripts::Transcripts;
use crate::engine::notify::callbacks::Callbacks;
use crate::engine::serving::engine::Engine;
use crate::live::{Capabilities, Modality};
use crate::session::{FunctionResponseScheduling, ResponseShape, Speaker};
use crate::tool::{
    ConfirmationProvider, FunctionCall, FunctionResponse, ResultFormatter, State, T,
    ToolExecutionMode, Toolset,
};

/// The entry point of the fluent construction of a live session.
pub struct Live;

impl Live {
    /// Creates a builder for a live session.
    ///
    /// **Without [`journal`](LiveBuilder::journal) and without a confirmation provider, tools under
    /// [`T::confirm`] run without approval**, unless the session is
    /// [`strict`](LiveBuilder::strict).
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// let live = Live::builder()
    ///     .model("gemini-3.8-live")
    ///     .instruction("You are the support desk.")
    ///     .tools(T::simple("ping", "Answers pong", |_| async { Ok(json!("pong")) }))
    ///     .journal("./journal")
    ///     .connect_to("ws://127.0.0.1:8787")
    ///     .await?;
    /// live.send_text("Hello!").await
    /// # }
    /// ```
    pub fn builder() -> LiveBuilder {
        LiveBuilder {
            agent: Agent::new(),
            name: "live".to_owned(),
            journal: None,
            engine: None,
            keys: None,
            external_id: None,
            on_behalf_of: None,
            labels: Vec::new(),
            callbacks: Callbacks::new(),
        }
    }
}

/// The builder of a live session.
pub struct LiveBuilder {
    pub(in crate::engine) agent: Agent,
    pub(super) name: String,
    pub(super) journal: Option<PathBuf>,
    pub(super) engine: Option<Engine>,
    pub(super) keys: Option<Arc<dyn KeyStore>>,
    pub(super) external_id: Option<String>,
    pub(super) on_behalf_of: Option<String>,
    pub(super) labels: Vec<(String, String)>,
    pub(super) callbacks: Callbacks,
}

impl LiveBuilder {
    /// Sets the model, such as `gemini-3.8-live`.
    pub fn model(mut self, model: impl Into<String>) -> LiveBuilder {
        self.agent = self.agent.model(model);
        self
    }

    /// Sets the system instruction.
    pub fn instruction(mut self, instruction: impl Into<String>) -> LiveBuilder {
        self.agent = self.agent.instruction(instruction);
        self
    }

    /// Sets the modality of the model's output; see [`Agent::modality`].
    pub fn modality(mut self, modality: Modality) -> LiveBuilder {
        self.agent = self.agent.modality(modality);
        self
    }

    /// Sets the model's voice, such as `Kore`.
    pub fn voice(mut self, voice: impl Into<String>) -> LiveBuilder {
        self.agent = self.agent.voice(voice);
        self
    }

    /// Sets the language that the model speaks, such as `de-DE`.
    pub fn language(mut self, code: impl Into<String>) -> LiveBuilder {
        self.agent = self.agent.language(code);
        self
    }

    /// Transcribes speech; see [`Agent::transcription`].
    pub fn transcription(mut self) -> LiveBuilder {
        self.agent = self.agent.transcription();
        self
    }

    /// Makes the program mark the user's activity; see [`Agent::manual_activity`].
    pub fn manual_activity(mut self) -> LiveBuilder {
        self.agent = self.agent.manual_activity();
        self
    }

    /// Withholds live input while the model waits for a response; see
    /// [`Agent::withhold_input_during_calls`].
    pub fn withhold_input_during_calls(mut self) -> LiveBuilder {
        self.agent = self.agent.withhold_input_during_calls();
        self
    }

    /// Adds tools, joined by `|`.
    pub fn tools(mut self, tools: impl Into<Toolset>) -> LiveBuilder {
        self.agent = self.agent.tools(tools);
        self
    }

    /// Adds tools, as [`tools`](LiveBuilder::tools) does.
    pub fn with_tools(self, tools: impl Into<Toolset>) -> LiveBuilder {
        self.tools(tools)
    }

    /// Lets the service search the web itself; see [`T::google_search`].
    pub fn google_search(self) -> LiveBuilder {
        self.tools(T::google_search())
    }

    /// Lets the service run code that the model writes; see [`T::code_execution`].
    pub fn code_execution(self) -> LiveBuilder {
        self.tools(T::code_execution())
    }

    /// Lets the service read web pages named in the conversation; see [`T::url_context`].
    pub fn url_context(self) -> LiveBuilder {
        self.tools(T::url_context())
    }

    /// Sets the model's capabilities; see [`Agent::capabilities`].
    pub fn capabilities(mut self, capabilities: Capabilities) -> LiveBuilder {
        self.agent = self.agent.capabilities(capabilities);
        self
    }

    /// Sets the confirmation provider of this process.
    pub fn confirmation_provider(mut self, provider: Arc<dyn ConfirmationProvider>) -> LiveBuilder {
        self.agent = self.agent.confirmation_provider(provider);
        self
    }

    /// Runs a tool in the background: the model continues, and gets the result when it is idle.
    pub fn tool_background(self, name: impl Into<String>) -> LiveBuilder {
        self.background(name, None, None)
    }

    /// Runs a tool in the background as [`tool_background`](LiveBuilder::tool_background) does,
    /// with a schedule for the result.
    pub fn tool_background_with_scheduling(
        self,
        name: impl Into<String>,
        scheduling: FunctionResponseScheduling,
    ) -> LiveBuilder {
        self.background(name, None, Some(scheduling))
    }

    /// Runs a tool in the background as [`tool_background`](LiveBuilder::tool_background) does,
    /// with the texts of a formatter.
    pub fn tool_background_with_formatter(
        self,
        name: impl Into<String>,
        formatter: Arc<dyn ResultFormatter>,
    ) -> LiveBuilder {
        self.background(name, Some(formatter), None)
    }

    /// Sets the execution mode of the tool `name`; see [`Agent::tool_execution_mode`].
    pub fn tool_execution_mode(
        mut self,
        name: impl Into<String>,
        mode: ToolExecutionMode,
    ) -> LiveBuilder {
        self.agent = self.agent.tool_execution_mode(name, mode);
        self
    }

    fn background(
        self,
        name: impl Into<String>,
        formatter: Option<Arc<dyn ResultFormatter>>,
        scheduling: Option<FunctionResponseScheduling>,
    ) -> LiveBuilder {
        let mode = ToolExecutionMode::Background {
            formatter,
            scheduling,
        };
        self.tool_execution_mode(name, mode)
    }

    /// Begins a phase of the conversation; see [`PhaseBuilder`].
    pub fn phase(self, name: impl Into<String>) -> PhaseBuilder<LiveBuilder> {
        PhaseBuilder::new(self, name.into(), |mut live, phase| {
            live.agent = live.agent.with_phase(phase);
            live
        })
    }

    /// Adds a hook that reads each turn at its end; see [`Agent::extract`].
    pub fn extract<F, Fut>(mut self, name: impl Into<String>, hook: F) -> LiveBuilder
    where
        F: Fn(Turn, State) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.agent = self.agent.extract(name, hook);
        self
    }

    /// Sets a hook that may answer calls itself; see [`Agent::on_tool_call`].
    pub fn on_tool_call<F, Fut>(mut self, hook: F) -> LiveBuilder
    where
        F: Fn(Vec<FunctionCall>, State) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<Vec<FunctionResponse>>> + Send + 'static,
    {
        self.agent = self.agent.on_tool_call(hook);
        self
    }

    /// Sets a hook that may change responses before they are sent; see
    /// [`Agent::before_tool_response`].
    pub fn before_tool_response<F, Fut>(mut self, hook: F) -> LiveBuilder
    where
        F: Fn(Vec<FunctionResponse>, State) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<FunctionResponse>> + Send + 'static,
    {
        self.agent = self.agent.before_tool_response(hook);
        self
    }

    /// Sets the redaction closure; see [`Agent::redact`].
    pub fn redact(
        mut self,
        redactor: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> LiveBuilder {
        self.agent = self.agent.redact(redactor);
        self
    }

    /// Sets the part of what is said that is recorded; see [`Agent::record_transcripts`].
    pub fn record_transcripts(mut self, transcripts: Transcripts) -> LiveBuilder {
        self.agent = self.agent.record_transcripts(transcripts);
        self
    }

    /// Sets the closure for each piece of the model's text; see [`Callbacks`] for this and the
    /// next.
    pub fn on_text(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> LiveBuilder {
        self.callbacks = self.callbacks.on_text(hear);
        self
    }

    /// Sets the closure for each piece of the model's audio.
    pub fn on_audio(mut self, hear: impl Fn(&[u8]) + Send + Sync + 'static) -> LiveBuilder {
        self.callbacks = self.callbacks.on_audio(hear);
        self
    }

    /// Sets the closure for each piece of a transcript.
    pub fn on_transcript(
        mut self,
        hear: impl Fn(Speaker, &str) + Send + Sync + 'static,
    ) -> LiveBuilder {
        self.callbacks = self.callbacks.on_transcript(hear);
        self
    }

    /// Sets the closure for the end of the model's turn.
    pub fn on_turn_complete(mut self, hear: impl Fn() + Send + Sync + 'static) -> LiveBuilder {
        self.callbacks = self.callbacks.on_turn_complete(hear);
        self
    }

    /// Sets the closure for an interruption of the model by the user.
    pub fn on_interrupted(mut self, hear: impl Fn() + Send + Sync + 'static) -> LiveBuilder {
        self.callbacks = self.callbacks.on_interrupted(hear);
        self
    }

    /// Sets the closure for errors.
    pub fn on_error(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> LiveBuilder {
        self.callbacks = self.callbacks.on_error(hear);
        self
    }

    /// Adds a service for the tools; see [`Agent::service`].
    pub fn service<S: std::any::Any + Send + Sync>(mut self, service: S) -> LiveBuilder {
        self.agent = self.agent.service(service);
        self
    }

    /// Sets the wrapper of responses to the model.
    pub fn response_shape(mut self, shape: ResponseShape) -> LiveBuilder {
        self.agent = self.agent.response_shape(shape);
        self
    }

    /// Makes gated calls wait for an approver even if the journal is not durable.
    pub fn strict(mut self) -> LiveBuilder {
        self.agent = self.agent.strict();
        self
    }

    /// Runs gated calls without approval. The journal records that for each.
    pub fn unenforced_confirmations(mut self) -> LiveBuilder {
        self.agent = self.agent.unenforced_confirmations();
        self
    }

    /// Sets the agent's name in the session; `live` by default.
    pub fn agent_name(mut self, name: impl Into<String>) -> LiveBuilder {
        self.name = name.into();
        self
    }

    /// Sets the directory of the journal. Without one, and without an engine, the session is lost
    /// with its handle.
    pub fn journal(mut self, path: impl Into<PathBuf>) -> LiveBuilder {
        self.journal = Some(path.into());
        self
    }

    /// Sets the key store of the session's own engine; see
    /// [`EngineBuilder::keys`](crate::engine::EngineBuilder::keys).
    pub fn keys(mut self, keys: Arc<dyn KeyStore>) -> LiveBuilder {
        self.keys = Some(keys);
        self
    }

    /// Seals the session's records; see [`Agent::sealed`].
    pub fn sealed(mut self) -> LiveBuilder {
        self.agent = self.agent.sealed();
        self
    }

    /// Sets an existing engine for the session, with its own journal and keys.
    ///
    /// The agent is registered there under [`agent_name`](LiveBuilder::agent_name), once. Further
    /// sessions of it begin with [`Engine::session`].
    pub fn engine(mut self, engine: &Engine) -> LiveBuilder {
        self.engine = Some(engine.clone());
        self
    }

    /// Sets the caller's id for the session, which every listing contains.
    pub fn external_id(mut self, id: impl Into<String>) -> LiveBuilder {
        self.external_id = Some(id.into());
        self
    }

    /// Sets the principal for whom the agent acts. Approvers see it.
    pub fn on_behalf_of(mut self, name: impl Into<String>) -> LiveBuilder {
        self.on_behalf_of = Some(name.into());
        self
    }

    /// Adds a label by which the session can be found.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> LiveBuilder {
        self.labels.push((key.into(), value.into()));
        self
    }
}
