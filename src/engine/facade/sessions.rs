//! The creation of sessions.

use std::collections::BTreeMap;

use crate::engine::error::Error;
use crate::engine::facade::handle::LiveHandle;
use crate::engine::notify::callbacks::Callbacks;
use crate::engine::program::PROGRAM;
use crate::engine::serving::engine::Engine;
use crate::engine::task::session_task::Begin;
use crate::session::{Actor, RULES_MIN, SessionId, SessionOpened, unfit};

/// The builder of a new session.
pub struct NewSession {
    engine: Engine,
    agent: String,
    external_id: Option<String>,
    on_behalf_of: Option<String>,
    labels: BTreeMap<String, String>,
    callbacks: Callbacks,
    id: Option<SessionId>,
}

impl Engine {
    /// Creates a builder for a session of the agent `agent`.
    pub fn session(&self, agent: impl Into<String>) -> NewSession {
        NewSession::new(self.clone(), agent.into())
    }
}

impl NewSession {
    pub(in crate::engine) fn new(engine: Engine, agent: String) -> NewSession {
        NewSession {
            engine,
            agent,
            external_id: None,
            on_behalf_of: None,
            labels: BTreeMap::new(),
            callbacks: Callbacks::new(),
            id: None,
        }
    }

    /// Sets the id of the session, in place of a new one by the engine's clock. No session may have
    /// it: opening one that is on record fails, and changes nothing.
    pub fn id(mut self, id: SessionId) -> NewSession {
        self.id = Some(id);
        self
    }

    /// Sets the caller's id for the session, which every listing contains.
    pub fn external_id(mut self, id: impl Into<String>) -> NewSession {
        self.external_id = Some(id.into());
        self
    }

    /// Sets the principal for whom the agent acts. Approvers see it.
    pub fn on_behalf_of(mut self, name: impl Into<String>) -> NewSession {
        self.on_behalf_of = Some(name.into());
        self
    }

    /// Adds a label by which the session can be found.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> NewSession {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Sets closures for the events of the conversation from its start; see [`LiveHandle::attend`].
    pub fn callbacks(mut self, callbacks: Callbacks) -> NewSession {
        self.callbacks = callbacks;
        self
    }

    /// Opens the session and connects.
    ///
    /// # Errors
    /// If the agent is unknown, the journal cannot be written, or the connection cannot be opened.
    pub async fn connect(self) -> Result<LiveHandle, Error> {
        let handle = self.begin()?;
        if let Err(error) = handle.connect().await {
            // The caller never gets the session's id, so the session must not stay open.
            let by = Actor::embedder(PROGRAM);
            let _ = handle.close("the connection could not be opened", by).await;
            return Err(error);
        }
        Ok(handle)
    }

    /// Opens the session without a connection, for calls that the program makes itself; see
    /// [`LiveHandle::call_function`].
    ///
    /// # Errors
    /// If the agent is unknown or the journal cannot be written.
    pub async fn open(self) -> Result<LiveHandle, Error> {
        let handle = self.begin()?;
        // The session is recorded before the caller gets it.
        handle.session().await?;
        Ok(handle)
    }

    fn begin(self) -> Result<LiveHandle, Error> {
        self.engine.expect_room()?;
        let agent = self.engine.agent(&self.agent)?;
        let opened = SessionOpened {
            agent: self.agent,
            external_id: self.external_id,
            on_behalf_of: self.on_behalf_of,
            labels: self.labels,
            rules: RULES_MIN,
            program: PROGRAM.to_owned(),
        };
        // A session without a first record could never be opened again.
        if let Some(rejection) = unfit(&opened.clone().into()) {
            return Err(Error::Refused(rejection));
        }
        let new_session = || self.engine.inner.clock.new_session();
        let id = self.id.unwrap_or_else(new_session);
        let mut handle = self.engine.handle(id, agent, Begin::Open(opened));
        handle.attend(self.callbacks);
        Ok(handle)
    }
}
