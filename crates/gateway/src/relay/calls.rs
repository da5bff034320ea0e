//! The calls of one connection: what the client gets, and what its answers are.
//!
//! ```text
//! vendor's frame ─▶ waiting (the session records and judges it)
//!                     ├─ all calls released ─▶ the frame, unchanged
//!                     ├─ some released      ─▶ these calls, each alone
//!                     └─ held ─▶ released later ─▶ the call alone
//! client's answer ─┬─ observed: passed at once, and recorded
//!                  └─ held: recorded, then passed when the session says so
//! ```
//!
//! It is pure: it returns what is to be written and reported.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use recount::engine::RelayOrder;
use recount::live::Told;
use recount::session::{Json, Seq};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;

use super::answers::{Answer, Answers};
use super::known::{Delivery, Entry, Known, Record, State, Waiting};
use super::messages::{has_args, to_client, to_vendor};
use crate::frames::calls::{Call, DividedFrame, cancellation};
use crate::frames::responses::{DividedResponses, Response, Returned, failed};
use crate::sessions::Start;

/// The maximum number of calls of a connection that are known at the same time. A session refuses
/// calls beyond 1,000 open ones itself; the rest is room for those that ended.
pub(super) const KNOWN_MAX: usize = 4_096;

/// The size of a call's text, in bytes, from which it counts as large.
const LARGE: usize = 4 << 10;

/// The maximum size of large texts of calls that are held, in bytes. Others are written anew from
/// their record.
const TEXTS_MAX: usize = 4 << 20;

/// An act that follows from a message, an answer or an order.
#[derive(Debug, PartialEq)]
pub(crate) enum Act {
    /// The client gets a message.
    ToClient(Message),
    /// The vendor gets a message of the client.
    ToVendor(Message),
    /// The vendor gets a message of the gateway or of the session.
    Own(Message),
    /// The session gets the result of a call that the client has.
    Return {
        /// The start that the client holds.
        start: Start,
        /// The response, or what is wrong with it.
        returned: Returned,
        /// True if more results of the call follow.
        is_interim: bool,
    },
}

/// The calls of one connection.
#[derive(Default)]
pub(crate) struct Calls {
    /// The tools that the engine runs. The client never sees their calls.
    pub(crate) hosted: BTreeSet<String>,
    /// The tools that a policy names. Calls of the client's other tools are only observed. `None`:
    /// a policy is for every tool.
    pub(crate) named: Option<BTreeSet<String>>,
    /// True if nothing is held.
    pub(crate) dry_run: bool,
    /// True if the session has stopped.
    pub(super) is_stopped: bool,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) known: BTreeMap<Seq, Known>,
    /// True once every call of an earlier connection that waits is known.
    pub(super) knows_earlier: bool,
    /// True if messages have waited for that long enough.
    pub(super) waited: bool,
    /// The ids and tools of calls of earlier connections that no client has.
    pub(super) earlier: BTreeMap<Seq, (Option<String>, String)>,
    pub(super) answers: Answers,
    /// The calls whose answer has passed to the vendor before the session said it.
    pub(super) answered: BTreeSet<Seq>,
    /// The ids and tools of calls that passed before they were on record.
    pub(super) unrecorded: BTreeSet<(Option<String>, String)>,
    /// The number of calls that passed before they were on record.
    pub(crate) passed_unrecorded: u64,
}

impl Calls {
    /// True if calls of the tool are held for the session's decision.
    pub(crate) fn is_held(&self, tool: &str) -> bool {
        let is_named = |named: &BTreeSet<String>| named.contains(tool);
        !self.dry_run && self.named.as_ref().is_none_or(is_named)
    }

    fn is_hosted(&self, tool: &str) -> bool {
        self.hosted.contains(tool)
    }

    /// True if the client must not see calls of the tool before their delivery.
    pub(crate) fn is_hidden(&self, tool: &str) -> bool {
        self.is_held(tool) || self.is_hosted(tool)
    }

    /// True if a message waits for its record.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes a message with calls, which the session hears as its `number`-th one.
    ///
    /// `rest` is the rest of the message, if it waits for the calls.
    pub(crate) fn take(
        &mut self,
        number: u64,
        message: Message,
        divided: &DividedFrame<'_>,
        rest: Option<Message>,
    ) {
        let entry = |call: &Call<'_>| Entry {
            id: call.id.clone(),
            name: call.name.clone().unwrap_or_default(),
            text: call.text.to_owned(),
            is_piece: call.is_piece,
            call: None,
            released: None,
            is_passed: false,
            answer: None,
        };
        let entries: Vec<Entry> = divided.calls.iter().map(entry).collect();
        let is_whole = divided.rest.is_none() || rest.is_some();
        let is_whole = is_whole && divided.cancelled.is_none();
        self.waiting.push_back(Waiting {
            number,
            whole: is_whole.then_some(message),
            rest,
            entries,
        });
    }

    /// Follows an order of the session. Returns the report that is due once the vendor has read a
    /// message of it.
    pub(crate) fn follow(
        &mut self,
        order: RelayOrder,
        acts: &mut Vec<Act>,
    ) -> Option<oneshot::Sender<()>> {
        match order {
            RelayOrder::Received { call, id, tool } => self.received(call, id, tool),
            RelayOrder::Waits { call, id, tool } => drop(self.earlier.insert(call, (id, tool))),
            RelayOrder::Taken => self.knows_earlier = true,
            RelayOrder::Deliver {
                call,
                attempt,
                id,
                tool,
                args,
            } => self.released(Start { call, attempt }, (id, tool), args, acts),
            RelayOrder::Ended { call } => self.ended(call, acts),
            RelayOrder::Heard { message } => self.heard(message, acts),
            RelayOrder::Send {
                message,
                told,
                written,
            } => {
                acts.extend(self.said(message, told));
                return Some(written);
            }
        }
        None
    }

    fn received(&mut self, call: Seq, id: Option<String>, tool: String) {
        let mut entries = self.waiting.iter_mut().flat_map(|it| &mut it.entries);
        let entry = entries.find(|it| it.call.is_none() && it.id == id && it.name == tool);
        let text = entry.map(|entry| {
            entry.call = Some(call);
            entry.text.clone()
        });
        let text = text.filter(|it| it.len() < LARGE || self.has_room_for_text());
        self.known.insert(call, Known::held(id, tool, text));
        if self.known.len() > KNOWN_MAX {
            let over = self.known.iter().find(|(_, it)| it.is_over());
            let over = over.map(|(call, _)| *call);
            over.map(|it| self.known.remove(&it));
        }
    }

    fn released(
        &mut self,
        start: Start,
        (id, name): (Option<String>, String),
        args: Json,
        acts: &mut Vec<Act>,
    ) {
        let mut entries = self.waiting.iter_mut().flat_map(|it| &mut it.entries);
        if let Some(entry) = entries.find(|it| it.call == Some(start.call)) {
            entry.released = Some((start, args));
            return;
        }
        self.earlier.remove(&start.call);
        // A call of an earlier connection has no text here.
        let known = self.known.entry(start.call);
        let known = known.or_insert_with(|| Known::held(id, name, None));
        match known.deliver(start, &args) {
            Some(Delivery::Text(text)) => acts.push(Act::ToClient(to_client(&[text]))),
            Some(Delivery::Answered(returned)) => acts.push(Act::Return {
                start,
                returned,
                is_interim: false,
            }),
            None => {}
        }
    }

    /// True if the text of another large call is kept.
    fn has_room_for_text(&self) -> bool {
        let texts = self.known.values().filter_map(|it| it.text.as_ref());
        let large = texts.map(String::len).filter(|it| *it >= LARGE);
        large.sum::<usize>() < TEXTS_MAX
    }

    /// Handles a message whose calls are all on record now.
    fn heard(&mut self, number: u64, acts: &mut Vec<Act>) {
        while self.waiting.front().is_some_and(|it| it.number <= number) {
            if let Some(waiting) = self.waiting.pop_front() {
                self.divide(waiting, acts);
            }
        }
    }

    fn divide(&mut self, waiting: Waiting, acts: &mut Vec<Act>) {
        let Waiting {
            whole,
            rest,
            entries,
            ..
        } = waiting;
        let passes = |it: &Entry| {
            let is_free = self.dry_run && !self.is_hosted(&it.name);
            !it.is_passed && !it.is_piece && (it.released.is_some() || is_free)
        };
        let edited = |it: &Entry| {
            let released = it.released.as_ref();
            released.is_some_and(|(_, args)| !has_args(&it.text, args))
        };
        let is_unchanged = entries.iter().all(|it| passes(it) && !edited(it));
        let whole = whole.filter(|_| is_unchanged && !entries.is_empty());
        let is_whole = whole.is_some();
        acts.extend(whole.map(Act::ToClient));
        acts.extend(rest.filter(|_| !is_whole).map(Act::ToClient));
        let mut texts = Vec::new();
        for entry in entries {
            let is_free = self.dry_run && !self.is_hosted(&entry.name);
            let is_given = is_whole || entry.is_passed;
            let Some(known) = entry.call.and_then(|call| self.known.get_mut(&call)) else {
                continue;
            };
            if is_free && entry.released.is_none() {
                // The client has it without a claim, so its answers pass unrecorded.
                self.unrecorded
                    .insert((entry.id.clone(), entry.name.clone()));
            }
            match entry.released {
                Some((start, _)) if is_given => {
                    known.state = State::Delivered(start);
                    if let Some(returned) = entry.answer {
                        known.end();
                        self.answered.insert(start.call);
                        acts.push(Act::Return {
                            start,
                            returned,
                            is_interim: false,
                        });
                    }
                }
                Some((start, args)) => {
                    if let Some(Delivery::Text(text)) = known.deliver(start, &args) {
                        texts.push(text);
                    }
                }
                None if is_given => {
                    // The session judges it otherwise by now, and releases it later or never.
                    if entry.answer.is_some()
                        && let Some(call) = entry.call
                    {
                        self.answered.insert(call);
                    }
                    known.state = State::Passed(entry.answer);
                }
                None if is_free => {
                    texts.extend(known.text.take());
                    known.state = State::Passed(None);
                }
                None => {}
            }
            if is_given {
                known.text = None;
            }
        }
        // Calls that are released together stay together: some clients lose one of two messages
        // in a row.
        if !texts.is_empty() {
            acts.push(Act::ToClient(to_client(&texts)));
        }
    }

    /// Returns the cancellation of the calls that the client has, of those that the vendor cancels.
    pub(crate) fn cancelled(&mut self, ids: &[String]) -> Vec<String> {
        let known = self.known.values();
        let known = known.filter_map(|it| Some((it.id.as_deref()?, it.was_given())));
        // The newest one with an id counts, and a message may have any number of ids.
        let newest: HashMap<&str, bool> = known.collect();
        let unrecorded = self.unrecorded.iter();
        let unrecorded: HashSet<&str> = unrecorded.filter_map(|(id, _)| id.as_deref()).collect();
        let has = |id: &&String| {
            newest.get(id.as_str()) == Some(&true) || unrecorded.contains(id.as_str())
        };
        let given: Vec<String> = ids.iter().filter(has).cloned().collect();
        let ended: HashSet<&String> = given.iter().collect();
        let is_given = |id: &Option<String>| id.as_ref().is_some_and(|it| ended.contains(it));
        self.unrecorded.retain(|(id, _)| !is_given(id));
        let known = self.known.values_mut();
        known.filter(|it| is_given(&it.id)).for_each(Known::end);
        given
    }

    /// Handles the end of a call. A client that has it hears that its answer is not needed.
    fn ended(&mut self, call: Seq, acts: &mut Vec<Act>) {
        self.earlier.remove(&call);
        let Some(known) = self.known.get_mut(&call) else {
            return;
        };
        if let (State::Delivered(_), Some(id)) = (&known.state, &known.id) {
            let text = cancellation([id.as_str()]);
            acts.push(Act::ToClient(Message::binary(text)));
        }
        known.text = None;
        known.is_ended = true;
        known.end();
    }

    /// Takes the answers of the client, without the rest of their message. Returns the answers to
    /// calls that it does not have.
    pub(crate) fn answered<'a>(
        &mut self,
        message: Message,
        divided: &DividedResponses<'a>,
        acts: &mut Vec<Act>,
    ) -> Vec<Response<'a>> {
        let mut unknown = Vec::new();
        let (mut passed, mut reports) = (Vec::new(), Vec::new());
        let is_alone = divided.rest.is_none();
        let is_whole = is_alone && divided.responses.iter().all(|it| it.returned.is_ok());
        for response in &divided.responses {
            let text = response.on_record();
            let is_interim = response.will_continue == Some(true);
            let Some(start) = self.start_of(response) else {
                match self.answers_unrecorded(response, is_interim) {
                    true => passed.push(text),
                    false => unknown.push(response.clone()),
                }
                continue;
            };
            let name = self.known.get(&start.call).map(|it| it.name.clone());
            let is_held = name.is_some_and(|it| self.is_held(&it));
            if let Some(known) = self.known.get_mut(&start.call)
                && !is_interim
            {
                known.end();
                match is_held {
                    true => known.record = Record::Awaited,
                    false => known.tell(),
                }
            }
            if is_held {
                let returned = response.returned.clone();
                self.answers.keep(Answer {
                    call: start.call,
                    response: returned.unwrap_or_else(|reason| failed(&reason)),
                    message: match is_whole && divided.responses.len() == 1 {
                        true => message.clone(),
                        false => to_vendor(&[text], divided.spelling, &message),
                    },
                });
            } else {
                passed.push(text);
                self.answered.insert(start.call);
            }
            reports.push(Act::Return {
                start,
                returned: response.returned.clone(),
                is_interim,
            });
        }
        if passed.len() == divided.responses.len() && is_whole && !passed.is_empty() {
            acts.push(Act::ToVendor(message));
        } else if !passed.is_empty() {
            let divided = to_vendor(&passed, divided.spelling, &message);
            acts.push(Act::ToVendor(divided));
        }
        acts.append(&mut reports);
        while self.answered.len() > KNOWN_MAX {
            self.answered.pop_first();
        }
        unknown
    }

    /// Finds the call that a response is for, if the client has it and it waits for an answer.
    fn start_of(&self, response: &Response<'_>) -> Option<Start> {
        let is_named = self.needs_name(response);
        let delivered = self.known.values().filter_map(|it| match it.state {
            State::Delivered(start) if it.is_for(response, is_named) => Some((it, start)),
            State::Held | State::Passed(_) | State::Delivered(_) | State::Over => None,
        });
        // Calls may share an id. Then the name decides.
        let found = delivered.min_by_key(|(it, _)| Some(&it.name) != response.name.as_ref());
        found.map(|(_, start)| start)
    }

    /// Returns the message that the vendor gets for one of the session.
    ///
    /// The client's own text goes out if it says the same. An observed call that the client has
    /// answered needs none: its answer has passed.
    fn said(&mut self, message: String, told: Option<Told>) -> Option<Act> {
        let Some(told) = told else {
            return Some(Act::Own(Message::text(message)));
        };
        let is_of_client = !self.is_hosted(&told.tool);
        let answer = self.answers.take(&told, &message);
        let is_over = self.answered.contains(&told.call);
        let is_free = self.dry_run && self.known.contains_key(&told.call);
        if let Some(known) = self.known.get_mut(&told.call) {
            known.is_told = true;
            if !told.is_interim {
                known.has_outcome = true;
                known.record = Record::None;
            }
        }
        if is_of_client && (is_over || is_free) {
            return None;
        }
        let same = answer.filter(|_| !told.as_conversation);
        Some(match same {
            Some(same) => Act::ToVendor(same),
            None => Act::Own(Message::text(message)),
        })
    }

    /// Returns the calls that the client has and has not answered, when its connection ends.
    pub(crate) fn unanswered(&self) -> Vec<(String, Start)> {
        let known = self.known.values();
        let left = known.filter_map(|it| match (&it.id, &it.state) {
            (Some(id), State::Delivered(start)) => Some((id.clone(), *start)),
            (_, State::Held | State::Passed(_) | State::Delivered(_) | State::Over) => None,
        });
        left.collect()
    }
}
