//! Verdicts record their inputs, and the inputs alone lead to the same verdict again.

use recount_session::catalog::ToolKind;
use recount_session::testing::Toolbox;
use recount_session::{
    Decision, FunctionCallReceived, PolicyDecided, Rule, Seq, ToolPolicy, Verdict as Says,
};
use serde_json::Value;

use crate::Verdict;
use crate::model::{Model, holds, name_of};
use crate::recording::{Recording, decided};
use crate::terms::CLERK;

/// Every verdict records the phase, the values, the counts and the result that follow from the
/// records before it. The call, the policies and those inputs alone lead to the same verdict by the
/// same rule.
pub(crate) fn verdicts_follow_from_what_they_record(recording: &Recording) -> Verdict {
    let mut model = Model::new(recording);
    for fact in &recording.facts {
        if let Some(Decision::PolicyDecided(it)) = decided(fact) {
            let inputs = it.inputs.as_ref().map(|inputs| inputs.to_value());
            if model.is_judged(it.call) {
                late_refusal(&model, it, inputs.as_ref())?;
                model.read(fact);
                continue;
            }
            let expected = model.inputs(it.call, it.rule, fact.at);
            if inputs != expected {
                return Err(format!("{} read {inputs:?}, not {expected:?}", fact.seq));
            }
            let inputs = inputs.unwrap_or_default();
            let of = inputs["of"].as_u64().map(Seq);
            let repeats = of.is_some_and(|of| recording.calls().contains_key(&of));
            let again = judge(model.call(it.call), model.tools, &inputs, repeats);
            if again != (it.verdict, it.rule) {
                return Err(format!("{} would be {again:?}", fact.seq));
            }
            let has = model.result_for(it.call, fact.at).is_some();
            if has
                && matches!(
                    it.rule,
                    Rule::Limit | Rule::Confirm | Rule::Default | Rule::Pending
                )
            {
                return Err(format!("{} overlooks a result", fact.seq));
            }
            let pending = model.pending_for(it.call).is_some();
            if pending && matches!(it.rule, Rule::Limit | Rule::Confirm | Rule::Default) {
                return Err(format!("{} overlooks an equal call", fact.seq));
            }
            let hash = model.tools.map(|tools| tools.policies().hash());
            if it.policies != hash {
                return Err(format!("{} names other policies", fact.seq));
            }
            if it.reason.is_some() != (it.verdict == Says::Refused) {
                return Err(format!("{} gives {:?} as its reason", fact.seq, it.reason));
            }
        }
        model.read(fact);
    }
    Ok(())
}

/// No tool is allowed more often than its current limits, in the session and in any minute.
pub(crate) fn no_limit_is_exceeded(recording: &Recording) -> Verdict {
    let mut model = Model::new(recording);
    for fact in &recording.facts {
        model.read(fact);
        let Some(Decision::PolicyDecided(PolicyDecided {
            call,
            verdict: Says::Allowed | Says::Ask | Says::AskProgram,
            rule: Rule::Confirm | Rule::Default,
            ..
        })) = decided(fact)
        else {
            continue;
        };
        let name = name_of(model.call(*call));
        let limits = model.policy(name).limits;
        let (session, minute) = model.used(name, fact.at);
        let within = |max: Option<u32>, used| max.is_none_or(|max| used <= max as usize);
        if !within(limits.per_session, session) || !within(limits.per_minute, minute) {
            let seq = fact.seq;
            return Err(format!(
                "{seq} makes it {session} and {minute}, of {limits:?}"
            ));
        }
    }
    Ok(())
}

/// Checks a second verdict on a call: its gate closed later, while a limit of open requests was
/// reached.
fn late_refusal(model: &Model, it: &PolicyDecided, inputs: Option<&Value>) -> Verdict {
    let open = model.open_requests(it.call).unwrap_or_default();
    let expected = serde_json::json!({ "open_requests": open });
    let tools = model.tools.map(|tools| tools.policies());
    let of_session = tools.and_then(|it| it.max_open_requests);
    let of_tool = model.policy(name_of(model.call(it.call)));
    let of_tool = of_tool.gate_terms.max_open_requests;
    let reached = |max: Option<u32>, open: &Value| {
        max.is_some_and(|max| open.as_u64().is_some_and(|open| open >= u64::from(max)))
    };
    let full = reached(of_session, &open["session"]) || reached(of_tool, &open["tool"]);
    let is_refusal = (it.verdict, it.rule) == (Says::Refused, Rule::Limit) && it.reason.is_some();
    if !full || !is_refusal || inputs != Some(&expected) || model.requests.was_asked(it.call) {
        return Err(format!("{it:?} is a second verdict; {expected} was open"));
    }
    Ok(())
}

/// Returns the verdict on a call by its record, the policies, and the recorded inputs.
fn judge(
    call: &FunctionCallReceived,
    tools: Option<&Toolbox>,
    inputs: &Value,
    repeats: bool,
) -> (Says, Rule) {
    let name = name_of(call);
    let declared = tools.and_then(|tools| tools.catalog().get(name));
    let policy: ToolPolicy = tools.map_or_else(ToolPolicy::default, |tools| {
        tools.policies().of(name).clone()
    });
    // Without a current phase, a tool that is limited to phases is in none of them.
    let nowhere = inputs["phase"].is_null() && policy.phases.is_some();
    let outside = inputs["phase"].as_str().map_or(nowhere, |phase| {
        let of_phase = tools.and_then(|tools| tools.policies().phase(phase)?.tools.as_ref());
        let of_conversation = of_phase.filter(|_| call.parent.is_none());
        of_conversation.is_some_and(|tools| !tools.contains(name))
            || policy.phases.as_ref().is_some_and(|it| !it.contains(phase))
    });
    // The test has only one agent, so that agent made the call.
    let agent = tools.and_then(|tools| tools.catalog().get(CLERK)?.agent.as_ref());
    let not_its_own = call.parent.is_some() && agent.is_none_or(|it| !it.tools.contains(name));
    let value_of = |key: &str| inputs["state"].get(key).cloned();
    let unmet = policy.when.as_ref().is_some_and(|it| !holds(it, &value_of));
    let reached = |max: Option<u32>, used: &Value| {
        max.is_some_and(|max| used.as_u64().is_some_and(|used| used >= u64::from(max)))
    };
    let used_up = reached(policy.limits.per_session, &inputs["used"]["session"])
        || reached(policy.limits.per_minute, &inputs["used"]["minute"]);
    let policies = tools.map(|tools| tools.policies());
    let of_session = policies.and_then(|it| it.max_open_requests);
    let asking_full = reached(of_session, &inputs["open_requests"]["session"])
        || reached(
            policy.gate_terms.max_open_requests,
            &inputs["open_requests"]["tool"],
        );
    let rules = [
        (call.beyond_max.is_some(), Says::Refused, Rule::Limit),
        (call.name.is_none(), Says::Refused, Rule::MissingName),
        (
            declared.is_none_or(|it| it.kind == ToolKind::ServerSide) || not_its_own,
            Says::Refused,
            Rule::UnknownTool,
        ),
        (
            call.malformed_args.is_some(),
            Says::Refused,
            Rule::MalformedArgs,
        ),
        (
            call.invalid_args.is_some(),
            Says::Refused,
            Rule::InvalidArgs,
        ),
        (outside, Says::Refused, Rule::Phase),
        (unmet, Says::Refused, Rule::Condition),
        (
            inputs["of"].is_u64() && !repeats,
            Says::Allowed,
            Rule::Cached,
        ),
        (repeats, Says::Refused, Rule::Pending),
        (used_up, Says::Refused, Rule::Limit),
        (
            policy.confirm && policy.gate_terms.asks_program,
            Says::AskProgram,
            Rule::Confirm,
        ),
        (asking_full, Says::Refused, Rule::Limit),
        (policy.confirm, Says::Ask, Rule::Confirm),
    ];
    let first = rules.into_iter().find(|(applies, ..)| *applies);
    first.map_or((Says::Allowed, Rule::Default), |(_, says, rule)| {
        (says, rule)
    })
}
