//! The passage of the vendor's messages to the client, and the events of the session.

use std::time::Duration;

use tokio::time::sleep;
use tokio_tungstenite::tungstenite::{Error, Message};

use recount::live::wire::ServerMessage;
use recount::session::ResumptionHandle;

use super::calls::Act;
use super::complaints::Complaint;
use super::ends::End;
use super::messages::like;
use super::reports::Report;
use super::session::{self, Settled};
use super::task::{Event, Relay};
use crate::frames::FrameError;
use crate::frames::calls::{DividedFrame, cancellation, split};
use crate::frames::client::text_of;
use crate::frames::turns::without_calls;
use crate::frames::vendor::{self, VendorFrame};
use crate::places::PlaceKey;

/// The time for the record of a call, after which the journal counts as one that cannot be written.
const RECORD_MAX: Duration = Duration::from_secs(2);

pub(super) type Received = Option<Result<Message, Error>>;

impl Relay {
    /// True if the vendor is read: the client takes what comes, and a call can be handed on.
    pub(super) fn may_read_vendor(&self) -> bool {
        let channels = self.channels.as_ref();
        let can_hand_on = self.is_unrecorded || channels.is_none_or(|it| it.copies.has_room());
        // A call that the vendor sends may cause an answer that it does not take.
        self.to_client.has_room() && can_hand_on && self.to_vendor.has_room_for_own()
    }

    /// True if the client is read: the vendor takes what comes, and answers can be reported.
    pub(super) fn may_read_client(&self) -> bool {
        match self.early.is_empty() {
            true => self.may_take_client(),
            // Read on while messages wait, so that the end of the connection is seen.
            false => !self.calls.knows_enough() && self.early.has_room(),
        }
    }

    /// True if the next message of the client that waits passes now.
    pub(super) fn may_take_early(&self) -> bool {
        !self.early.is_empty() && self.calls.knows_enough() && self.may_take_client()
    }

    fn may_take_client(&self) -> bool {
        self.to_vendor.has_room() && (self.is_unrecorded || self.reports.have_room())
    }

    pub(super) fn of_session(&mut self, event: Event) {
        let (mut acts, mut written) = (Vec::new(), None);
        match event {
            Event::Opened(session) => {
                self.session = Some(session);
            }
            Event::Order(order) => written = self.calls.follow(*order, &mut acts),
            Event::Stopped => {
                self.is_unrecorded = true;
                // A session that goes on with another connection answers its calls there.
                if !self.cut.is_cancelled() {
                    self.give_up(&mut acts);
                    self.calls.stopped(&mut acts);
                }
            }
            Event::Settled(Settled { call, record }) => {
                self.calls.settled(call, record, &mut acts);
            }
        }
        if !self.calls.has_waiting() {
            self.overdue = None;
        }
        self.perform(acts);
        if let Some(written) = written {
            let ping = self.proofs.ask(written);
            self.to_vendor.push_own(ping);
        }
    }

    /// Handles calls that can no longer be recorded.
    fn give_up(&mut self, acts: &mut Vec<Act>) {
        if self.shared.settings.pass_observed || self.shared.settings.dry_run {
            self.calls.pass_unrecorded(acts);
        }
        self.calls.refuse_unrecorded(acts);
    }

    /// Passes the calls that wait for a journal that does not write.
    pub(super) fn pass_unrecorded(&mut self) {
        let mut acts = Vec::new();
        self.calls.pass_unrecorded(&mut acts);
        self.perform(acts);
    }

    pub(super) fn perform(&mut self, acts: Vec<Act>) {
        let passed = std::mem::take(&mut self.calls.passed_unrecorded);
        if passed > 0 {
            self.shared.gaps.add(passed);
        }
        for act in acts {
            match act {
                Act::ToClient(message) => self.to_client.push(message),
                Act::ToVendor(message) => self.to_vendor.push(message),
                Act::Own(message) => self.to_vendor.push_own(message),
                Act::Return {
                    start,
                    returned,
                    is_interim,
                } => self.report(Report::Return {
                    start,
                    returned,
                    is_interim,
                }),
            }
        }
    }

    /// Reports to the session. A client is read only while there is room for a report, but one of
    /// its messages may have many.
    pub(super) fn report(&mut self, report: Report) {
        if !self.reports.add(report) {
            self.complain(Complaint::Unreported, 1, None);
        }
    }

    /// Hands a copy to the session. Returns its number.
    fn copy(&mut self, text: &str) -> Option<u64> {
        let channels = self.channels.as_ref()?;
        match channels.copies.add(text, self.reports.added()) {
            true => {
                self.copies += 1;
                Some(self.copies)
            }
            false => {
                self.dropped += 1;
                None
            }
        }
    }

    /// Reads which tools the policies name. A reload of the policies counts for the next call.
    fn know_policies(&mut self) {
        if let Ok(named) = self.shared.engine.named_in_policies(&self.request.agent) {
            self.calls.named = named;
        }
    }

    /// Opens the session of the connection, once.
    fn open_session(&mut self) {
        if let (Some(wanted), Some(reported)) = (self.wanted.take(), self.reported.take()) {
            // Before the first order: calls of an earlier connection may be released at once.
            self.know_policies();
            let (cut, recorded) = (self.cut.clone(), self.reports.recorded());
            let channels = session::open(&self.shared, wanted, cut, recorded, reported);
            self.channels = Some(channels);
        }
    }

    pub(super) fn take_from_vendor(&mut self, message: Received) -> Option<End> {
        let message = match message {
            Some(Ok(message)) => message,
            Some(Err(error)) => return Some(End::of_vendor(&error)),
            None => return Some(End::VendorLost("the connection ended".to_owned())),
        };
        let bytes = match &message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
            Message::Close(frame) => return Some(End::Vendor(frame.clone())),
            Message::Pong(payload) => {
                self.proofs.pong(payload);
                return None;
            }
            Message::Ping(_) | Message::Frame(_) => return None,
        };
        match vendor::look(bytes) {
            VendorFrame::Passing => self.to_client.push(message),
            VendorFrame::Recorded => match text_of(bytes) {
                Ok(text) => {
                    self.hear(text);
                    self.to_client.push(message);
                }
                Err(problem) => self.hide(None, &problem),
            },
            VendorFrame::Deciding => {
                let message = message.clone();
                let text = text_of(bytes);
                match text.clone().and_then(|text| Ok((text, split(text)?))) {
                    Ok((text, divided)) => self.decide(message, text, &divided),
                    Err(problem) => self.hide(text.ok(), &problem),
                }
            }
        }
        None
    }

    /// Keeps a message from the client that it could read in another way than the gateway. The
    /// session records that it cannot be read.
    fn hide(&mut self, text: Option<&str>, problem: &dyn std::fmt::Display) {
        self.complain(Complaint::Unreadable, 1, Some(problem));
        if let Some(text) = text {
            self.copy(text);
        }
    }

    /// Gives the session a copy of a message without calls.
    fn hear(&mut self, text: &str) {
        if self.wanted.is_some() {
            // The answer to the setup, which the session does not need.
            self.open_session();
            return;
        }
        let channels = self.channels.as_ref();
        if channels.is_some_and(|it| it.copies.has_room_for_others()) {
            self.copy(text);
        } else {
            self.dropped += 1;
        }
        self.expect_handle(text);
    }

    /// Notes the handle in a message of the vendor before the client has it.
    fn expect_handle(&self, text: &str) {
        if let (Some(handle), Some(channels)) = (new_handle(text), &self.channels) {
            // Under the credential of this client alone.
            let credential = self.request.admitted.fingerprint();
            let own = PlaceKey::of_handle(credential, &handle);
            for key in [own, PlaceKey::of_any_handle(&handle)] {
                self.shared.index.expect(key, &channels.session);
            }
        }
    }

    /// Returns the message without calls in the model's turn that the client must not see there.
    /// `None`: it stays as it is.
    fn shown(&self, text: &str, has_call: bool) -> Result<Option<String>, FrameError> {
        if !has_call {
            return Ok(None);
        }
        without_calls(text, |name| name.is_none_or(|it| self.calls.is_hidden(it)))
    }

    fn decide(&mut self, message: Message, text: &str, divided: &DividedFrame<'_>) {
        if divided.calls.is_empty() && divided.cancelled.is_none() {
            self.hear(text);
            return match self.shown(text, divided.has_call_in_turn) {
                Ok(None) => self.to_client.push(message),
                Ok(Some(shown)) => self.to_client.push(like(&message, shown)),
                Err(problem) => self.hide(None, &problem),
            };
        }
        self.open_session();
        self.expect_handle(text);
        self.know_policies();
        let is_observed = |name: &Option<String>| {
            let name = name.as_deref();
            name.is_some_and(|it| !self.calls.is_hidden(it))
        };
        // A message with nothing to hold waits as a whole, and passes unchanged.
        let waits = divided.cancelled.is_none() && !divided.has_call_in_turn;
        let waits = waits && divided.calls.iter().all(|it| is_observed(&it.name));
        let rest = divided.rest.as_ref().filter(|_| waits);
        let rest = rest.map(|it| like(&message, it.clone()));
        if let Some(rest) = divided.rest.as_ref().filter(|_| !waits) {
            match self.shown(rest, divided.has_call_in_turn) {
                Ok(shown) => {
                    let shown = shown.unwrap_or_else(|| rest.clone());
                    self.to_client.push(like(&message, shown));
                }
                Err(problem) => self.hide(None, &problem),
            }
        }
        if let Some(cancelled) = &divided.cancelled {
            let given = self.calls.cancelled(&cancelled.ids);
            if !given.is_empty() {
                let is_whole = given == cancelled.ids && divided.calls.is_empty();
                let is_whole = is_whole && divided.rest.is_none();
                self.to_client.push(match is_whole {
                    true => message.clone(),
                    false => like(&message, cancellation(given.iter().map(String::as_str))),
                });
            }
        }
        let number = match self.is_unrecorded {
            true => None,
            false => self.copy(text),
        };
        if divided.calls.is_empty() {
            return;
        }
        self.calls
            .take(number.unwrap_or(u64::MAX), message, divided, rest);
        if number.is_none() {
            let mut acts = Vec::new();
            self.give_up(&mut acts);
            self.perform(acts);
        } else if self.shared.settings.pass_observed && self.overdue.is_none() {
            self.overdue = Some(Box::pin(sleep(RECORD_MAX)));
        }
    }
}

/// Returns the handle in a message that the session records. Its key may be written with escapes.
fn new_handle(text: &str) -> Option<ResumptionHandle> {
    if !["newHandle", "new_handle", "\\u"]
        .iter()
        .any(|it| text.contains(it))
    {
        return None;
    }
    let update = ServerMessage::decode(text)
        .ok()?
        .session_resumption_update?;
    let handle = update.new_handle.filter(|it| !it.is_empty())?;
    Some(ResumptionHandle::new(handle))
}
