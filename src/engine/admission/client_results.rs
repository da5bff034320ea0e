//! The results of clients in the form that the model gets.

use crate::session::{ClaimAction, ClaimCommand, Command, Json, ResponseShape};

/// Puts the result of a client's run into the shape of the agent's responses.
pub(in crate::engine) fn shape(command: &mut Command, shape: ResponseShape) {
    let Command::Claim(ClaimCommand { action, .. }) = command else {
        return;
    };
    match action {
        ClaimAction::Return {
            response,
            failed: None,
            ..
        }
        | ClaimAction::Yield { response } => {
            *response = shape.success_of_text(response, None);
        }
        ClaimAction::Return {
            response,
            failed: Some(reason),
            ..
        } => *response = Json::of(&shape.error("execution_failed", reason)),
        ClaimAction::Claim { .. }
        | ClaimAction::Renew { .. }
        | ClaimAction::End { .. }
        | ClaimAction::Report { .. } => {}
    }
}
