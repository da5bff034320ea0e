//! Records about standing leaves: what an answer allows, its uses and its end.

use serde::{Deserialize, Serialize};

use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// The bound of a standing leave: a time or a number of calls.
///
/// ```json
/// {"count":5}
/// {"until_us":1795190587112345}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowFor {
    /// The leave ends at this time, by the recorded time of the session.
    #[serde(rename = "until_us")]
    Until(Timestamp),
    /// The leave allows this number of further calls.
    Count(u32),
}

/// The lowest rules number of a program that knows standing leaves.
pub(crate) const RULES_OF_LEAVES: u32 = 2;

/// The maximum number of calls that one standing leave allows.
pub const ALLOW_COUNT_MAX: u32 = 1_000;

/// The maximum time that one standing leave lasts, in milliseconds: 31 days.
pub const ALLOW_FOR_MS_MAX: u64 = 31 * 24 * 3_600_000;

impl AllowFor {
    /// Returns the smaller of two bounds. `None` if one is a time and the other a count.
    ///
    /// ```
    /// use recount_session::{AllowFor, Timestamp};
    /// let (two, five) = (AllowFor::Count(2), AllowFor::Count(5));
    /// assert_eq!(five.least(two), Some(two));
    /// assert_eq!(five.least(AllowFor::Until(Timestamp(9))), None);
    /// ```
    #[must_use]
    pub fn least(self, other: AllowFor) -> Option<AllowFor> {
        match (self, other) {
            (AllowFor::Count(one), AllowFor::Count(two)) => Some(AllowFor::Count(one.min(two))),
            (AllowFor::Until(one), AllowFor::Until(two)) => Some(AllowFor::Until(one.min(two))),
            (AllowFor::Count(_), AllowFor::Until(_)) | (AllowFor::Until(_), AllowFor::Count(_)) => {
                None
            }
        }
    }

    /// Returns the reason why no leave may have this bound at the time `now`, if there is one.
    ///
    /// ```
    /// use recount_session::{AllowFor, Timestamp};
    /// let now = Timestamp(1_763_700_000_000_000);
    /// assert_eq!(AllowFor::Count(5).unfit_at(now), None);
    /// assert!(AllowFor::Count(0).unfit_at(now).is_some());
    /// assert!(AllowFor::Until(now).unfit_at(now).is_some());
    /// ```
    #[must_use]
    pub fn unfit_at(self, now: Timestamp) -> Option<String> {
        match self {
            AllowFor::Until(until) if until > now.after_ms(ALLOW_FOR_MS_MAX) => {
                let days = ALLOW_FOR_MS_MAX / 86_400_000;
                Some(format!("it allows for more than {days} days"))
            }
            AllowFor::Count(_) | AllowFor::Until(_) => self.ended_at(now),
        }
    }

    /// Returns the reason why no leave may have this bound at any time after `recorded`.
    ///
    /// The last record of a session may be old, so the maximum is measured at the answer alone.
    pub(crate) fn ended_at(self, recorded: Timestamp) -> Option<String> {
        match self {
            AllowFor::Count(count) => (count == 0 || count > ALLOW_COUNT_MAX)
                .then(|| format!("expected a count from 1 to {ALLOW_COUNT_MAX}, found {count}")),
            AllowFor::Until(until) => {
                (until <= recorded).then(|| "the time until which it allows has passed".to_owned())
            }
        }
    }
}

/// `leave_used`: a standing leave allows a gated call, so that no approver is asked.
///
/// ```json
/// {"call":17,"leave":9,"use":3,"count":5}
/// {"call":17,"leave":9,"use":3,"until_us":1795190587112345}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaveUsed {
    /// The call.
    pub call: Seq,
    /// The leave: the seq of the answer that gave it.
    pub leave: Seq,
    /// The number of calls that the leave has allowed, including this one.
    #[serde(rename = "use")]
    pub nth: u32,
    /// The number of calls that the leave allows, if it is bound to a count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The time at which the leave ends, if it is bound to a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_us: Option<Timestamp>,
}

impl LeaveUsed {
    /// The bound of the leave.
    #[must_use]
    pub fn bound(&self) -> Option<AllowFor> {
        let until = self.until_us.map(AllowFor::Until);
        self.count.map(AllowFor::Count).or(until)
    }

    /// The use as words that follow the leave: `, 3 of 5`, or `, use 3` without a count.
    #[doc(hidden)]
    #[must_use]
    pub fn in_words(&self) -> String {
        match self.count {
            Some(count) => format!(", {} of {count}", self.nth),
            None => format!(", use {}", self.nth),
        }
    }
}

/// `leave_revoked`: a standing leave ends before its bound.
///
/// ```json
/// {"leave":9,"by":{"name":"ada","authenticated_by":"os_user"},"reason":"wrong tool","rules":2}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaveRevoked {
    /// The leave: the seq of the answer that gave it.
    pub leave: Seq,
    /// The actor that revoked it.
    pub by: Actor,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of the rules that a reader of this record must know.
    pub rules: u32,
}
