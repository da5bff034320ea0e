//! The check that an actor may answer a request, and that the answer agrees with those before it.

use super::command::Rejection;
use crate::calls::requests::{Approval, Asking};
use crate::json::Json;
use crate::record::approvals::answers::ConfirmationAnswered;
use crate::state::session::Session;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// Checks that the actor may answer an open request. `denies` is true for a no.
///
/// A request without terms admits every actor.
///
/// # Errors
/// [`Rejection::Barred`], [`Rejection::AlreadyApproved`] or [`Rejection::UnknownRequest`].
///
/// ```
/// use recount_session::testing::{history, toolbox};
/// use recount_session::{Actor, Person, Approvers, may_answer};
/// use serde_json::json;
///
/// let ada = Approvers::names([Person::embedder("ada")]);
/// let tools = toolbox().gated("pay").policy("pay", |it| it.gate_terms.approvers = [ada].into());
/// let connected = history().opened("support").attached(&tools).connected();
/// let asked = connected.call("c1", "pay", json!({}));
/// let may = |by: &Actor| may_answer(asked.session(), asked.request(), by, false).is_ok();
/// assert!(may(&Actor::embedder("ada")) && !may(&Actor::os_user("ada")));
/// ```
pub fn may_answer(
    session: &Session,
    request: Seq,
    by: &Actor,
    denies: bool,
) -> Result<(), Rejection> {
    let known = session.requests.get(&request);
    let known = known.ok_or(Rejection::UnknownRequest { request })?;
    match &known.asking {
        Some(asking) => admits(asking, by, denies),
        None => Ok(()),
    }
}

fn admits(asking: &Asking, by: &Actor, denies: bool) -> Result<(), Rejection> {
    let person = asking.needs.admit(by, denies).map_err(Rejection::Barred)?;
    let before = asking.given.iter();
    let mut before = before.filter(|it| it.by.person().as_ref() == Some(&person));
    match before.next().filter(|_| !denies) {
        Some(Approval { at, .. }) => Err(Rejection::AlreadyApproved { at: *at }),
        None => Ok(()),
    }
}

/// The effect of an answer on the request that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The answer decides the request.
    Decides,
    /// The answer is a yes, and the request needs more of them.
    Counts,
}

/// Checks an answer against the terms of its open request and the answers before it.
///
/// A no decides at once, and so does an outcome of a call in doubt, because the call then does not
/// run. Every yes must have the same arguments as the first, so that all approve one call.
pub(crate) fn weight(
    asking: Option<&Asking>,
    answer: &ConfirmationAnswered,
) -> Result<Weight, Rejection> {
    let Some(asking) = asking else {
        return Ok(Weight::Decides);
    };
    let denies = !answer.confirmed && answer.found.is_none();
    admits(asking, &answer.by, denies)?;
    if !answer.confirmed {
        return Ok(Weight::Decides);
    }
    if let Some(first) = asking.given.first()
        && differ(&first.args, &answer.edited_args)
    {
        return Err(Rejection::OtherContent { at: first.at });
    }
    Ok(match asking.missing() {
        0 | 1 => Weight::Decides,
        2.. => Weight::Counts,
    })
}

/// Checks that a yes has the same payload as the first one.
///
/// The fold does not check it, because a redactor may change what is recorded.
pub(crate) fn agrees(
    asking: Option<&Asking>,
    answer: &ConfirmationAnswered,
) -> Result<(), Rejection> {
    let first = asking.and_then(|it| it.given.first());
    match first.filter(|_| answer.confirmed) {
        Some(first) if differ(&first.payload, &answer.payload) => {
            Err(Rejection::OtherContent { at: first.at })
        }
        Some(_) | None => Ok(()),
    }
}

/// True if two texts are not the same JSON value.
fn differ(one: &Option<Json>, other: &Option<Json>) -> bool {
    let value = |it: &Option<Json>| it.as_ref().map(Json::to_value);
    one != other && value(one) != value(other)
}
