//! Listings of the calls that wait for a response from outside.

use std::collections::{BTreeMap, BTreeSet};

use recount_journal::OpenItem;
use serde::{Deserialize, Serialize};

use super::{Error, Ledger, ParentCall};
use crate::session::{
    CallId, Event, Fact, FunctionCallReceived, Json, Observation, OpenKind, Seq, SessionId,
    Timestamp,
};

/// The number of records read at a time when searching for a call's pause.
const NEARBY: usize = 16;

/// A call that waits for a response from outside.
///
/// In JSON, its id has the key `call_id`, and its seq the key `call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedCall {
    /// The id, for the response.
    #[serde(rename = "call_id")]
    pub id: CallId,
    /// The session.
    pub session: SessionId,
    /// The agent that serves the session.
    pub agent: String,
    /// The id that the embedding program chose for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The seq of the call's record.
    pub call: Seq,
    /// The agent's call during which this call was made. `None`, and omitted, if the conversation's
    /// model made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<ParentCall>>,
    /// The tool.
    pub tool: String,
    /// The arguments with which the tool runs, exactly as recorded: the model's or the approver's.
    pub args: Json,
    /// The model's arguments, if the approver changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_before_edit: Option<Json>,
    /// The state that the tool gets back when it resumes the call.
    ///
    /// This is the state of the pause or, without one, the interim response. Not part of the JSON.
    #[serde(skip)]
    pub state: Option<Json>,
    /// The time of the pause.
    #[serde(rename = "since_us")]
    pub since: Timestamp,
}

/// A call, its edited arguments, and the state for its tool.
type Behind = (FunctionCallReceived, Option<Json>, Option<Json>);

impl Ledger {
    /// Returns all calls that wait for a response from outside, oldest session first.
    /// Sessions that cannot be read, such as sealed ones without a key, are omitted.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn paused(&self) -> Result<Vec<PausedCall>, Error> {
        let items = self.open_items_of(&[OpenKind::Paused]).await?;
        self.paused_of(&items).await
    }

    /// Returns the calls of one session that wait for a response from outside, oldest first. The
    /// cost depends only on the open work of that session.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn paused_in(&self, session: SessionId) -> Result<Vec<PausedCall>, Error> {
        let items = self.journal().open_work_of(session.0).await?;
        self.paused_of(&items).await
    }

    /// Returns the paused calls of these open items, in their order. Items of other kinds, and of
    /// sessions that cannot be read, are omitted.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn paused_of(&self, items: &[OpenItem]) -> Result<Vec<PausedCall>, Error> {
        let mut paused = Vec::new();
        for item in items {
            if item.kind != OpenKind::Paused.as_str() {
                continue;
            }
            let (session, call) = (SessionId(item.session), Seq(item.item));
            let opened = match self.opened(session).await {
                Err(error) if error.is_of_one_session() => continue,
                opened => opened?,
            };
            let Some((_, opened)) = opened else {
                continue;
            };
            let call_that_paused = match self.call_that_paused(item).await {
                Err(error) if error.is_of_one_session() => continue,
                found => found?,
            };
            let Some((received, edited, state)) = call_that_paused else {
                continue;
            };
            let parent = self.parent_of(session, &received).await?;
            let called_with = received.args.unwrap_or_else(Json::empty_object);
            let (args, args_before_edit) = match edited {
                Some(edited) => (edited, Some(called_with)),
                None => (called_with, None),
            };
            paused.push(PausedCall {
                id: session.call_id(call),
                session,
                agent: opened.agent,
                external_id: opened.external_id,
                labels: opened.labels,
                call,
                parent,
                tool: received.name.unwrap_or_default(),
                args,
                args_before_edit,
                state,
                since: Timestamp(item.since_us),
            });
        }
        Ok(paused)
    }

    /// Reads the call of an open item, its edited arguments if there are any, and the state for its
    /// tool. The record of the pause follows the call within a few records.
    async fn call_that_paused(&self, item: &OpenItem) -> Result<Option<Behind>, Error> {
        let (session, call) = (SessionId(item.session), Seq(item.item));
        let (mut next, mut received, mut edited) = (call, None, None);
        let mut requests = BTreeSet::new();
        loop {
            let facts = self.facts(session, next, NEARBY).await?;
            let Some(last) = facts.last() else {
                return Ok(None);
            };
            next = last.seq.next();
            for Fact { seq, at, event, .. } in facts {
                match event {
                    Event::Observed(Observation::FunctionCallReceived(it)) if seq == call => {
                        received = Some(it);
                    }
                    Event::Observed(Observation::ConfirmationAnswered(it))
                        if it.confirmed && requests.contains(&it.request) =>
                    {
                        edited = it.edited_args.or(edited);
                    }
                    // A pause that an earlier run recorded does not count.
                    Event::Observed(Observation::ToolPaused(it))
                        if it.call == call && at.0 >= item.since_us =>
                    {
                        return Ok(
                            received.map(|received| (received, edited, it.state.or(it.interim)))
                        );
                    }
                    Event::Decided(decision)
                        if decision.question().is_some_and(|it| it.call == call) =>
                    {
                        requests.insert(seq);
                    }
                    Event::Observed(_) | Event::Decided(_) => {}
                }
            }
        }
    }
}
