//! Law 5 with several approvers, and a second implementation of the terms of answers.
//!
//! Persons, terms and approvals are read from the records one by one.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::{
    About, ActedAs, Actor, Approvers, Authentication, Barred, ConfirmationAnswered,
    ConfirmationRequested, Decision, Event, Fact, Needs, Observation, Rejection, Seq,
    ToolConfirmation,
};
use serde_json::Value;

use super::Verdict;
use super::recording::{Recording, decided, observed};

/// The open requests, each with its terms and approvals.
#[derive(Default)]
pub(crate) struct Approvals {
    open: BTreeMap<Seq, Open>,
}

/// An open request.
#[derive(Default)]
struct Open {
    needs: Option<Needs>,
    given: Vec<Given>,
}

/// An approval that did not decide.
struct Given {
    at: Seq,
    person: (String, String),
    args: Option<Value>,
    payload: Option<Value>,
}

impl Approvals {
    /// Reads the next record. Returns the answer by which a request is decided.
    pub(crate) fn read(&mut self, fact: &Fact) -> Option<ConfirmationAnswered> {
        match &fact.event {
            Event::Decided(Decision::ConfirmationReopened(it)) => {
                self.open.remove(&it.request);
                self.ask(fact.seq, &it.question);
                None
            }
            Event::Decided(Decision::ConfirmationRequested(it)) => {
                self.ask(fact.seq, it);
                None
            }
            Event::Decided(Decision::ConfirmationExpired(it)) => {
                self.open.remove(&it.request);
                None
            }
            Event::Decided(Decision::ConfirmationWithdrawn(it)) => {
                self.open.remove(&it.request);
                None
            }
            Event::Observed(Observation::ConfirmationAnswered(it)) => {
                self.answer(fact.seq, it, true)
            }
            Event::Observed(Observation::ApprovalGiven(it)) => {
                let yes = ConfirmationAnswered {
                    request: it.request,
                    confirmed: true,
                    reason: it.reason.clone(),
                    payload: it.payload.clone(),
                    edited_args: it.edited_args.clone(),
                    extra: it.extra.clone(),
                    found: None,
                    allow_for: it.allow_for,
                    by: it.by.clone(),
                };
                self.answer(fact.seq, &yes, false)
            }
            Event::Observed(_) | Event::Decided(_) => None,
        }
    }

    fn ask(&mut self, request: Seq, question: &ConfirmationRequested) {
        let needs = question.needs.as_deref().cloned();
        let given = Vec::new();
        self.open.insert(request, Open { needs, given });
    }

    /// Returns the answer if it decides. A record that is to decide and may not changes nothing,
    /// and neither does an approval that would.
    fn answer(
        &mut self,
        at: Seq,
        it: &ConfirmationAnswered,
        is_to_decide: bool,
    ) -> Option<ConfirmationAnswered> {
        let open = self.open.get_mut(&it.request)?;
        let denies = !it.confirmed && it.found.is_none();
        if open.bars(&it.by, denies).is_some() {
            return None;
        }
        let args = it.edited_args.as_ref().map(|args| args.to_value());
        let first = open.given.first();
        if it.confirmed && first.is_some_and(|first| first.args != args) {
            return None;
        }
        let needed = open.needed();
        let suffices = !it.confirmed || open.given.len() + 1 >= needed;
        if suffices != is_to_decide {
            return None;
        }
        if !suffices {
            open.given.push(Given {
                at,
                person: person(&it.by)?,
                args,
                payload: it.payload.as_ref().map(|it| it.to_value()),
            });
            return None;
        }
        self.open.remove(&it.request);
        Some(it.clone())
    }

    /// The number of approvals of an open request that did not decide.
    pub(crate) fn given(&self, request: Seq) -> usize {
        self.open.get(&request).map_or(0, |it| it.given.len())
    }

    /// Reads the next record. Returns the approver of a yes that counts, whether it decides or not.
    pub(super) fn approver<'f>(&mut self, fact: &'f Fact) -> Option<&'f Actor> {
        let (request, by) = match observed(fact) {
            Some(Observation::ConfirmationAnswered(it)) => (it.request, &it.by),
            Some(Observation::ApprovalGiven(it)) => (it.request, &it.by),
            _ => {
                self.read(fact);
                return None;
            }
        };
        let before = self.given(request);
        let decides = self.read(fact);
        let counts = decides.map_or(self.given(request) > before, |it| it.confirmed);
        counts.then_some(by)
    }

    /// Returns the reason why the terms of the request, or its approvals, refuse the answer.
    pub(crate) fn refuses(
        &self,
        request: Seq,
        answer: &ToolConfirmation,
        by: &Actor,
    ) -> Option<Rejection> {
        let denies = !answer.confirmed && answer.found.is_none();
        self.open.get(&request)?.bars(by, denies)
    }

    /// Returns the refusal of a yes that is not to the content of the first.
    pub(crate) fn differs(&self, request: Seq, answer: &ToolConfirmation) -> Option<Rejection> {
        let first = self.open.get(&request)?.given.first()?;
        let same = first.args == answer.args && first.payload == answer.payload;
        (answer.confirmed && !same).then_some(Rejection::OtherContent { at: first.at })
    }
}

impl Open {
    fn needed(&self) -> usize {
        let quorum = self.needs.as_ref().and_then(|it| it.quorum);
        quorum.map_or(1, |it| it.get() as usize)
    }

    fn bars(&self, by: &Actor, denies: bool) -> Option<Rejection> {
        let needs = self.needs.as_ref()?;
        if let Some(ActedAs::Program(_)) = by.acted_as {
            return Some(Rejection::Barred(Barred::Automatic));
        }
        let Some(who) = person(by) else {
            return Some(Rejection::Barred(Barred::Unverified));
        };
        if !needs.approvers.iter().all(|it| admits(it, by, &who)) {
            return Some(Rejection::Barred(Barred::NotAnApprover));
        }
        if denies {
            return None;
        }
        match &needs.requester {
            None if needs.not_requester => {
                return Some(Rejection::Barred(Barred::RequesterUnknown));
            }
            Some(it) if needs.not_requester => {
                if it.name.trim().is_empty() {
                    return Some(Rejection::Barred(Barred::RequesterUnknown));
                }
                let folded = |text: &str| text.trim().to_lowercase();
                let is_it = match &it.issuer {
                    Some(issuer) => it.name == who.1 && *issuer == who.0,
                    None => [who.1.clone(), format!("{}:{}", who.0, who.1)]
                        .iter()
                        .any(|name| folded(name) == folded(&it.name)),
                };
                if is_it {
                    return Some(Rejection::Barred(Barred::Requester));
                }
            }
            None | Some(_) => {}
        }
        let before = self.given.iter().find(|it| it.person == who)?;
        Some(Rejection::AlreadyApproved { at: before.at })
    }
}

/// The issuer and the name of the person behind an actor.
pub(super) fn person(by: &Actor) -> Option<(String, String)> {
    if let Some(ActedAs::Program(_)) = by.acted_as {
        return None;
    }
    let entry = match by.authenticated_by {
        Authentication::Embedder => "embedder",
        Authentication::Token | Authentication::OsUser => "os_user",
        Authentication::None => return None,
    };
    let issuer = by.issuer().unwrap_or(entry).to_owned();
    let claims_entry = ["os_user", "embedder"].contains(&by.issuer().unwrap_or_default());
    let vouched = !issuer.trim().is_empty() && !claims_entry && !by.name.trim().is_empty();
    vouched.then(|| (issuer, by.name.clone()))
}

fn admits(approvers: &Approvers, by: &Actor, who: &(String, String)) -> bool {
    let named = approvers
        .names
        .iter()
        .any(|it| it.issuer == who.0 && it.subject == who.1);
    let listed = by.identity.as_ref().is_some_and(|it| {
        let role = it.roles.iter().any(|it| approvers.roles.contains(it));
        role || it.groups.iter().any(|it| approvers.groups.contains(it))
    });
    named || listed
}

/// With a quorum one answer a person counts; the last yes that is needed, or the first no, decides.
///
/// Every `confirmation_answered` decides, and no `approval_given` does. The persons that approved a
/// call are as many as its request needs, and all of them meet its terms.
pub(crate) fn last_yes_or_first_no_decides(recording: &Recording) -> Verdict {
    let mut approvals = Approvals::default();
    let mut said: BTreeMap<Seq, BTreeSet<(String, String)>> = BTreeMap::new();
    for fact in &recording.facts {
        let needed = answered(fact).map(|request| {
            let open = approvals.open.get(&request);
            open.map_or(0, Open::needed)
        });
        let decides = approvals.read(fact);
        match observed(fact) {
            Some(Observation::ApprovalGiven(it)) => {
                let Some(person) = person(&it.by) else {
                    return Err(format!("{} is by no person", fact.seq));
                };
                if !said.entry(it.request).or_default().insert(person) {
                    return Err(format!("{} counts a person twice", fact.seq));
                }
            }
            Some(Observation::ConfirmationAnswered(it)) => {
                if decides.is_none() {
                    return Err(format!("{} is an answer and decides nothing", fact.seq));
                }
                let mut people = said.remove(&it.request).unwrap_or_default();
                people.extend(person(&it.by));
                let enough = needed.is_some_and(|needed| needed <= 1 || people.len() == needed);
                if it.confirmed && !enough {
                    return Err(format!("{} approves for {people:?}", fact.seq));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn answered(fact: &Fact) -> Option<Seq> {
    match observed(fact) {
        Some(Observation::ConfirmationAnswered(it)) => Some(it.request),
        Some(Observation::ApprovalGiven(it)) => Some(it.request),
        _ => None,
    }
}

/// A question about a gate or a doubt pins the terms of the policy in force, with the requester on
/// record.
pub(crate) fn request_pins_the_terms_of_its_policy(recording: &Recording) -> Verdict {
    let calls = recording.calls();
    let opened = recording.facts.first().and_then(observed);
    let on_behalf_of = match opened {
        Some(Observation::SessionOpened(it)) => it.on_behalf_of.clone(),
        _ => None,
    };
    for (index, fact) in recording.facts.iter().enumerate() {
        let Some(question) = decided(fact).and_then(Decision::question) else {
            continue;
        };
        let Some(call) = calls.get(&question.call) else {
            continue;
        };
        let name = call.name.clone().unwrap_or_default();
        let policy = recording.tools_at(index).map(|it| it.policies().of(&name));
        let Some(policy) = policy else { continue };
        let mut own = std::iter::successors(Some(call), |call| calls.get(&call.parent?));
        let by = own.find_map(|call| call.by.as_ref());
        let requester = by.map(|it| it.name.clone()).or(on_behalf_of.clone());
        let terms = &policy.gate_terms;
        let expected = (policy.confirm && question.about != About::Tool).then(|| {
            let requester = requester.filter(|_| terms.not_requester);
            (
                terms.approvers.clone(),
                terms.not_requester,
                terms.quorum,
                requester,
            )
        });
        let expected = expected.filter(|it| !it.0.is_empty() || it.1 || it.2.is_some());
        let pinned = question.needs.as_ref().map(|it| {
            let requester = it.requester.as_ref().map(|it| it.name.clone());
            let quorum = it.quorum.map(|it| it.get());
            (it.approvers.clone(), it.not_requester, quorum, requester)
        });
        if question.about != About::Tool && pinned != expected {
            return Err(format!("{} pins {pinned:?}, not {expected:?}", fact.seq));
        }
    }
    Ok(())
}
