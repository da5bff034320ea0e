//! Calls that the client does not have, and messages of the client that answer one.
//!
//! A client could answer a held call before its approval, in a place or under a name that the
//! vendor takes for that call's answer. So as long as a call is held, no answer with its id or its
//! name passes. An answer in the history of the conversation does, if its call is in the same
//! message and is one that this client has had and the vendor has an outcome of.

use super::calls::Calls;
use super::known::{Known, State};
use crate::frames::FrameError;
use crate::frames::answering::{Answer, answers};
use crate::frames::client::{is_media, text_of};
use crate::frames::responses::Response;

impl Calls {
    /// True if a message of the client answers a call that it does not have, in another place than
    /// the list of `toolResponse`.
    ///
    /// # Errors
    /// An error if the message cannot be searched.
    pub(crate) fn forges_answer(&self, frame: &[u8]) -> Result<bool, FrameError> {
        let is_withheld = self.known.values().any(|it| !it.was_given());
        let is_withheld = is_withheld || self.withheld().next().is_some();
        if !is_withheld || is_media(frame) {
            return Ok(false);
        }
        Ok(answers(text_of(frame)?)?.iter().any(|it| self.forges(it)))
    }

    fn forges(&self, answer: &Answer) -> bool {
        if answer.ids.iter().any(|id| self.is_withheld(id)) {
            return true;
        }
        let has_name = |name: &str| answer.names.iter().any(|it| it == name);
        let is_nameless = answer.ids.is_empty() && answer.names.is_empty();
        let mut withheld = self.withheld();
        let is_named = withheld.any(|(_, name)| has_name(name) || is_nameless);
        is_named && !(answer.follows_call && self.is_of_past(answer))
    }

    /// True if the answer is that of a call which the client has had, and which is over.
    fn is_of_past(&self, answer: &Answer) -> bool {
        let is_it = |it: &Known| {
            let id = it.id.as_ref();
            id.is_some_and(|id| answer.ids.contains(id)) && answer.names.contains(&it.name)
        };
        let mut known = self.known.values();
        known.any(|it| is_it(it) && it.was_given() && !it.lacks_outcome())
    }

    /// True if a call with this id has not been delivered: an open one, or else the newest one.
    fn is_withheld(&self, id: &str) -> bool {
        let mut open = self.withheld();
        let mut known = self.known.values().rev();
        let newest = known.find(|it| it.id.as_deref() == Some(id));
        newest.is_some_and(|it| !it.was_given()) || open.any(|(it, _)| it == Some(id))
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
