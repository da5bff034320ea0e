//! Every string of a decision, byte for byte, as a replay compares it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use recount::session::{
    About, CancelReason, Decision, Event, Fact, Outcome, Route, Rule, Seq, Verdict,
};
use serde::Serialize;
use serde_json::Value;

use crate::pinned::assert_pinned;
use crate::scenes::scenes;

fn decided(fact: &Fact) -> Option<&Decision> {
    match &fact.event {
        Event::Decided(decision) => Some(decision),
        Event::Observed(_) => None,
    }
}

/// The decisions of all scenes, each as its kind and its recorded body.
#[test]
fn decisions_are_as_they_were() {
    let mut text = String::new();
    for (name, history) in scenes() {
        writeln!(text, "# {name}").unwrap();
        for fact in history.facts().iter().filter(|it| decided(it).is_some()) {
            let (kind, body) = (fact.event.kind(), fact.event.body().unwrap());
            writeln!(text, "{} {kind} {body}", fact.seq).unwrap();
        }
    }
    assert_pinned("decisions.txt", &text);
}

/// The recorded words of all values of one type.
fn words<T: Serialize>(all: &[T]) -> BTreeSet<String> {
    let word = |it: &T| match serde_json::to_value(it).unwrap() {
        Value::String(word) => word,
        tagged => tagged
            .get("via")
            .and_then(Value::as_str)
            .unwrap()
            .to_owned(),
    };
    all.iter().map(word).collect()
}

/// The values of a member in all decisions of the scenes.
fn told(kinds: &[&str], member: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, history) in scenes() {
        for fact in history.facts().iter().filter(|it| decided(it).is_some()) {
            if !kinds.contains(&fact.event.kind()) {
                continue;
            }
            let body: Value = serde_json::from_str(&fact.event.body().unwrap()).unwrap();
            let word = body.pointer(member).and_then(Value::as_str);
            found.extend(word.map(str::to_owned));
        }
    }
    found
}

#[test]
fn scenes_have_every_kind_of_decision() {
    let scenes = scenes();
    let facts = scenes.iter().flat_map(|(_, it)| it.facts());
    let kinds: BTreeSet<&str> = facts.filter_map(decided).map(Decision::kind).collect();
    assert_eq!(kinds, Decision::KINDS.iter().copied().collect());
}

#[test]
fn scenes_have_every_rule_and_verdict() {
    let decided = ["policy_decided"];
    assert_eq!(
        told(&decided, "/rule"),
        words(&all(Rule::MissingName, rule))
    );
    assert_eq!(
        told(&decided, "/verdict"),
        words(&all(Verdict::Allowed, verdict))
    );
}

#[test]
fn scenes_have_every_outcome_route_and_reason() {
    let issued = ["response_issued"];
    let outcomes = all(Outcome::Interim, outcome);
    let mut found = told(&issued, "/outcome");
    // The only end without a response.
    found.insert("withdrawn".to_owned());
    assert_eq!(found, words(&outcomes));
    let routes = all(Route::Parked, route);
    assert_eq!(told(&issued, "/route/via"), words(&routes));
    let cancelled = ["call_cancelled", "confirmation_withdrawn"];
    let mut found = told(&cancelled, "/reason");
    // Its reason is in the response instead, and in the confirmation request that it withdraws.
    found.insert("operator".to_owned());
    assert_eq!(found, words(&all(CancelReason::Model, reason)));
    let asked = ["confirmation_requested"];
    assert_eq!(told(&asked, "/about"), words(&all(About::Gate, about)));
}

/// Every value of a type, listed by its successor function. A new variant stops the build.
pub(crate) fn all<T: Copy>(first: T, next: fn(&T) -> Option<T>) -> Vec<T> {
    std::iter::successors(Some(first), next).collect()
}

fn rule(rule: &Rule) -> Option<Rule> {
    match rule {
        Rule::MissingName => Some(Rule::UnknownTool),
        Rule::UnknownTool => Some(Rule::MalformedArgs),
        Rule::MalformedArgs => Some(Rule::InvalidArgs),
        Rule::InvalidArgs => Some(Rule::Phase),
        Rule::Phase => Some(Rule::Condition),
        Rule::Condition => Some(Rule::Cached),
        Rule::Cached => Some(Rule::Pending),
        Rule::Pending => Some(Rule::Limit),
        Rule::Limit => Some(Rule::Confirm),
        Rule::Confirm => Some(Rule::Default),
        Rule::Default => None,
    }
}

fn verdict(verdict: &Verdict) -> Option<Verdict> {
    match verdict {
        Verdict::Allowed => Some(Verdict::Ask),
        Verdict::Ask => Some(Verdict::AskProgram),
        Verdict::AskProgram => Some(Verdict::Refused),
        Verdict::Refused => None,
    }
}

pub(crate) fn outcome(outcome: &Outcome) -> Option<Outcome> {
    match outcome {
        Outcome::Interim => Some(Outcome::Returned),
        Outcome::Returned => Some(Outcome::Failed),
        Outcome::Failed => Some(Outcome::Supplied),
        Outcome::Supplied => Some(Outcome::Refused),
        Outcome::Refused => Some(Outcome::Denied),
        Outcome::Denied => Some(Outcome::Expired),
        Outcome::Expired => Some(Outcome::TimedOut),
        Outcome::TimedOut => Some(Outcome::Cancelled),
        Outcome::Cancelled => Some(Outcome::Unknown),
        Outcome::Unknown => Some(Outcome::Withdrawn),
        Outcome::Withdrawn => None,
    }
}

pub(crate) fn reason(reason: &CancelReason) -> Option<CancelReason> {
    match reason {
        CancelReason::Model => Some(CancelReason::Operator),
        CancelReason::Operator => Some(CancelReason::SessionClosed),
        CancelReason::SessionClosed => Some(CancelReason::RunnerGone),
        CancelReason::RunnerGone => Some(CancelReason::ToolEnded),
        CancelReason::ToolEnded => Some(CancelReason::ParentEnded),
        CancelReason::ParentEnded => None,
    }
}

fn route(route: &Route) -> Option<Route> {
    let epoch = Seq(3);
    match route {
        Route::Parked => Some(Route::Connect),
        Route::Connect => Some(Route::Notify),
        Route::Notify => Some(Route::Caller),
        Route::Caller => Some(Route::Parent),
        Route::Parent => Some(Route::ToolResponse { epoch }),
        Route::ToolResponse { .. } => Some(Route::Conversation { epoch }),
        Route::Conversation { .. } => None,
    }
}

fn about(about: &About) -> Option<About> {
    match about {
        About::Gate => Some(About::InDoubt),
        About::InDoubt => Some(About::Tool),
        About::Tool => None,
    }
}
