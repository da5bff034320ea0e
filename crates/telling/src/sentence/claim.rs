//! Sentences about calls that clients run.

use super::names::Names;
use super::phrases::clause;
use crate::text::{acted, age};
use crate::tone::Tone;
use recount::session::{CallClaimed, ClaimEnded, LeaseRenewed};

pub(super) fn call_claimed(it: &CallClaimed, names: &Names) -> (String, Tone) {
    let (tool, by) = (names.call(it.call), acted("by", &it.by));
    let (attempt, until) = (it.attempt, age::moment(it.until_us));
    let text = format!("{tool} claimed {by} until {until}, attempt {attempt}");
    (text, Tone::Plain)
}

pub(super) fn lease_renewed(it: &LeaseRenewed, names: &Names) -> (String, Tone) {
    let (tool, by) = (names.call(it.call), acted("by", &it.by));
    let until = age::moment(it.until_us);
    let text = format!("claim of {tool} renewed {by} until {until}");
    (text, Tone::Quiet)
}

pub(super) fn claim_ended(it: &ClaimEnded, names: &Names) -> (String, Tone) {
    let (tool, by) = (names.call(it.call), acted("by", &it.by));
    let reason = clause(it.reason.as_deref());
    if it.not_begun {
        let text = format!("{tool} given back {by} before it began{reason}");
        return (text, Tone::Plain);
    }
    (format!("claim of {tool} ended {by}{reason}"), Tone::Bad)
}
