//! The stored form of a tool's policy. Default values are left out.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approvers::Approvers;
use super::condition::Condition;
use super::gate_terms::GateTerms;
use super::on_expiry::OnExpiry;
use super::progress::Progress;
use super::tool_policy::{Background, Edits, InDoubt, Limits, Repeats, Retry, ToolPolicy};
use crate::values::milliseconds;

/// A policy in its stored form.
#[derive(Deserialize, Serialize)]
pub(super) struct Stored {
    #[serde(
        default,
        with = "milliseconds",
        rename = "timeout_ms",
        skip_serializing_if = "Option::is_none"
    )]
    timeout: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache: Option<StoredCache>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirm: Option<StoredGate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    acknowledgement: Option<Value>,
    #[serde(
        default,
        with = "milliseconds",
        rename = "acknowledge_after_ms",
        skip_serializing_if = "Option::is_none"
    )]
    acknowledge_after: Option<Duration>,
    #[serde(default, skip_serializing_if = "Repeats::is_run")]
    repeats: Repeats,
    #[serde(default, skip_serializing_if = "InDoubt::is_settle_unknown")]
    in_doubt: InDoubt,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    withdraw_on_cancel: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    interim_status: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    background: Option<Background>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry: Option<Retry>,
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    limits: Limits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phases: Option<BTreeSet<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<Condition>,
}

#[derive(Default, Deserialize, Serialize)]
struct StoredCache {
    #[serde(
        default,
        with = "milliseconds",
        rename = "max_age_ms",
        skip_serializing_if = "Option::is_none"
    )]
    max_age: Option<Duration>,
}

#[derive(Default, Deserialize, Serialize)]
struct StoredGate {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(
        default,
        with = "milliseconds",
        rename = "expires_after_ms",
        skip_serializing_if = "Option::is_none"
    )]
    expires_after: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_expiry: Option<OnExpiry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<Condition>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    asks_program: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edits: Option<Edits>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keeps_reason: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    may_allow_for_session: bool,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    approvers: BTreeSet<Approvers>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    not_requester: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quorum: Option<NonZeroU32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_open_requests: Option<u32>,
}

impl From<Stored> for ToolPolicy {
    fn from(stored: Stored) -> Self {
        let confirm = stored.confirm.is_some();
        let gate = stored.confirm.unwrap_or_default();
        Self {
            timeout: stored.timeout,
            cache: stored.cache.is_some(),
            cache_max_age: stored.cache.and_then(|it| it.max_age),
            confirm,
            confirm_message: gate.hint,
            gate_terms: GateTerms {
                expires_after: gate.expires_after,
                on_expiry: gate.on_expiry,
                when: gate.when,
                asks_program: gate.asks_program,
                payload: gate.payload,
                edits: gate.edits,
                keeps_reason: gate.keeps_reason,
                may_allow_for_session: gate.may_allow_for_session,
                approvers: gate.approvers,
                not_requester: gate.not_requester,
                quorum: gate.quorum.map(NonZeroU32::get),
                max_open_requests: gate.max_open_requests,
            }
            .into(),
            acknowledgement: stored.acknowledgement,
            acknowledge_after: stored.acknowledge_after,
            repeats: stored.repeats,
            in_doubt: stored.in_doubt,
            withdraw_on_cancel: stored.withdraw_on_cancel,
            interim_status: stored.interim_status,
            progress: stored.progress,
            background: stored.background,
            retry: stored.retry,
            limits: stored.limits,
            phases: stored.phases,
            when: stored.when,
        }
    }
}

impl From<ToolPolicy> for Stored {
    /// Drops a hint or a maximum age whose gate or cache is off.
    fn from(policy: ToolPolicy) -> Self {
        let max_age = policy.cache_max_age;
        let GateTerms {
            expires_after,
            on_expiry,
            when,
            asks_program,
            payload,
            edits,
            keeps_reason,
            may_allow_for_session,
            approvers,
            not_requester,
            quorum,
            max_open_requests,
        } = policy.gate_terms.into_terms();
        let gate = StoredGate {
            hint: policy.confirm_message,
            expires_after,
            on_expiry,
            when,
            asks_program,
            payload,
            edits,
            keeps_reason,
            may_allow_for_session,
            approvers,
            not_requester,
            // A registered tool has no quorum of 0. It must not be read as none.
            quorum: quorum.map(|it| NonZeroU32::new(it).unwrap_or(NonZeroU32::MIN)),
            max_open_requests,
        };
        Self {
            timeout: policy.timeout,
            cache: policy.cache.then_some(StoredCache { max_age }),
            confirm: policy.confirm.then_some(gate),
            acknowledgement: policy.acknowledgement,
            acknowledge_after: policy.acknowledge_after,
            repeats: policy.repeats,
            in_doubt: policy.in_doubt,
            withdraw_on_cancel: policy.withdraw_on_cancel,
            interim_status: policy.interim_status,
            progress: policy.progress,
            background: policy.background,
            retry: policy.retry,
            limits: policy.limits,
            phases: policy.phases,
            when: policy.when,
        }
    }
}
