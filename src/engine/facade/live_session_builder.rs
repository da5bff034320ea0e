//! A session built from a configuration and a dispatcher.

use std::sync::Arc;

use crate::engine::error::Error;
use crate::engine::facade::handle::LiveHandle;
use crate::engine::facade::live::{Live, LiveBuilder};
use crate::live::{Capabilities, Connector};
use crate::tool::{ConfirmationProvider, ToolDispatcher, ToolExecutionMode};

/// The model of a session and its endpoint.
///
/// ```
/// use recount::engine::SessionConfig;
/// use recount::live::Endpoint;
///
/// let config = SessionConfig::new("gemini-3.8-live", Endpoint::google_ai("key"))
///     .instruction("You are the support desk.");
/// ```
#[derive(Clone)]
pub struct SessionConfig {
    pub(in crate::engine) model: String,
    pub(in crate::engine) instruction: Option<String>,
    pub(in crate::engine) connector: Arc<dyn Connector>,
}

impl SessionConfig {
    /// Creates a configuration for a model, such as `gemini-3.8-live`, at an endpoint or any other
    /// connector.
    pub fn new(model: impl Into<String>, connector: impl Connector) -> SessionConfig {
        SessionConfig {
            model: model.into(),
            instruction: None,
            connector: Arc::new(connector),
        }
    }

    /// Sets the system instruction.
    #[must_use]
    pub fn instruction(mut self, instruction: impl Into<String>) -> SessionConfig {
        self.instruction = Some(instruction.into());
        self
    }

    /// True if the model continues while a tool runs in the background; see
    /// [`Capabilities`](crate::live::Capabilities).
    #[must_use]
    pub fn supports_async_tools(&self) -> bool {
        Capabilities::of(self.connector.platform(), &self.model).supports_async_tools()
    }
}

/// The builder of a session from a configuration and a dispatcher, in its own engine with a journal
/// in memory.
///
/// [`Live::builder`] does the same and more. This builder is for a program that already has its
/// configuration and its dispatcher.
///
/// ```no_run
/// # async fn example(
/// #     config: recount::engine::SessionConfig,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// use recount::engine::LiveSessionBuilder;
/// use recount::prelude::*;
///
/// let mut dispatcher = ToolDispatcher::new();
/// dispatcher.register(T::simple("search_kb", "Searches", |_| async { Ok(json!([])) }))?;
/// let live = LiveSessionBuilder::new(config)
///     .dispatcher(dispatcher)
///     .tool_execution_mode("search_kb", ToolExecutionMode::Background { formatter: None, scheduling: None })
///     .connect()
///     .await?;
/// # Ok(()) }
/// ```
pub struct LiveSessionBuilder {
    config: SessionConfig,
    live: LiveBuilder,
}

impl LiveSessionBuilder {
    /// Creates a builder with this configuration and no tools.
    #[must_use]
    pub fn new(config: SessionConfig) -> LiveSessionBuilder {
        let live = Live::builder();
        LiveSessionBuilder { config, live }
    }

    /// Adds the tools of a dispatcher, with its time limit and its confirmation provider.
    #[must_use]
    pub fn dispatcher(mut self, dispatcher: ToolDispatcher) -> LiveSessionBuilder {
        self.live = self.live.tools(dispatcher);
        self
    }

    /// Sets the execution mode of the tool `name`. An unknown name is an error when connecting.
    #[must_use]
    pub fn tool_execution_mode(
        mut self,
        name: impl Into<String>,
        mode: ToolExecutionMode,
    ) -> LiveSessionBuilder {
        self.live = self.live.tool_execution_mode(name, mode);
        self
    }

    /// Withholds live input while the model waits for a response; see
    /// [`Agent::withhold_input_during_calls`](crate::engine::Agent::withhold_input_during_calls).
    #[must_use]
    pub fn withhold_input_during_calls(mut self) -> LiveSessionBuilder {
        self.live = self.live.withhold_input_during_calls();
        self
    }

    /// Sets the confirmation provider of this process.
    #[must_use]
    pub fn confirmation_provider(
        mut self,
        provider: Arc<dyn ConfirmationProvider>,
    ) -> LiveSessionBuilder {
        self.live = self.live.confirmation_provider(provider);
        self
    }

    /// Connects.
    ///
    /// # Errors
    /// Every mistake of the configuration at once; any error in opening the connection.
    pub async fn connect(self) -> Result<LiveHandle, Error> {
        self.live.connect(self.config).await
    }
}
