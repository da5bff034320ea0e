//! The failures of a command that asks a running service.

use super::failure::{Exit, Failure, IN_USE};
use recount::control::{ConnectError, Problem, Refusal, Unanswered};
use recount::session::FoundAs;
use recount_telling::{acted, age, one_line};

/// The failure to reach the service that has a journal open.
pub(crate) fn out_of_reach(in_use: Failure, error: &ConnectError) -> Failure {
    let what = one_line(&error.to_string()).into_owned();
    match error {
        ConnectError::NotOffered => in_use,
        ConnectError::Gone { .. } => Failure::new(IN_USE, format!("{}; {what}", in_use.what))
            .advice(
                "the file CONTROL is of a service that has ended; use the process that has the \
                 journal open now, or stop it first",
            ),
        ConnectError::NotYours { owner, .. } => {
            Failure::new("control-token", what).advice(format!(
                "run this command as {}, the user of the service",
                one_line(owner)
            ))
        }
        ConnectError::TokenExposed { .. } => Failure::new("control-token", what)
            .advice("other users may know the token; restart the service to get a new one"),
        ConnectError::Unreadable { .. } => Failure::new("control", what)
            .advice("restart the service that has the journal open; it rewrites the file"),
        ConnectError::Unproven(_) => Failure::new("control", what)
            .advice("nothing was sent to it; if a service is about to start, try again"),
        ConnectError::Busy { .. } => Failure::new("control-busy", what)
            .advice("stop another command that is connected, or try again in a minute"),
        ConnectError::Refused { .. } => Failure::new("control", what)
            .advice("another service may just have replaced it; try again"),
        ConnectError::Silent { .. } => Failure::new("control", what)
            .advice("if that is the service, it hangs; nothing was sent to it"),
        _ => Failure::new("control", what),
    }
}

/// The failure of a request that a service did not fulfil.
pub(crate) fn unanswered(pid: u32, error: Unanswered) -> Failure {
    match error {
        Unanswered::Refused(refusal) => refused(&refusal),
        Unanswered::Failed(problem) => failed(
            &problem,
            "the running service has no key for it; `recount verify` needs no key",
        ),
        Unanswered::TooLarge { .. } => Failure::new("too-large", error.to_string())
            .exit(Exit::Refused)
            .advice(
                "nothing is decided, and another answer is possible; a record is 3 MiB at most",
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
        .advice("`recount log PATH SESSION` shows whether it was recorded")
}

/// The failure that a service, or the reader of an answer here, reports.
pub(crate) fn failed(problem: &Problem, sealed_advice: &str) -> Failure {
    let what = one_line(&problem.text).into_owned();
    match problem.code.as_str() {
        "unknown_request" => Failure::new("unknown-request", what)
            .advice("`recount pending PATH` lists the open requests"),
        "unknown_call" => Failure::new("unknown-call", what),
        "unknown_agent" => Failure::new("unknown-agent", what),
        "unknown_session" => Failure::new("unknown-session", what)
            .advice("`recount sessions PATH` lists the sessions"),
        "unknown_user" => {
            Failure::new("unknown-user", what).advice("give your name with --as NAME")
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

/// The failure of a refused operation: the earlier decision, by whom, when, and its record.
pub(crate) fn refused(refusal: &Refusal) -> Failure {
    let what = match (&refusal.by, refusal.confirmed, refusal.code.as_str()) {
        (Some(by), Some(confirmed), _) => {
            let said = match refusal.found {
                Some(FoundAs::Done) => "settled as done",
                Some(FoundAs::Failed) => "settled as failed",
                None if confirmed => "approved",
                None => "denied",
            };
            format!("the request was {said} {}", acted("by", by))
        }
        (_, _, "request_expired") if refusal.goes_on => {
            "the request expired without an answer, so its call runs".to_owned()
        }
        (_, _, "request_expired") => {
            "the request expired without an answer, so it was denied".to_owned()
        }
        (_, _, _) => refusal.text.clone(),
    };
    let mut text = one_line(&what).into_owned();
    if let (Some(since), "already_paused") = (refusal.at_us, refusal.code.as_str()) {
        // The text has the record, which may be in the journal's own stream.
        text.push_str(&format!("; since {}", age::moment(since)));
    } else if let Some(at) = refusal.at {
        let moment = refusal.at_us.map(age::moment);
        text.push_str(&match (moment, text.contains(&format!("at seq {at}"))) {
            (Some(moment), true) => format!("; recorded {moment} in session {}", refusal.session),
            (Some(moment), false) => {
                format!(" at {moment}, seq {at} of session {}", refusal.session)
            }
            (None, true) => format!("; in session {}", refusal.session),
            (None, false) => format!(", seq {at} of session {}", refusal.session),
        });
    }
    Failure::new(refusal.code.replace('_', "-"), text)
        .exit(Exit::Refused)
        .advice(advice(refusal))
}

/// The next step after a refused operation.
fn advice(refusal: &Refusal) -> String {
    if let Some(request) = refusal.instead {
        return format!("answer the request {request} instead");
    }
    let text = match refusal.code.as_str() {
        _ if refusal.leaves_open => {
            "nothing is decided, and another answer is possible; `recount pending PATH` lists \
             the open requests"
        }
        "hold_released" => "nothing was changed; `recount holds PATH --all` lists the holds",
        "erasure_requested" => {
            "nothing was changed; `recount erase` completes an erasure that was interrupted"
        }
        "session_erased" => "nothing is left to keep; nothing was changed",
        "already_paused" => {
            "it holds already, and nothing was changed; `recount pauses PATH` lists the pauses"
        }
        _ if refusal.by.is_some() => "the first answer counts; this one changed nothing",
        "unknown_call" => {
            "give the seq of the call's own record, not of its request: `recount log PATH SESSION` \
             shows both; nothing was changed"
        }
        "call_settled" => {
            "nothing was changed; if the outcome is unknown or timed out, `recount reconcile` \
             records what really happened"
        }
        "unknown_hold" => "nothing was changed; `recount holds PATH` lists the holds",
        "not_paused" => "nothing was changed; `recount pauses PATH` lists the pauses",
        _ => "nothing was changed",
    };
    text.to_owned()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn expired_request_whose_call_runs_is_not_called_denied() {
        let expired = |goes_on: &str| {
            let session = r#""session":"0199a000-0000-7000-8000-000000000000","at":9"#;
            let refusal =
                format!(r#"{{"code":"request_expired","text":"it expired",{session}{goes_on}}}"#);
            let refusal: Refusal = serde_json::from_str(&refusal).unwrap();
            refused(&refusal).what
        };
        let runs = expired(r#","goes_on":true"#);
        assert!(runs.contains("so its call runs"), "{runs}");
        let denied = expired("");
        assert!(denied.contains("so it was denied"), "{denied}");
    }
}
