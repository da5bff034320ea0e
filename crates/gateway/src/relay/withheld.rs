//! Calls that the client does not have, and messages of the client that answer one.
//!
//! A client could answer a held call before its approval, in a place or under a name that the
//! vendor takes for that call's answer. So as long as a call is held, no answer with its id or its
//! name passes. An answer in the history of the conversation does, if its call is in the same
//! message with an id of its own: a client that reconnects sends its history.

use std::collections::{HashMap, HashSet};

use super::calls::Calls;
use super::known::State;
use crate::frames::answering::{Answer, answers};
use crate::frames::client::{ClientFrame, is_media, look, text_of};
use crate::frames::responses::Response;

impl Calls {
    /// True if the client has a response outside the list of `toolResponse` in its message, while
    /// the calls of earlier connections are not known. A message that ends its connection does not
    /// wait, and is not searched: it may nest to any depth.
    pub(crate) fn must_wait(&self, frame: &[u8]) -> bool {
        let has_answer = |text| !answers(text).is_empty();
        !self.knows_enough()
            && !is_media(frame)
            && !matches!(look(frame), ClientFrame::Malformed(_))
            && text_of(frame).is_ok_and(has_answer)
    }

    /// True if the calls of earlier connections are known, or nothing waits for them any more.
    pub(crate) fn knows_enough(&self) -> bool {
        self.knows_earlier || self.is_stopped || self.waited
    }

    /// True if a message of the client answers a call that it does not have, in another place than
    /// the list of `toolResponse`.
    pub(crate) fn forges_answer(&self, frame: &[u8]) -> bool {
        let is_withheld = self.known.values().any(|it| !it.was_given());
        let is_withheld = is_withheld || self.withheld().next().is_some();
        if !is_withheld && self.knows_earlier || is_media(frame) {
            return false;
        }
        let Ok(text) = text_of(frame) else {
            return true;
        };
        let answers = answers(text);
        if answers.is_empty() {
            return false;
        }
        let withheld = Withheld::of(self);
        // A session that was not opened may have held calls, which stay unknown.
        !self.knows_earlier || answers.iter().any(|it| withheld.is_answered_by(it))
    }

    /// The ids and names of the open calls that the client does not have, also of those that are
    /// not on record yet.
    fn withheld(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        let known = self.known.values();
        let held = known.filter(|it| matches!(it.state, State::Held) && !it.is_ended);
        let held = held.map(|it| (it.id.as_deref(), it.name.as_str()));
        let waiting = self.waiting.iter().flat_map(|it| &it.entries);
        let waiting = waiting.filter(|it| !it.is_passed);
        let earlier = self.earlier.values();
        let earlier = earlier.map(|(id, name)| (id.as_deref(), name.as_str()));
        held.chain(waiting.map(|it| (it.id.as_deref(), it.name.as_str())))
            .chain(earlier)
    }

    /// True if a response could be that of a call which the client does not have: it has the name
    /// of one, or the id of one and no name. Then it counts only for a call with its own name.
    ///
    /// Any other name passes, also a wrong one: what the vendor makes of it is the client's affair.
    pub(super) fn needs_name(&self, response: &Response<'_>) -> bool {
        let id = response.id.as_deref();
        self.withheld().any(|(held, name)| match &response.name {
            Some(given) => given == name,
            None => held == id,
        })
    }
}

/// The calls that a message must not answer. It may have any number of answers, so each is looked
/// up.
struct Withheld<'c> {
    /// The ids of the calls that the client does not have: open ones, and any other one that is the
    /// newest with its id.
    ids: HashSet<&'c str>,
    /// The names of the open ones among them.
    names: HashSet<&'c str>,
    /// The ids of calls that the client has, and the vendor has no outcome of.
    unanswered: HashSet<&'c str>,
}

impl<'c> Withheld<'c> {
    fn of(calls: &'c Calls) -> Withheld<'c> {
        let known = calls.known.values();
        let with_id = known.filter_map(|it| Some((it.id.as_deref()?, it)));
        // The newest one with an id counts.
        let newest: HashMap<&str, bool> = with_id
            .clone()
            .map(|(id, it)| (id, it.was_given()))
            .collect();
        let newest = newest.into_iter().filter(|(_, was_given)| !was_given);
        let open = calls.withheld().filter_map(|(id, _)| id);
        let unanswered = with_id.filter(|(_, it)| it.was_given() && it.lacks_outcome());
        Withheld {
            ids: open.chain(newest.map(|(id, _)| id)).collect(),
            names: calls.withheld().map(|(_, name)| name).collect(),
            unanswered: unanswered.map(|(id, _)| id).collect(),
        }
    }

    fn is_answered_by(&self, answer: &Answer) -> bool {
        let has_one = |ids: &HashSet<&str>| answer.ids.iter().any(|it| ids.contains(it.as_str()));
        if has_one(&self.ids) {
            return true;
        }
        let is_nameless = answer.ids.is_empty() && answer.names.is_empty();
        let is_named = match is_nameless {
            true => !self.names.is_empty(),
            false => answer
                .names
                .iter()
                .any(|it| self.names.contains(it.as_str())),
        };
        is_named && (!answer.follows_call || has_one(&self.unanswered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_message_waits_for_nothing_since_it_ends_its_connection() {
        let calls = Calls::default();
        let answer = r#"{"functionResponse":{"id":"a","name":"pay","response":{}}}"#;
        let within = |depth: usize| {
            let (begin, end) = ("[".repeat(depth), "]".repeat(depth));
            format!(r#"{{"clientContent":{{"turns":{begin}{answer}{end}}}}}"#)
        };
        assert!(calls.must_wait(within(2).as_bytes()));
        assert!(!calls.must_wait(within(10_000).as_bytes()));
    }
}
