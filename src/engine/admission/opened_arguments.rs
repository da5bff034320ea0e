//! The arguments of a call as its tool gets them, with sealed values opened.

use recount_journal::seal::SessionKey;

use crate::ledger::{self, open_arguments};
use crate::session::{Call, Json, SessionId};
use crate::tool::ToolError;

/// Returns these arguments of the call with their sealed parts in clear.
pub(in crate::engine) fn opened(
    session: SessionId,
    key: Option<&SessionKey>,
    call: &Call,
    args: &Json,
) -> Result<Json, ToolError> {
    if call.sealed_args.is_empty() {
        return Ok(args.clone());
    }
    let opened = key
        .ok_or(ledger::Error::Sealed { session })
        .and_then(|key| open_arguments(key, &call.name, args, &call.sealed_args));
    match opened {
        Ok(args) => Ok(args),
        Err(error) => {
            tracing::error!(%session, %error, "sealed arguments cannot be opened");
            let told = "the secret arguments of the call cannot be opened; it did not run";
            Err(ToolError::ExecutionFailed(told.to_owned()))
        }
    }
}
