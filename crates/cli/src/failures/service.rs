//! What a command says when a running service cannot be reached, or says no.

use super::failure::{Exit, Failure, IN_USE};
use crate::text::{age, one_line};
use recount::control::{ConnectError, Problem, Refusal, Unanswered};
use recount::session::FoundAs;

/// Why the service of a journal that is in use does not help.
pub(crate) fn out_of_reach(in_use: Failure, error: &ConnectError) -> Failure {
    let what = one_line(&error.to_string()).into_owned();
    match error {
        ConnectError::NotOffered => in_use,
        ConnectError::Gone { .. } => Failure::new(IN_USE, format!("{}; {what}", in_use.what))
            .advice("a service that is gone has left the file CONTROL; ask whoever has the journal open now, or stop it first"),
        ConnectError::NotYours { owner, .. } => Failure::new("control-token", what)
            .advice(format!("run this as {}, who runs the service", one_line(owner))),
        ConnectError::TokenExposed { .. } => Failure::new("control-token", what)
            .advice("others may know the token; restart the service, which makes a new one"),
        ConnectError::Unreadable { .. } => Failure::new("control", what)
            .advice("restart the service that has the journal open; it writes the file anew"),
        ConnectError::Unproven(_) => Failure::new("control", what)
            .advice("nothing was asked there; where a service is about to start, try again"),
        ConnectError::Busy { .. } => Failure::new("control-busy", what)
            .advice("end a command that is connected, or try again in a minute: who asks for nothing is sent away"),
        ConnectError::Refused { .. } => Failure::new("control", what)
            .advice("the service may just have been replaced by another; try again"),
        ConnectError::Silent { .. } => Failure::new("control", what)
            .advice("if that is the service, it hangs; nothing was asked there"),
        _ => Failure::new("control", what),
    }
}

/// Why the service gave no good answer.
pub(crate) fn unanswered(pid: u32, error: Unanswered) -> Failure {
    match error {
        Unanswered::Refused(refusal) => refused(&refusal),
        Unanswered::Failed(problem) => failed(
            &problem,
            "the running service has no key for it; `recount verify` needs none",
        ),
        Unanswered::TooLarge { .. } => Failure::new("too-large", error.to_string())
            .exit(Exit::Refused)
            .advice(
                "nothing is decided, and another may count; what goes on record is 3 MiB at most",
            ),
        Unanswered::Ended => lost(format!("the service (pid {pid}) ended before it answered")),
        Unanswered::Lost(why) => lost(format!(
            "the connection to the service (pid {pid}) was lost: {}",
            one_line(&why)
        )),
        _ => lost(format!("the service (pid {pid}): {error}")),
    }
}

fn lost(what: String) -> Failure {
    Failure::new("service-lost", what)
        .advice("`recount log PATH SESSION` shows whether it is on record")
}

/// Why the service, or whoever read an answer here, could not do what was asked.
pub(crate) fn failed(problem: &Problem, sealed_advice: &str) -> Failure {
    let what = one_line(&problem.text).into_owned();
    match problem.code.as_str() {
        "unknown_request" => {
            Failure::new("unknown-request", what).advice("`recount pending PATH` lists what waits")
        }
        "unknown_call" => Failure::new("unknown-call", what),
        "unknown_agent" => Failure::new("unknown-agent", what),
        "unknown_session" => {
            Failure::new("unknown-session", what).advice("`recount sessions PATH` lists them")
        }
        "unknown_user" => {
            Failure::new("unknown-user", what).advice("say who you are with --as NAME")
        }
        "hook_missing" => Failure::new("hook-missing", what),
        "no_space" => Failure::new("no-space", what)
            .advice("make room on the disk of the journal, then try again"),
        "sealed" => Failure::new("sealed", what)
            .exit(Exit::Sealed)
            .advice(sealed_advice),
        "journal" => Failure::new("journal", what),
        "bad_json" | "bad_request" => Failure::new("bad-request", what).exit(Exit::Usage),
        _ => Failure::new("engine", what),
    }
}

/// What was decided instead, by whom, when, and where that stands.
pub(crate) fn refused(refusal: &Refusal) -> Failure {
    let what = match (&refusal.by, refusal.confirmed, refusal.code.as_str()) {
        (Some(by), Some(confirmed), _) => {
            let said = match refusal.found {
                Some(FoundAs::Done) => "settled as done",
                Some(FoundAs::Failed) => "settled as failed",
                None if confirmed => "approved",
                None => "denied",
            };
            format!("the request was {said} by {}", by)
        }
        (_, _, "request_expired") => {
            "nobody answered the request in time, so it was denied".to_owned()
        }
        (_, _, _) => refusal.text.clone(),
    };
    let mut text = one_line(&what).into_owned();
    if let Some(at) = refusal.at {
        if let Some(at) = refusal.at_us {
            text.push_str(&format!(" at {}", age::moment(at)));
        }
        text.push_str(&format!(", seq {at} of session {}", refusal.session));
    }
    let advice = match refusal.instead {
        Some(request) => format!("answer the request {request} instead"),
        None if refusal.leaves_open => {
            "nothing is decided, and another may count; `recount pending PATH` shows what waits"
                .to_owned()
        }
        None if refusal.by.is_some() => {
            "the first answer counts; this one changed nothing".to_owned()
        }
        None => match refusal.code.as_str() {
            "unknown_call" => "a call is named by the seq of its own record, which is not that of its question: `recount log PATH SESSION` shows it; this one changed nothing".to_owned(),
            "call_settled" => "this one changed nothing; of a call whose outcome is unknown, or whose time was up, `recount reconcile` says what became of it".to_owned(),
            _ => "this one changed nothing".to_owned(),
        },
    };
    Failure::new(refusal.code.replace('_', "-"), text)
        .exit(Exit::Refused)
        .advice(advice)
}
