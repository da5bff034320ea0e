//! What is sealed on its way to the record, and opened on its way to a tool.

use crate::engine::admission::opened_arguments::opened;
use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::ledger::{self, Seal, open_arguments, seal_arguments};
use crate::session::{
    Call, HANDLE_LIFE_MS, Json, Observation, ResumptionHandle, ResumptionHandleReceived,
};
use crate::tool::ToolError;

impl SessionTask {
    /// How the records of a new session are written.
    pub(in crate::engine) async fn new_seal(&self) -> Result<Seal, Error> {
        let bodies = self.agent.sealed;
        let key = if bodies {
            Some(self.stream.create_key().await?)
        } else {
            None
        };
        Ok(Seal { key, bodies })
    }

    /// Seals the secret arguments of the calls among `observations`, so that nothing that follows
    /// ever sees them.
    pub(in crate::engine) async fn seal_secrets(
        &mut self,
        observations: &mut [Observation],
    ) -> Result<(), Error> {
        for observation in observations {
            if let Observation::FunctionCallReceived(call) = observation {
                let name = call.name.as_deref().unwrap_or_default();
                let secret = self.agent.dispatcher.secret_arguments(name).to_vec();
                if !secret.is_empty() {
                    if self.stream.seal.key.is_none() {
                        self.stream.seal.key = Some(self.stream.create_key().await?);
                    }
                    let no_key_store = ledger::Error::NoKeyStore { session: self.id };
                    let key = self.stream.seal.key.as_ref().ok_or(no_key_store)?;
                    seal_arguments(key, call, &secret)?;
                    // It holds the secrets in clear, and all that it says stands in the arguments
                    // read out of it.
                    call.original_args = None;
                }
            } else if let Observation::ResumptionHandleReceived(it) = observation {
                expires(it, self.shared.clock.now());
            }
        }
        Ok(())
    }

    /// Keeps a handle: in memory, and in the side store if there is one. Its record is durable by
    /// now.
    pub(in crate::engine) async fn keep_handle(&mut self, handle: &ResumptionHandle) {
        let newest = self.stream.session.resumption.as_ref();
        if newest.is_none_or(|it| it.fingerprint != handle.fingerprint()) {
            // The service gave it and said at the same time that it is none.
            return;
        }
        self.connections.reconnecting.handle = Some(handle.clone());
        if self.stream.ledger.keys().is_none() {
            return;
        }
        // Without it the conversation cannot be resumed by its handle, and everything else goes on.
        if let Err(error) = self
            .stream
            .ledger
            .keep_resumption_handle(self.id, handle)
            .await
        {
            tracing::warn!(session = %self.id, %error, "the resumption handle was not kept");
        }
    }

    /// Looks for the handle that a process before this one kept.
    pub(in crate::engine) async fn recall_handle(&mut self) {
        if self.connections.reconnecting.handle.is_some()
            || self.stream.session.resumption.is_none()
        {
            return;
        }
        match self.stream.ledger.resumption_handle(self.id).await {
            Ok(handle) => self.connections.reconnecting.handle = handle,
            // A fresh conversation is told of this one.
            Err(error) => {
                tracing::warn!(session = %self.id, %error, "the resumption handle was not found");
            }
        }
    }

    /// Forgets the handle of a conversation that has ended, or is out of reach.
    pub(in crate::engine) async fn discard_handle(&mut self) {
        self.connections.reconnecting.handle = None;
        if let Err(error) = self.stream.ledger.discard_resumption_handle(self.id).await {
            tracing::warn!(session = %self.id, %error, "the resumption handle was not discarded");
        }
    }
}

impl Stream {
    /// The arguments as the model sent them, for the tool alone.
    pub(in crate::engine) fn opened_arguments(&self, call: &Call) -> Result<Json, ToolError> {
        opened(self.session.id, &self.seal, call, &call.args)
    }

    /// The arguments of a call of this tool, with what is sealed in clear.
    pub(in crate::engine) fn opened_args(
        &self,
        tool: &str,
        args: &Json,
        sealed: &[String],
    ) -> Result<Json, ledger::Error> {
        let key = self.seal.key.as_ref();
        let key = key.ok_or(ledger::Error::Sealed {
            session: self.session.id,
        })?;
        open_arguments(key, tool, args, sealed)
    }
}

fn expires(it: &mut ResumptionHandleReceived, now: crate::session::Timestamp) {
    it.expires_at_us = it
        .fingerprint
        .as_ref()
        .map(|_| now.after_ms(HANDLE_LIFE_MS));
}
