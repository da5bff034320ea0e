//! Admission of commands: the checks of a command against the session's state.
//!
//! Only the engine checks the tool name of `ReconcileOutcome` (in `engine/operations/reconciling`),
//! because the name of an ended call is in the journal and not in the session's state.

use serde::Serialize;

use super::approving::{Weight, agrees, may_answer, weight};
use super::claiming::ClaimCommand;
use super::command::{BODY_BYTES_MAX, Command, Rejection, UnfitAnswer};
use super::pausing;
use super::standing::{admit_leave, revoked};
use crate::calls::call::Phase;
use crate::calls::requests::{Request, RequestState};
use crate::json::{BODY_DEPTH_MAX, DEPTH_MAX, Json, JsonProblem, check, levels};
use crate::policies::condition::Condition;
use crate::record::approvals::answers::ToolConfirmation;
use crate::record::decision::About;
use crate::record::finding::Finding;
use crate::record::observation::{
    AnswerRefused, ApprovalGiven, Author, Observation, OperatorCancelled, OutcomeFound,
    ResponseSupplied, SessionClosed, StateChange, StateChanged,
};
use crate::state::session::Session;
use crate::values::actor::Actor;
use crate::values::endings::Outcome;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;
use crate::values::scope::recorded_key;
use crate::values::time::Timestamp;

/// The maximum number of refused answers recorded for one request. One more record says that
/// further ones are only returned.
pub const REFUSALS_RECORDED_MAX: u32 = 16;

/// The statuses by which an ADK client reports that a long-running call has not ended.
const INTERIM_STATUSES: [&str; 2] = ["pending", "in_progress"];

/// Turns a command that arrives at `now` into an observation, or rejects it. `claims` admits the
/// requests of clients.
///
/// # Errors
/// A [`Rejection`] with the reason, and with the record where there is one.
pub(crate) fn admit_with(
    session: &Session,
    now: Timestamp,
    command: Command,
    claims: AdmitsClaims,
) -> Result<Observation, Rejection> {
    fits(observation_of(session, now, command, claims)?)
}

type AdmitsClaims = fn(&Session, Timestamp, ClaimCommand) -> Result<Observation, Rejection>;

/// Returns the observation if the journal can record it.
///
/// Without this check of size and shape, the journal would reject the whole append, and the session
/// would stop. Later records repeat some parts, which [`fits_state`] and [`unfit_policy`] check.
///
/// # Errors
/// [`Rejection::TooLarge`], [`Rejection::TooDeep`] or [`Rejection::UnfitJson`].
pub fn fits(observation: Observation) -> Result<Observation, Rejection> {
    match unfit(&observation) {
        None => Ok(observation),
        Some(rejection) => Err(rejection),
    }
}

/// Returns the reason why the journal cannot record an observation, if there is one.
pub fn unfit(observation: &Observation) -> Option<Rejection> {
    // A body that cannot be serialized is rejected by the journal.
    let body = observation.body().ok()?;
    let bytes = body.len();
    if bytes > BODY_BYTES_MAX {
        return Some(Rejection::TooLarge { bytes });
    }
    // A `confirmation_reopened` repeats the schema one level deeper.
    if let Observation::ToolAsked(it) = observation
        && let Some(schema) = &it.payload_schema
        && levels(schema.as_str()) >= DEPTH_MAX
    {
        return Some(Rejection::TooDeep);
    }
    match check(&body, BODY_DEPTH_MAX) {
        Ok(()) => None,
        Err(JsonProblem::TooDeep) => Some(Rejection::TooDeep),
        Err(problem) => Some(Rejection::UnfitJson { problem }),
    }
}

/// Converts a state write to an observation. Rejects it if a verdict that repeats its values would
/// be too large.
///
/// A verdict repeats all values that the conditions of its tool read.
///
/// # Errors
/// The errors of [`fits`].
pub fn fits_state(session: &Session, changed: StateChanged) -> Result<Observation, Rejection> {
    let bytes_of = |key: &str| {
        let written = changed.changes.iter().rev().find(|it| it.key == key);
        let value = written.map(|it| &it.value).or_else(|| session.value(key));
        value.map_or(0, |it| key.len() + it.as_str().len())
    };
    for policy in session.terms.policies.tools.values() {
        let conditions = [policy.when.as_ref(), policy.gate_terms.when.as_ref()];
        let mut keys: Vec<&str> = conditions
            .into_iter()
            .flatten()
            .flat_map(Condition::keys)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let bytes = keys.into_iter().map(bytes_of).sum();
        if bytes > BODY_BYTES_MAX {
            return Err(Rejection::TooLarge { bytes });
        }
    }
    fits(changed.into())
}

/// Checks that a part of the policies fits into a decision, which repeats it. Returns the reason if
/// it does not fit.
///
/// `levels` is the maximum depth of the part. A decision that cannot be recorded would stop its
/// session.
#[doc(hidden)]
pub fn unfit_policy<T: Serialize + ?Sized>(part: &T, levels: usize) -> Option<Rejection> {
    let text = serde_json::to_string(part).unwrap_or_default();
    let bytes = text.len();
    // Half of the limit is reserved for the decision's other fields.
    if bytes > BODY_BYTES_MAX / 2 {
        return Some(Rejection::TooLarge { bytes });
    }
    match check(&text, levels) {
        Ok(()) => None,
        Err(JsonProblem::TooDeep) => Some(Rejection::TooDeep),
        Err(problem) => Some(Rejection::UnfitJson { problem }),
    }
}

fn observation_of(
    session: &Session,
    now: Timestamp,
    command: Command,
    claims: AdmitsClaims,
) -> Result<Observation, Rejection> {
    match command {
        Command::Claim(command) => claims(session, now, command),
        Command::AnswerConfirmation {
            request,
            answer,
            by,
        } => answered(session, now, request, answer, by),
        Command::SupplyResponse {
            call,
            name,
            response,
            will_continue,
            by,
        } => supplied(session, call, name, response, will_continue, by),
        Command::ReconcileOutcome {
            call,
            name: tool,
            found,
            by,
        } => {
            reconcilable(session, call)?;
            if !found.is_response() {
                return Err(Rejection::ResponseNotAnObject);
            }
            Ok(OutcomeFound {
                call,
                tool,
                found,
                by,
                attempt: None,
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
        Command::RevokeLeave { leave, reason, by } => revoked(session, leave, reason, by),
        Command::ChangeState { changes, by } => {
            if session.closed {
                return Err(Rejection::SessionClosed);
            }
            changed(session, changes, by)
        }
        Command::Pause(it) => pausing::paused(session, it),
        Command::Unpause(it) => pausing::unpaused(session, it),
        Command::CloseSession { reason, by } => {
            if session.closed {
                return Err(Rejection::SessionClosed);
            }
            Ok(SessionClosed { reason, by }.into())
        }
    }
}

fn answered(
    session: &Session,
    now: Timestamp,
    request: Seq,
    answer: Result<ToolConfirmation, UnfitAnswer>,
    by: Actor,
) -> Result<Observation, Rejection> {
    let call = admit_answer(session, request)?;
    let answer = answer.map_err(Rejection::UnfitAnswer)?;
    let denies = !answer.confirmed && answer.found.is_none();
    may_answer(session, request, &by, denies)?;
    if let Some(found) = &answer.found {
        admit_finding(session, call, found, answer.confirmed)?;
    }
    if answer.confirmed
        && let Some(tool) = missing_tool(session, call)
    {
        return Err(Rejection::ToolGone { tool });
    }
    if answer.args.is_some() && !may_be_edited(session, call) {
        return Err(Rejection::EditsNotAllowed);
    }
    // The approvals of a recording that is played were given at another pace.
    if answer.confirmed
        && !answer.was_taken_before()
        && let Some(max) = session.approvals_used_up(&by, now)
    {
        return Err(Rejection::TooManyAnswers { max });
    }
    admit_leave(session, call, request, &answer, &by)?;
    let record = answer.into_record(request, by);
    let known = session.requests.get(&request);
    let asking = known.and_then(|it| it.asking.as_deref());
    agrees(asking, &record)?;
    match weight(asking, &record)? {
        Weight::Decides => Ok(record.into()),
        Weight::Counts => Ok(ApprovalGiven::from(record).into()),
    }
}

fn supplied(
    session: &Session,
    call: Seq,
    name: String,
    response: Json,
    will_continue: bool,
    by: Actor,
) -> Result<Observation, Rejection> {
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

fn changed(
    session: &Session,
    mut changes: Vec<StateChange>,
    by: Actor,
) -> Result<Observation, Rejection> {
    let unfit = |problem| Rejection::UnfitState { problem };
    if changes.is_empty() {
        return Err(unfit("there is nothing to write to the state".to_owned()));
    }
    for change in &mut changes {
        let key = recorded_key(&change.key).map_err(|problem| unfit(problem.to_string()))?;
        change.key = key.to_owned();
    }
    let author = Author::Program(by);
    fits_state(session, StateChanged { changes, author })
}

/// Returns the record of a refused answer, or `None` if it is not recorded.
pub fn refusal_on_record(
    session: &Session,
    request: Seq,
    by: &Actor,
    rejection: &Rejection,
) -> Option<Observation> {
    let refused = session.requests.get(&request)?.refused;
    if refused > REFUSALS_RECORDED_MAX {
        return None;
    }
    let refused = AnswerRefused {
        request,
        refusal: rejection.code().to_owned(),
        by: by.clone(),
        last_recorded: refused == REFUSALS_RECORDED_MAX,
    };
    // The actor's name may be too large, too. Then the refusal is only returned.
    fits(refused.into()).ok()
}

/// Returns the open request about a call, if there is one.
pub fn open_request(session: &Session, call: Seq) -> Option<Seq> {
    let mut requests = session.requests.iter().rev();
    let is_it = |known: &Request| known.call == call && known.state == RequestState::Open;
    let (request, _) = requests.find(|(_, known)| is_it(known))?;
    Some(*request)
}

/// Returns the call of an open request.
fn admit_answer(session: &Session, request: Seq) -> Result<Seq, Rejection> {
    let Some(known) = session.requests.get(&request) else {
        return Err(Rejection::UnknownRequest { request });
    };
    match &known.state {
        RequestState::Open => Ok(known.call),
        RequestState::Answered(answered) => Err(Rejection::AlreadyAnswered(answered.clone())),
        RequestState::Expired { at, goes_on } => Err(Rejection::RequestExpired {
            at: *at,
            goes_on: *goes_on,
        }),
        RequestState::Withdrawn { at, reason } => Err(Rejection::RequestWithdrawn {
            at: *at,
            reason: *reason,
        }),
        RequestState::Superseded { by } => Err(Rejection::RequestSuperseded { by: *by }),
    }
}

/// Checks a finding that comes as the answer to a request.
///
/// Only a call in doubt has an unknown outcome. A call with an outcome does not run again, so an
/// approval and a finding exclude each other.
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

/// Returns the tool of the call, if a runner is attached that does not have it. A run that waits
/// for the answer has its tool.
fn missing_tool(session: &Session, call: Seq) -> Option<String> {
    let open = session.calls.get(&call)?;
    if open.in_place().is_some() {
        return None;
    }
    let name = &open.name;
    let is_missing = session.runner.is_some() && !session.terms.catalog.tools.contains_key(name);
    is_missing.then(|| name.clone())
}

/// True if an approver may change the arguments. A call in doubt may have run already, so it runs
/// again unchanged or not at all.
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
            .gate_terms
            .edits
            .is_some()
    })
}

/// True if the result has an interim status and the tool's policy enables `interim_status`.
fn is_interim(session: &Session, call: &crate::calls::call::Call, response: &Json) -> bool {
    let status = response.text_at("/status");
    let status = status.and_then(|it| serde_json::from_str::<String>(it).ok());
    session.terms.policies.of(&call.name).interim_status
        && status.is_some_and(|it| INTERIM_STATUSES.contains(&it.as_str()))
}

pub(crate) fn open_call(
    session: &Session,
    call: Seq,
) -> Result<&crate::calls::call::Call, Rejection> {
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

/// Checks that a finding about a call may be recorded.
///
/// Rejects it if the session is closed, or the call is unknown or open. Also rejects it if the
/// outcome of the call is known or an earlier finding is recorded.
pub(crate) fn reconcilable(session: &Session, call: Seq) -> Result<(), Rejection> {
    if session.closed {
        return Err(Rejection::SessionClosed);
    }
    if let Some(open) = session.calls.get(&call) {
        let phase = open.phase.name();
        return Err(Rejection::CallOpen { call, phase });
    }
    let settled = session.settled.get(&call);
    let outcome = settled.ok_or(Rejection::UnknownCall { call })?.outcome;
    if let Some(reconciled) = session.reconciled.get(&call) {
        return Err(Rejection::AlreadyReconciled(reconciled.clone()));
    }
    match outcome {
        Outcome::Unknown | Outcome::TimedOut => Ok(()),
        Outcome::Interim
        | Outcome::Returned
        | Outcome::Failed
        | Outcome::Supplied
        | Outcome::Refused
        | Outcome::Denied
        | Outcome::Expired
        | Outcome::Cancelled
        | Outcome::Withdrawn => Err(Rejection::OutcomeKnown { call, outcome }),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::UserTextSent;

    #[test]
    fn body_at_the_size_limit_fits() {
        let of = |bytes: usize| {
            let epoch = Seq(1);
            let sent = |text: String| Observation::from(UserTextSent { epoch, text });
            let around = sent(String::new()).body().unwrap().len();
            fits(sent("a".repeat(bytes - around)))
        };
        // 3 MiB minus 4 KiB.
        assert!(of(3_141_632).is_ok());
        let bytes = 3_141_633;
        assert_eq!(of(bytes), Err(Rejection::TooLarge { bytes }));
    }
}
