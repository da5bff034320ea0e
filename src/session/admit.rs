//! Whether a command is taken: the one place that says no to somebody outside.

use super::actor::Actor;
use super::call::Phase;
use super::command::{BODY_BYTES_MAX, Command, Rejection, UnfitAnswer};
use super::decision::About;
use super::finding::Finding;
use super::id::Seq;
use super::json::Json;
use super::object::ObjectHash;
use super::observation::{
    AnswerRefused, Author, ConfirmationAnswered, Observation, OperatorCancelled, OutcomeFound,
    ResponseSupplied, SessionClosed, StateChange, StateChanged,
};
use super::reducers::reconciliation;
use super::scope::recorded_key;
use super::state::{Request, RequestState, Session};

/// How many refused answers to one request are recorded; one more says that the rest are not.
pub const REFUSALS_RECORDED_MAX: u32 = 16;

/// The statuses by which a client of ADK says that a long-running call goes on.
const INTERIM_STATUSES: [&str; 2] = ["pending", "in_progress"];

/// Turns a command into the observation it becomes, or says why not.
///
/// # Errors
/// A [`Rejection`] that says what stands against the command, and where that is on record.
pub fn admit(session: &Session, command: Command) -> Result<Observation, Rejection> {
    fits(observation_of(session, command)?)
}

/// The observation, unless it is larger than what goes on record.
///
/// # Errors
/// [`Rejection::TooLarge`].
pub fn fits(observation: Observation) -> Result<Observation, Rejection> {
    match bytes_if_too_large(&observation) {
        None => Ok(observation),
        Some(bytes) => Err(Rejection::TooLarge { bytes }),
    }
}

/// How many bytes the body of an observation takes, where that is more than goes on record.
pub(crate) fn bytes_if_too_large(observation: &Observation) -> Option<usize> {
    // What cannot be written at all is for the journal to say.
    let bytes = observation.body().map_or(0, |body| body.len());
    (bytes > BODY_BYTES_MAX).then_some(bytes)
}

fn observation_of(session: &Session, command: Command) -> Result<Observation, Rejection> {
    match command {
        Command::AnswerConfirmation {
            request,
            answer,
            by,
        } => {
            let call = admit_answer(session, request)?;
            let answer = answer.map_err(Rejection::UnfitAnswer)?;
            if let Some(found) = &answer.found {
                admit_finding(session, call, found, answer.confirmed)?;
            }
            if answer.confirmed
                && let Some(tool) = gone(session, call)
            {
                return Err(Rejection::ToolGone { tool });
            }
            if answer.edited_args.is_some() && !may_be_edited(session, call) {
                return Err(Rejection::EditsNotAllowed);
            }
            Ok(ConfirmationAnswered {
                request,
                confirmed: answer.confirmed,
                reason: answer.reason,
                payload: answer.payload,
                edited_args: answer.edited_args,
                extra: answer.extra,
                found: answer.found,
                by,
            }
            .into())
        }
        Command::SupplyResponse {
            call,
            name,
            response,
            will_continue,
            by,
        } => {
            if let Some(supplied) = session.supplied.get(&call) {
                let is_it = supplied.response == ObjectHash::of(response.as_str().as_bytes());
                return Err(Rejection::AlreadySupplied {
                    supplied: supplied.clone(),
                    same: is_it && !will_continue,
                });
            }
            let open = open_call(session, call)?;
            if !matches!(open.phase, Phase::Paused { .. }) {
                return Err(Rejection::CallNotPaused {
                    call,
                    phase: open.phase.name(),
                });
            }
            if open.name != name {
                return Err(Rejection::WrongName {
                    expected: open.name.clone(),
                    found: name,
                });
            }
            if !response.is_object() {
                return Err(Rejection::ResponseNotAnObject);
            }
            let will_continue = will_continue || is_interim(session, open, &response);
            Ok(ResponseSupplied {
                call,
                response,
                will_continue,
                by,
            }
            .into())
        }
        Command::ReconcileOutcome {
            call,
            name: tool,
            found,
            by,
        } => {
            reconciliation::admit(session, call)?;
            if !found.is_response() {
                return Err(Rejection::ResponseNotAnObject);
            }
            Ok(OutcomeFound {
                call,
                tool,
                found,
                by,
            }
            .into())
        }
        Command::CancelCall { call, reason, by } => {
            open_call(session, call)?;
            let response = None;
            let cancelled = OperatorCancelled {
                call,
                reason,
                by,
                response,
            };
            Ok(cancelled.into())
        }
        Command::ChangeState { changes, by } => {
            if session.closed {
                return Err(Rejection::SessionClosed);
            }
            changed(changes, by)
        }
        Command::CloseSession { reason, by } => {
            if session.closed {
                return Err(Rejection::SessionClosed);
            }
            Ok(SessionClosed { reason, by }.into())
        }
    }
}

fn changed(mut changes: Vec<StateChange>, by: Actor) -> Result<Observation, Rejection> {
    let unfit = |problem| Rejection::UnfitState { problem };
    if changes.is_empty() {
        return Err(unfit("there is nothing to write to the state".to_owned()));
    }
    for change in &mut changes {
        let key = recorded_key(&change.key).map_err(|problem| unfit(problem.to_string()))?;
        change.key = key.to_owned();
    }
    let author = Author::Program(by);
    Ok(StateChanged { changes, author }.into())
}

/// What is put on record of a refused answer, if anything.
pub fn refusal_on_record(
    session: &Session,
    request: Seq,
    by: &Actor,
    rejection: &Rejection,
) -> Option<Observation> {
    let refused = session.requests.get(&request)?.refused;
    (refused <= REFUSALS_RECORDED_MAX).then(|| {
        let last_recorded = refused == REFUSALS_RECORDED_MAX;
        AnswerRefused {
            request,
            refusal: rejection.code().to_owned(),
            by: by.clone(),
            last_recorded,
        }
        .into()
    })
}

/// The request that is open about a call, if a person is being asked about it.
pub fn open_request(session: &Session, call: Seq) -> Option<Seq> {
    let mut requests = session.requests.iter().rev();
    let is_it = |known: &Request| known.call == call && known.state == RequestState::Open;
    let (request, _) = requests.find(|(_, known)| is_it(known))?;
    Some(*request)
}

/// The call that an open request is about.
fn admit_answer(session: &Session, request: Seq) -> Result<Seq, Rejection> {
    let Some(known) = session.requests.get(&request) else {
        return Err(Rejection::UnknownRequest { request });
    };
    match &known.state {
        RequestState::Open => Ok(known.call),
        RequestState::Answered(answered) => Err(Rejection::AlreadyAnswered(answered.clone())),
        RequestState::Expired { at } => Err(Rejection::RequestExpired { at: *at }),
        RequestState::Withdrawn { at, reason } => Err(Rejection::RequestWithdrawn {
            at: *at,
            reason: *reason,
        }),
        RequestState::Superseded { by } => Err(Rejection::RequestSuperseded { by: *by }),
    }
}

/// Only of a run that was cut off there is something to be found out, and what has an outcome does not run again.
fn admit_finding(
    session: &Session,
    call: Seq,
    found: &Finding,
    confirmed: bool,
) -> Result<(), Rejection> {
    let phase = session.calls.get(&call).map(|call| &call.phase);
    let in_doubt = matches!(
        phase,
        Some(Phase::AwaitingConfirmation {
            about: About::InDoubt,
            ..
        })
    );
    if !in_doubt {
        return Err(Rejection::NothingToSettle);
    }
    if confirmed {
        let problem = "expected a yes, a no or an outcome, found a yes and an outcome".to_owned();
        return Err(Rejection::UnfitAnswer(UnfitAnswer::Malformed { problem }));
    }
    if !found.is_response() {
        return Err(Rejection::ResponseNotAnObject);
    }
    Ok(())
}

/// The tool of the call, if the process that could run it does not have it.
fn gone(session: &Session, call: Seq) -> Option<String> {
    let name = &session.calls.get(&call)?.name;
    let is_gone = session.runner.is_some() && !session.terms.catalog.tools.contains_key(name);
    is_gone.then(|| name.clone())
}

/// What may have run already runs again as it was or not at all.
fn may_be_edited(session: &Session, call: Seq) -> bool {
    session.calls.get(&call).is_some_and(|call| {
        let gate = matches!(
            call.phase,
            Phase::AwaitingConfirmation {
                about: About::Gate,
                ..
            }
        );
        gate && session
            .terms
            .policies
            .of(&call.name)
            .confirm_edits
            .is_some()
    })
}

/// True if the tool of the call declares that a result with this status is no end.
fn is_interim(session: &Session, call: &super::call::Call, response: &Json) -> bool {
    let status = response.text_at("/status");
    let status = status.and_then(|it| serde_json::from_str::<String>(it).ok());
    session.terms.policies.of(&call.name).interim_status
        && status.is_some_and(|it| INTERIM_STATUSES.contains(&it.as_str()))
}

fn open_call(session: &Session, call: Seq) -> Result<&super::call::Call, Rejection> {
    if let Some(open) = session.calls.get(&call) {
        return Ok(open);
    }
    match session.settled.get(&call) {
        Some(settled) => Err(Rejection::CallSettled {
            call,
            outcome: settled.outcome,
            at: settled.at,
        }),
        None => Err(Rejection::UnknownCall { call }),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::session::UserTextSent;

    #[test]
    fn what_is_as_large_as_a_record_may_be_still_fits() {
        let of = |bytes: usize| {
            let epoch = Seq(1);
            let sent = |text: String| Observation::from(UserTextSent { epoch, text });
            let around = sent(String::new()).body().unwrap().len();
            fits(sent("a".repeat(bytes - around)))
        };
        // 4 KiB less than 3 MiB.
        assert!(of(3_141_632).is_ok());
        let bytes = 3_141_633;
        assert_eq!(of(bytes), Err(Rejection::TooLarge { bytes }));
    }
}
