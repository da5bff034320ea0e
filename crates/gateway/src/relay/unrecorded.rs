//! Calls and answers that no record has: those that pass while the journal does not write, and
//! those of a session that has stopped.
//!
//! An answer to an observed call passes at once, with or without a session. The last answer to a
//! held call passes once it is on record. If it cannot be recorded, the vendor does not get it, but
//! is told that the outcome is unknown, as the record says: the client had the call.

use recount::session::Seq;

use super::calls::{Act, Calls};
use super::known::{Entry, Known, Record, State, is_for};
use super::messages::{Unanswered, to_client, unanswered};
use crate::frames::responses::Response;

impl Calls {
    /// Passes the calls that no policy names, although they are not on record yet.
    pub(crate) fn pass_unrecorded(&mut self, acts: &mut Vec<Act>) {
        let mut waiting = std::mem::take(&mut self.waiting);
        for waiting in &mut waiting {
            let free = |it: &Entry| !it.is_passed && !it.is_piece && !self.is_hidden(&it.name);
            if waiting.entries.iter().all(free)
                && let Some(whole) = waiting.whole.take()
            {
                waiting.rest = None;
                acts.push(Act::ToClient(whole));
            } else {
                acts.extend(waiting.rest.take().map(Act::ToClient));
                let calls = waiting.entries.iter().filter(|it| free(it));
                let texts: Vec<&str> = calls.map(|it| it.text.as_str()).collect();
                if !texts.is_empty() {
                    acts.push(Act::ToClient(to_client(&texts)));
                }
            }
            let passed: Vec<bool> = waiting.entries.iter().map(free).collect();
            for (entry, _) in waiting.entries.iter_mut().zip(passed).filter(|(_, it)| *it) {
                entry.is_passed = true;
                self.passed_unrecorded += 1;
                self.unrecorded
                    .insert((entry.id.clone(), entry.name.clone()));
            }
        }
        self.waiting = waiting;
        self.limit_unrecorded();
    }

    /// Answers the calls that cannot be recorded any more, because the session is gone.
    pub(crate) fn refuse_unrecorded(&mut self, acts: &mut Vec<Act>) {
        let mut waiting = std::mem::take(&mut self.waiting);
        let rests = waiting.iter_mut().filter_map(|it| it.rest.take());
        acts.extend(rests.map(Act::ToClient));
        // Those on record among them are known, too.
        let entries = waiting.into_iter().flat_map(|it| it.entries);
        for entry in entries.filter(|it| !it.is_passed && it.call.is_none()) {
            let refused = Unanswered::NotRun;
            acts.push(Act::Own(unanswered(
                entry.id.as_deref(),
                &entry.name,
                false,
                refused,
            )));
        }
        let held = self.known.values_mut();
        for known in held.filter(|it| matches!(it.state, State::Held) && !it.is_ended) {
            known.is_ended = true;
            known.text = None;
            // A call of the agent's own tools may have begun.
            let ending = match self.hosted.contains(&known.name) {
                true => Unanswered::Unknown,
                false => Unanswered::NotRun,
            };
            acts.push(known.unanswered(ending));
        }
    }

    /// Notes that the session has stopped. It gives no orders any more.
    pub(crate) fn stopped(&mut self, acts: &mut Vec<Act>) {
        self.is_stopped = true;
        let calls: Vec<Seq> = self.known.keys().copied().collect();
        for call in calls {
            self.conclude(call, acts);
        }
    }

    /// Notes that the client's last answer to a call is on record, or cannot be.
    pub(crate) fn settled(&mut self, call: Seq, record: Record, acts: &mut Vec<Act>) {
        if let Some(known) = self.known.get_mut(&call)
            && known.record == Record::Awaited
        {
            known.record = record;
            if self.is_stopped || record == Record::Failed {
                self.conclude(call, acts);
            }
        }
    }

    /// Gives the vendor the outcome of a call for which the session does not speak. One that waits
    /// for the client, or for the record, is left.
    fn conclude(&mut self, call: Seq, acts: &mut Vec<Act>) {
        let name = self.known.get(&call).map(|it| it.name.clone());
        let is_held = name.is_some_and(|it| self.is_held(&it));
        let Some(known) = self.known.get_mut(&call) else {
            return;
        };
        let is_recorded = match known.record {
            Record::Awaited => return,
            Record::Made => true,
            Record::Refused | Record::Failed => false,
            // The session has ended it without a word to the vendor. The client's answer to an
            // observed call passes still.
            Record::None if is_held && known.is_ended && known.lacks_outcome() => false,
            Record::None => return,
        };
        known.record = Record::None;
        let answer = self.answers.take_last(call).filter(|_| is_recorded);
        acts.push(match answer {
            Some(answer) if !known.is_told => Act::ToVendor(answer.message),
            Some(answer) => known.unanswered(Unanswered::Returned(&answer.response)),
            None => known.unanswered(Unanswered::Unknown),
        });
        known.tell();
    }

    /// True if the response is for a call that passed before it was on record. Its answer is kept
    /// for the record.
    pub(super) fn answers_unrecorded(&mut self, response: &Response<'_>, is_interim: bool) -> bool {
        let is_named = self.needs_name(response);
        let unrecorded = self.unrecorded.iter();
        let found = unrecorded.filter(|(id, name)| is_for((id.as_ref(), name), response, is_named));
        let found = found.min_by_key(|(_, name)| Some(name) != response.name.as_ref());
        let Some(key) = found.cloned() else {
            return self.answers_after_the_end(response, is_interim);
        };
        if is_interim {
            return true;
        }
        self.unrecorded.remove(&key);
        let mut entries = self.waiting.iter_mut().flat_map(|it| &mut it.entries);
        let is_entry = |it: &&mut Entry| it.id == key.0 && it.name == key.1;
        let entry = entries.find(|it| it.is_passed && it.answer.is_none() && is_entry(it));
        if let Some(entry) = entry {
            entry.answer = Some(response.returned.clone());
            return true;
        }
        // Recorded meanwhile, and not released: a policy has changed, or nothing is enforced.
        let mut known = self.known.iter_mut();
        let waits = |it: &Known| matches!(it.state, State::Passed(None));
        if let Some((call, known)) =
            known.find(|(_, it)| waits(it) && it.id == key.0 && it.name == key.1)
        {
            known.state = State::Passed(Some(response.returned.clone()));
            self.answered.insert(*call);
        }
        true
    }

    /// True if the response is the first one for an observed call that its session has ended
    /// without a word to the vendor, which still waits for it. What the session says later is not
    /// needed.
    fn answers_after_the_end(&mut self, response: &Response<'_>, is_interim: bool) -> bool {
        let is_named = self.needs_name(response);
        let mut known = self.known.iter();
        let found = known.find(|(_, it)| {
            let is_open = it.is_ended && it.lacks_outcome() && !self.is_held(&it.name);
            is_open && it.is_for(response, is_named)
        });
        let call = found.map(|(call, _)| *call);
        let known = call.and_then(|call| self.known.get_mut(&call));
        if let Some(known) = known
            && !is_interim
        {
            known.tell();
            self.answered.extend(call);
        }
        call.is_some()
    }

    pub(super) fn limit_unrecorded(&mut self) {
        while self.unrecorded.len() > super::calls::KNOWN_MAX {
            self.unrecorded.pop_first();
        }
    }
}
