//! The results of clients in the form that the model gets, and responses from outside.

use crate::session::{ClaimAction, ClaimCommand, Command, Json, ResponseShape, Seq};

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

/// Returns the response for the model that a command contains, with its call.
pub(in crate::engine) fn response_of(command: &mut Command) -> Option<(Seq, &mut Json)> {
    match command {
        Command::SupplyResponse { call, response, .. } => Some((*call, response)),
        Command::Claim(claim) => match &mut claim.action {
            ClaimAction::Return { response, .. } | ClaimAction::Yield { response } => {
                Some((claim.call, response))
            }
            ClaimAction::Claim { .. }
            | ClaimAction::Renew { .. }
            | ClaimAction::End { .. }
            | ClaimAction::Report { .. } => None,
        },
        Command::AnswerConfirmation { .. }
        | Command::ReconcileOutcome { .. }
        | Command::CancelCall { .. }
        | Command::RevokeLeave { .. }
        | Command::ChangeState { .. }
        | Command::Pause(_)
        | Command::Unpause(_)
        | Command::CloseSession { .. } => None,
    }
}

/// Returns the tool that a command names.
pub(in crate::engine) fn named_tool(command: &Command) -> Option<String> {
    match command {
        Command::SupplyResponse { name, .. } => Some(name.clone()),
        Command::Claim(claim) => match &claim.action {
            ClaimAction::Return { name, .. } => Some(name.clone()),
            ClaimAction::Claim { .. }
            | ClaimAction::Renew { .. }
            | ClaimAction::End { .. }
            | ClaimAction::Yield { .. }
            | ClaimAction::Report { .. } => None,
        },
        Command::AnswerConfirmation { .. }
        | Command::ReconcileOutcome { .. }
        | Command::CancelCall { .. }
        | Command::RevokeLeave { .. }
        | Command::ChangeState { .. }
        | Command::Pause(_)
        | Command::Unpause(_)
        | Command::CloseSession { .. } => None,
    }
}
