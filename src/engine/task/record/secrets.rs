//! Sealing of secrets before they are recorded, and opening them for a tool.

use crate::engine::admission::opened_arguments::opened;
use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::ledger::{self, Seal, open_arguments, seal_arguments};
use crate::session::{
    Call, HANDLE_LIFE_MS, Json, Observation, ResumptionHandle, ResumptionHandleReceived,
};
use crate::tool::ToolError;
use recount_journal::causes;

impl SessionTask {
    /// Returns the seal of a new session's records.
    pub(in crate::engine) async fn new_seal(&self) -> Result<Seal, Error> {
        let bodies = self.agent.sealed;
        let key = if bodies {
            Some(self.stream.create_key().await?)
        } else {
            None
        };
        Ok(Seal { key, bodies })
    }

    /// Seals the secret arguments of calls, so that no later step sees them in clear.
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
                    // It contains the secrets in clear, and the arguments carry all its data.
                    call.original_args = None;
                }
            } else if let Observation::ResumptionHandleReceived(it) = observation {
                expires(it, self.shared.clock.now());
            }
        }
        Ok(())
    }

    /// Stores a handle in memory and in the side store, if there is one. Its record is durable
    /// already.
    pub(in crate::engine) async fn keep_handle(&mut self, handle: &ResumptionHandle) {
        let newest = self.stream.session.resumption.as_ref();
        if newest.is_none_or(|it| it.fingerprint != handle.fingerprint()) {
            // The service sent the handle and also said that it cannot be resumed.
            return;
        }
        self.connections.reconnecting.handle = Some(handle.clone());
        if self.stream.ledger.keys().is_none() {
            return;
        }
        // Without it the conversation cannot be resumed by its handle. Everything else works.
        if let Err(error) = self
            .stream
            .ledger
            .keep_resumption_handle(self.id, handle)
            .await
        {
            tracing::warn!(
                session = %self.id, error = %causes(&error),
                "the resumption handle was not kept"
            );
        }
    }

    /// Reads the handle that an earlier process stored.
    pub(in crate::engine) async fn recall_handle(&mut self) {
        if self.connections.reconnecting.handle.is_some()
            || self.stream.session.resumption.is_none()
        {
            return;
        }
        match self.stream.ledger.resumption_handle(self.id).await {
            Ok(handle) => self.connections.reconnecting.handle = handle,
            // A fresh conversation gets the history instead.
            Err(error) => {
                tracing::warn!(
                    session = %self.id, error = %causes(&error),
                    "the resumption handle was not found"
                );
            }
        }
    }

    /// Discards the handle of a conversation that has ended or cannot be resumed.
    pub(in crate::engine) async fn discard_handle(&mut self) {
        self.connections.reconnecting.handle = None;
        if let Err(error) = self.stream.ledger.discard_resumption_handle(self.id).await {
            tracing::warn!(
                session = %self.id, error = %causes(&error),
                "the resumption handle was not discarded"
            );
        }
    }
}

impl Stream {
    /// Returns the arguments as the model sent them, for the tool alone.
    pub(in crate::engine) fn opened_arguments(&self, call: &Call) -> Result<Json, ToolError> {
        opened(self.session.id, self.seal.key.as_ref(), call, &call.args)
    }

    /// Returns the arguments of a call with their sealed parts in clear.
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
