//! The passage of the client's messages to the vendor, and what the session gets of them.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::complaints::Complaint;
use super::ends::End;
use super::messages::like;
use super::passing::Received;
use super::reports::Report;
use super::task::Relay;
use crate::frames::client::{self, ClientFrame, text_of, user_text};
use crate::frames::declaring::with_tools;
use crate::frames::responses::{Response, split_responses};
use crate::frames::setup::ContextUpdate;

/// The maximum number of answers in a message. A session has at most 1,000 open calls, and each
/// answer is compared with those of the connection.
const ANSWERS_MAX: usize = 1_024;

/// The longest time for which a message with an answer, and what is behind it, waits for the calls
/// of earlier connections. A journal that cannot be written does not tell them.
const EARLY_MAX: Duration = Duration::from_secs(10);

/// The payload of a text or binary message.
fn bytes_of(message: &Message) -> &[u8] {
    match message {
        Message::Text(text) => text.as_bytes(),
        Message::Binary(bytes) => bytes,
        Message::Close(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => &[],
    }
}

impl Relay {
    pub(super) fn take_from_client(&mut self, message: Received) -> Option<End> {
        let message = match message {
            Some(Ok(message)) => message,
            Some(Err(error)) => return Some(End::of_client(&error)),
            None => return Some(End::ClientLost("the connection ended".to_owned())),
        };
        match &message {
            Message::Text(_) | Message::Binary(_) => {}
            Message::Close(frame) => return Some(End::Client(frame.clone())),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return None,
        }
        let waits = !self.early.is_empty() || self.calls.must_wait(bytes_of(&message));
        if waits {
            if self.early.is_empty() {
                self.early_until = Some(Box::pin(sleep(EARLY_MAX)));
            }
            self.early.push(message);
            return None;
        }
        self.pass_on(message)
    }

    /// Takes what still waits at the end of the connection: the client has sent it before.
    pub(super) fn take_last(&mut self) {
        while let Some(message) = self.early.pop() {
            if self.pass_on(message).is_some() {
                return;
            }
        }
    }

    /// Passes a message on, or what may pass of it.
    pub(super) fn pass_on(&mut self, message: Message) -> Option<End> {
        let bytes = bytes_of(&message);
        let class = client::look(bytes);
        let text = || text_of(bytes).unwrap_or_default();
        let is_readable = !matches!(class, ClientFrame::Malformed(_));
        if is_readable && self.calls.forges_answer(bytes) {
            self.complain(Complaint::Forged, 1, None);
            return None;
        }
        match class {
            ClientFrame::Realtime | ClientFrame::Other => self.to_vendor.push(message),
            ClientFrame::RealtimeText | ClientFrame::Content => {
                if let Err(end) = self.words_of(text()) {
                    return Some(end);
                }
                self.to_vendor.push(message);
            }
            ClientFrame::Setup => {
                return Some(End::Own(CloseCode::Invalid, "expected one setup, got two"));
            }
            ClientFrame::ContextUpdate => {
                let text = text().to_owned();
                return self.declare(message, &text);
            }
            ClientFrame::ToolResponse => {
                let message = message.clone();
                let text = text().to_owned();
                return self.answer(message, &text);
            }
            ClientFrame::Malformed(problem) => return Some(self.malformed(&problem)),
        }
        None
    }

    /// Checks a message with words, and reports them.
    fn words_of(&mut self, text: &str) -> Result<(), End> {
        client::check(text).map_err(|problem| self.malformed(&problem))?;
        if let Some(said) = user_text(text) {
            self.said(said);
        }
        Ok(())
    }

    /// Reports words of the client. They pass also if the busy session has no room for them.
    fn said(&mut self, words: String) {
        match self.reports.have_room_for_words() {
            true => self.report(Report::Said(words)),
            false => self.dropped += 1,
        }
    }

    /// Passes on a change of the client's tools, with the agent's own tools.
    ///
    /// It passes at once, as the declarations of a setup do. A call that follows it waits until the
    /// session has recorded the tools, because [copies](super::copies) follow earlier reports.
    fn declare(&mut self, message: Message, text: &str) -> Option<End> {
        let update = match ContextUpdate::read(text) {
            Ok(update) => update,
            Err(problem) => return Some(self.malformed(&problem)),
        };
        if let Some(beside) = &update.words_beside
            && let Err(end) = self.words_of(beside)
        {
            return Some(end);
        }
        let Some(declared) = update.declared else {
            self.to_vendor.push(message);
            return None;
        };
        if let Err(end) = self.may_declare(&declared) {
            return Some(end);
        }
        let hosted = self.hosted(&self.model, &declared);
        let changed = match with_tools(text, &hosted) {
            Ok(changed) => changed,
            Err(problem) => return Some(self.malformed(&problem)),
        };
        self.to_vendor.push(match hosted.is_empty() {
            true => message,
            false => like(&message, changed),
        });
        let names = hosted.iter().filter_map(|it| it["name"].as_str());
        self.calls.hosted = names.map(str::to_owned).collect();
        if let Some(wanted) = &mut self.wanted {
            wanted.tools = declared;
            return None;
        }
        self.report(Report::Tools(declared));
        None
    }

    fn answer(&mut self, message: Message, text: &str) -> Option<End> {
        let divided = match split_responses(text) {
            Ok(divided) => divided,
            Err(problem) => return Some(self.malformed(&problem)),
        };
        if divided.responses.len() > ANSWERS_MAX {
            let refused = "expected at most 1024 answers in a message";
            return Some(End::Own(CloseCode::Policy, refused));
        }
        let mut acts = Vec::new();
        let rest = divided.rest.as_ref().map(|it| like(&message, it.clone()));
        let unknown = self.calls.answered(message, &divided, &mut acts);
        self.perform(acts);
        let late = unknown.into_iter().map(|it| self.late(&it));
        // A message may have any number of them.
        let dropped = late.filter(|is_known| !is_known).count();
        self.complain(Complaint::NotDelivered, dropped, None);
        // It goes the way of a message of its own.
        rest.and_then(|it| self.pass_on(it))
    }

    /// Reports the answer to a call of an earlier connection. The session drops answers to other
    /// calls: the client does not have them. Returns false for one without an id.
    fn late(&mut self, response: &Response<'_>) -> bool {
        let Some(id) = response.id.as_deref() else {
            return false;
        };
        self.report(Report::Late {
            id: id.to_owned(),
            tool: response.name.as_deref().unwrap_or_default().to_owned(),
            returned: response.returned.clone(),
        });
        true
    }

    /// Logs bad messages of this connection.
    pub(super) fn complain(
        &self,
        complaint: Complaint,
        count: usize,
        problem: Option<&dyn Display>,
    ) {
        let client = self.request.admitted.actor().name.as_str();
        let complaints = &self.shared.complaints;
        complaints.tell((complaint, count), (self.session, client), problem);
    }

    fn malformed(&self, problem: &dyn Display) -> End {
        self.complain(Complaint::Malformed, 1, Some(problem));
        End::Own(
            CloseCode::Invalid,
            "expected a message that all readers read alike",
        )
    }
}
