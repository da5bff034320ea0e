//! Conversion of the library's errors into problems.

use recount::engine;
use recount::ledger;
use recount::replay::NoState;
use recount_journal::{self as journal, causes};
use recount_notify::DeadLetterError;

use super::codes::Code;
use super::problem::Problem;

impl From<engine::Error> for Problem {
    fn from(error: engine::Error) -> Problem {
        let detail = match &error {
            // The text of the library lists the registered agents, which may be foreign.
            engine::Error::UnknownAgent { name, .. } => format!("there is no agent {name:?}"),
            error => causes(error),
        };
        let code = match error {
            engine::Error::Refused(rejection) => Code::of_refusal(rejection.code()),
            engine::Error::RefusedElsewhere(refusal) => return (*refusal).into(),
            engine::Error::HoldRefused(refusal) => Code::of_refusal(refusal.code()),
            engine::Error::Ledger(error) => return error.into(),
            engine::Error::Connect(_) | engine::Error::NotConnected { .. } => Code::NotConnected,
            engine::Error::Configuration { .. } | engine::Error::OtherKeyStore { .. } => {
                Code::Configuration
            }
            engine::Error::UnknownAgent { .. } => Code::UnknownAgent,
            engine::Error::UnknownRequest { .. } => Code::UnknownRequest,
            engine::Error::UnknownCall { .. } => Code::UnknownCall,
            engine::Error::Message(_) | engine::Error::PartlyTaken { .. } => Code::ClientMessage,
            engine::Error::WrongId { .. } => Code::WrongId,
            engine::Error::HookMissing { .. } => Code::HookMissing,
            engine::Error::PauseUnconfirmed { .. } => Code::PauseUnconfirmed,
            engine::Error::ShutDown => Code::Draining,
            engine::Error::Stopped {
                unwritable: true, ..
            } => Code::JournalUnavailable,
            // The error is not exhaustive for other crates.
            _ => Code::Engine,
        };
        Problem::new(code, detail)
    }
}

impl From<ledger::Error> for Problem {
    fn from(error: ledger::Error) -> Problem {
        let detail = causes(&error);
        let code = match error {
            ledger::Error::Journal(error) => code_of_journal(&error),
            ledger::Error::Sealed { .. } | ledger::Error::NoKeyStore { .. } => Code::Sealed,
            ledger::Error::Seal(_) => Code::KeyStore,
            ledger::Error::Unreadable { .. } => Code::Unreadable,
            ledger::Error::NewerRules { .. } => Code::NewerRules,
            ledger::Error::UnknownField { .. } => Code::UnknownField,
            ledger::Error::Malformed { .. } | ledger::Error::MissingObject { .. } => Code::Damaged,
            ledger::Error::UnknownSession { .. } => Code::UnknownSession,
            ledger::Error::Unwritable { .. } | ledger::Error::Endless { .. } => Code::Broken,
            _ => Code::Journal,
        };
        Problem::new(code, detail)
    }
}

impl From<DeadLetterError> for Problem {
    fn from(error: DeadLetterError) -> Problem {
        let code = match error {
            DeadLetterError::UnknownSink { .. } => Code::UnknownSink,
            DeadLetterError::UnknownLetter { .. } => Code::UnknownLetter,
            // A task that has ended cannot take requests. The error is not exhaustive.
            _ => Code::Engine,
        };
        Problem::new(code, error.to_string())
    }
}

impl From<journal::Error> for Problem {
    fn from(error: journal::Error) -> Problem {
        ledger::Error::from(error).into()
    }
}

impl From<NoState> for Problem {
    fn from(error: NoState) -> Problem {
        match error {
            NoState::Ledger(error) => error.into(),
            error => Problem::new(Code::NoSuchRecord, error.to_string()),
        }
    }
}

fn code_of_journal(error: &journal::Error) -> Code {
    match error {
        journal::Error::NoSpace { .. } => Code::NoSpace,
        journal::Error::Closed => Code::Draining,
        journal::Error::ReadOnly | journal::Error::Lossy { .. } => Code::NotWritable,
        // What the request has written may be on record.
        journal::Error::Poisoned { .. } | journal::Error::Io { .. } => Code::JournalUnavailable,
        journal::Error::Conflict { .. } => Code::Conflict,
        journal::Error::Owned { .. } => Code::Owned,
        journal::Error::Fenced { .. } => Code::Fenced,
        journal::Error::TooLarge { .. } => Code::TooLarge,
        journal::Error::TooDeep { .. } => Code::TooDeep,
        journal::Error::Damaged { .. } | journal::Error::Index { .. } => Code::Damaged,
        _ => Code::Journal,
    }
}
