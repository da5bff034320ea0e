//! The approvals of the last minute per approver, counted by recorded time.
//!
//! Only a yes counts, and only a yes is limited: the limit prevents approvals that are given
//! without a look at the request. A denial or a found outcome lets nothing run. A refused answer
//! changed nothing, so it does not count either.
//!
//! Approvals from before the limit was declared do not count.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::session::Session;
use crate::values::actor::{Actor, Authentication, Person};
use crate::values::time::Timestamp;

/// The party whose approvals count together: a person, a program with all its fields, or all actors
/// whose names no party vouches for.
///
/// A program that answers is limited like a person, by its name and its flag. An actor could choose
/// another unverified name for each approval, so such names share one limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Approver {
    Person(Person),
    Other(Actor),
    Unverified,
}

impl Approver {
    fn of(actor: &Actor) -> Approver {
        let is_verified = match actor.authenticated_by {
            Authentication::Embedder | Authentication::Token | Authentication::OsUser => true,
            Authentication::None => false,
        };
        match actor.person() {
            Some(person) => Approver::Person(person),
            None if actor.is_program() && is_verified => Approver::Other(actor.clone()),
            None => Approver::Unverified,
        }
    }
}

/// The approvals of the last minute, oldest first. Empty if they are not limited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecentApprovals(VecDeque<(Timestamp, Approver)>);

impl RecentApprovals {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Session {
    /// Counts an approval that was just recorded, if approvals are limited.
    pub(crate) fn note_approval(&mut self, by: &Actor) {
        if self.terms.policies.answers_per_minute.is_none() {
            return;
        }
        let (at, since) = (self.at, self.at.before_ms(MINUTE_MS));
        let recent = &mut self.recent_approvals.0;
        while recent.front().is_some_and(|(at, _)| *at <= since) {
            recent.pop_front();
        }
        recent.push_back((at, Approver::of(by)));
    }

    /// Returns the limit of approvals per minute, if the approver has reached it at `now`.
    pub(crate) fn approvals_used_up(&self, by: &Actor, now: Timestamp) -> Option<u32> {
        let max = self.terms.policies.answers_per_minute?;
        let approver = Approver::of(by);
        // Time never runs backwards in a session.
        let since = now.max(self.at).before_ms(MINUTE_MS);
        let recent = self.recent_approvals.0.iter().rev();
        let recent = recent.take_while(|(at, _)| *at > since);
        let given = recent.filter(|(_, by)| *by == approver).count();
        (u32::try_from(given).unwrap_or(u32::MAX) >= max).then_some(max)
    }
}

const MINUTE_MS: u64 = 60_000;
