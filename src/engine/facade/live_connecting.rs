//! The end of a builder of a live session: its engine opens, and the session connects.

use std::sync::Arc;

use crate::engine::error::Error;
use crate::engine::facade::handle::LiveHandle;
use crate::engine::facade::live::LiveBuilder;
use crate::engine::facade::live_session_builder::SessionConfig;
use crate::engine::serving::engine::Engine;
use crate::live::{Connector, Endpoint, TokenSource};

impl LiveBuilder {
    /// Connects with a configuration: its model, its instruction if it has one, and its endpoint.
    ///
    /// # Errors
    /// Those of [`connect_to`](LiveBuilder::connect_to).
    pub async fn connect(mut self, config: SessionConfig) -> Result<LiveHandle, Error> {
        let SessionConfig {
            model,
            instruction,
            connector,
        } = config;
        self = self.model(model);
        if let Some(instruction) = instruction {
            self = self.instruction(instruction);
        }
        self.connect_shared(connector).await
    }

    /// Connects to a gateway or simulator at a URL.
    ///
    /// # Errors
    /// Every mistake of the configuration at once; any error in opening the journal or the
    /// connection.
    pub async fn connect_to(self, endpoint: impl Into<Endpoint>) -> Result<LiveHandle, Error> {
        self.connect_with(endpoint.into()).await
    }

    /// Connects to Google AI with an API key.
    ///
    /// # Errors
    /// Those of [`connect_to`](LiveBuilder::connect_to).
    pub async fn connect_google_ai(self, key: impl Into<String>) -> Result<LiveHandle, Error> {
        self.connect_with(Endpoint::google_ai(key)).await
    }

    /// Connects to Vertex: a project, a location such as `us-central1` or `global`, and a source of
    /// OAuth tokens or one token as a string.
    ///
    /// # Errors
    /// Those of [`connect_to`](LiveBuilder::connect_to).
    pub async fn connect_vertex(
        self,
        project: impl Into<String>,
        location: impl Into<String>,
        token: impl TokenSource,
    ) -> Result<LiveHandle, Error> {
        self.connect_with(Endpoint::vertex(project, location, token))
            .await
    }

    /// Connects to Google AI or Vertex as the environment says, with the variable names of the
    /// vendor's libraries; see [`Endpoint::from_env`].
    ///
    /// # Errors
    /// Those of [`connect_to`](LiveBuilder::connect_to). Missing variables are among the mistakes.
    pub async fn connect_from_env(self) -> Result<LiveHandle, Error> {
        match Endpoint::from_env() {
            Ok(endpoint) => self.connect_with(endpoint).await,
            Err(incomplete) => Err(self.mistaken(vec![incomplete.to_string()]).await),
        }
    }

    /// Connects with any connector, such as a scripted model.
    ///
    /// # Errors
    /// Those of [`connect_to`](LiveBuilder::connect_to).
    pub async fn connect_with(self, connector: impl Connector) -> Result<LiveHandle, Error> {
        self.connect_shared(Arc::new(connector)).await
    }

    /// Returns the given mistakes, followed by every mistake of the builder.
    async fn mistaken(self, mut mistakes: Vec<String>) -> Error {
        // Without an endpoint, the agent looks like one that a program drives.
        if self.agent.connector.is_none() {
            mistakes.extend(self.agent.missing_model(&self.name));
        }
        let others = match self.engine {
            Some(engine) => engine.check(&self.name, self.agent),
            None => {
                let mut engine = Engine::in_memory().agent(&self.name, self.agent);
                if let Some(keys) = self.keys {
                    engine = engine.keys(keys);
                }
                engine.open().await.map(drop)
            }
        };
        if let Err(Error::Configuration { mistakes: others }) = others {
            mistakes.extend(others);
        }
        Error::Configuration { mistakes }
    }

    /// Returns the settings that an existing engine would ignore.
    fn ignored_settings(&self) -> Vec<String> {
        let given = [
            (self.journal.is_some(), ".journal(…)"),
            (self.keys.is_some(), ".keys(…)"),
        ];
        let in_vain = given
            .into_iter()
            .filter(|(is_given, _)| *is_given && self.engine.is_some());
        in_vain
            .map(|(_, what)| format!("the engine has its own: leave out {what} beside .engine(…)"))
            .collect()
    }

    async fn connect_shared(mut self, connector: Arc<dyn Connector>) -> Result<LiveHandle, Error> {
        let in_vain = self.ignored_settings();
        if !in_vain.is_empty() {
            self.agent = self.agent.connect_to_shared(connector);
            return Err(self.mistaken(in_vain).await);
        }
        let agent = self.agent.connect_to_shared(connector);
        let engine = match (self.engine, self.journal) {
            (Some(engine), _) => {
                engine.register(&self.name, agent)?;
                engine
            }
            (None, path) => {
                let mut builder = match path {
                    Some(path) => Engine::builder(path),
                    None => Engine::in_memory(),
                };
                if let Some(keys) = self.keys {
                    builder = builder.keys(keys);
                }
                builder.agent(&self.name, agent).open().await?
            }
        };
        let mut session = engine.session(&self.name).callbacks(self.callbacks);
        for (key, value) in self.labels {
            session = session.label(key, value);
        }
        if let Some(name) = self.on_behalf_of {
            session = session.on_behalf_of(name);
        }
        if let Some(id) = self.external_id {
            session = session.external_id(id);
        }
        session.connect().await
    }
}
