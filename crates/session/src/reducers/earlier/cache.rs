//! Cached results. They are derived from events, so a restart keeps them and a replay repeats them.
//!
//! ```text
//! received ─▶ policy_decided{cached} ─▶ call_ready ─┬─▶ result_reused ─▶ response_issued
//! (as any other call) ─▶ call_ready ────────────────┤
//!                                                   └─ waits while an equal call runs, so
//!                                                      that one run serves all of them
//! ```
//!
//! Two calls are equal if they name the same tool and their arguments are the same text with sorted
//! keys. So `1` and `1.0` differ, and so do 2^53 and 2^53+1. Only results are cached, not failures,
//! and only while the tool's contract stays the same. A hit needs no approval: nothing runs, and
//! the model already has the result from the earlier call.

use crate::calls::call::Call;
use crate::calls::reusable::Cached;
use crate::json::write_canonical;
use crate::policies::policy::ToolPolicy;
use crate::record::decision::ResultReused;
use crate::state::session::Session;
use crate::values::id::Seq;
use crate::values::milliseconds;
use crate::values::object::ObjectHash;
use crate::values::scheduling::FunctionResponseScheduling;

/// The cache key of a call, if its tool's policy allows caching.
pub(crate) fn key_of(policy: &ToolPolicy, call: &Call) -> Option<ObjectHash> {
    (policy.cache && call.flaw.is_none()).then(|| call_hash(call))
}

/// The hash of a call's tool and canonical arguments, the same for equal calls.
pub(crate) fn call_hash(call: &Call) -> ObjectHash {
    let mut text = String::with_capacity(call.name.len() + 1 + call.args.as_str().len());
    text.push_str(&call.name);
    text.push('\u{1}');
    write_canonical(call.args.as_str(), &mut text);
    ObjectHash::of(text.as_bytes())
}

/// The `tool_returned` record of an equal call, if its result may be reused now.
pub(crate) fn fresh(session: &Session, call: &Call) -> Option<Seq> {
    let cached = session.cache.results.get(&call.cache_key?)?;
    let policy = session.terms.policies.of(&call.name);
    let young = policy
        .cache_max_age
        .is_none_or(|age| session.at <= cached.at.after_ms(milliseconds::of(age)));
    let same_tool = session.terms.contract(&call.name) == cached.contract;
    (policy.cache && young && same_tool).then_some(cached.of)
}

/// The alternatives to running a ready call: reuse an earlier result, or wait for one.
pub(crate) enum Alternative {
    Reuse(ResultReused),
    Wait,
}

pub(crate) fn alternative(session: &Session, seq: Seq, call: &Call) -> Option<Alternative> {
    let key = call.cache_key?;
    if let Some(of) = fresh(session, call) {
        return Some(Alternative::Reuse(ResultReused { call: seq, of }));
    }
    let shared = session.terms.policies.of(&call.name).cache;
    let running = session.cache.running.get(&key)?;
    (shared && *running != seq).then_some(Alternative::Wait)
}

/// True if a ready call can only wait for an equal one.
pub(crate) fn waits(session: &Session, seq: Seq, call: &Call) -> bool {
    match alternative(session, seq, call) {
        Some(Alternative::Wait) => true,
        Some(Alternative::Reuse(_)) | None => false,
    }
}

/// Adds a call to the calls that wait for an equal one, or removes it.
///
/// A waiting call is woken only by the call that it waits for.
pub(crate) fn set_waiting(session: &mut Session, seq: Seq, key: ObjectHash, waits: bool) {
    if waits {
        session.cache.waiting.entry(key).or_default().insert(seq);
    } else if let Some(waiting) = session.cache.waiting.get_mut(&key) {
        waiting.remove(&seq);
        if waiting.is_empty() {
            session.cache.waiting.remove(&key);
        }
    }
}

/// Clears the waiting calls, because the caller examines all of them again.
pub(crate) fn wake_all(session: &mut Session) {
    session.cache.waiting.clear();
}

fn wake(session: &mut Session, key: ObjectHash) {
    if let Some(waiting) = session.cache.waiting.get(&key) {
        session.restless.extend(waiting);
    }
}

pub(crate) fn started(session: &mut Session, seq: Seq) {
    if let Some(key) = session.calls.get(&seq).and_then(|call| call.cache_key) {
        session.cache.running.insert(key, seq);
        // The other calls with this key wait for this one now, unless they are cancelled.
        let waiting = session.cache.waiting.get(&key);
        for other in waiting.into_iter().flatten().filter(|it| **it != seq) {
            let call = session.calls.get(other);
            if call.is_none_or(|call| call.cancel.is_none()) {
                session.restless.remove(other);
            }
        }
    }
}

/// Stores a result, so that equal calls may reuse it.
pub(crate) fn returned(session: &mut Session, call: Seq, of: Seq) {
    let Some(call) = session.calls.get(&call) else {
        return;
    };
    if let Some(key) = call.cache_key {
        let cached = Cached {
            of,
            at: session.at,
            contract: session.terms.contract(&call.name),
            scheduling: call.own_scheduling,
        };
        session.cache.results.insert(key, cached);
        wake(session, key);
    }
}

/// The scheduling of a reused result, if the result itself asked for one.
pub(crate) fn scheduling_of(
    session: &Session,
    it: &ResultReused,
) -> Option<FunctionResponseScheduling> {
    let key = session.calls.get(&it.call)?.cache_key?;
    let cached = session.cache.results.get(&key)?;
    cached.scheduling.filter(|_| cached.of == it.of)
}

/// Wakes the calls that wait for this one, because it ended, paused or returned to a person.
pub(crate) fn stopped(session: &mut Session, seq: Seq, key: Option<ObjectHash>) {
    if let Some(key) = key
        && session.cache.running.get(&key) == Some(&seq)
    {
        session.cache.running.remove(&key);
        wake(session, key);
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
