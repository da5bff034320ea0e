//! The calls that wait for a response from outside, as they are listed.

use std::collections::{BTreeMap, BTreeSet};

use recount_journal::OpenItem;
use serde::{Deserialize, Serialize};

use super::{Error, Ledger, ParentCall};
use crate::session::{
    CallId, Event, Fact, FunctionCallReceived, Json, Observation, OpenKind, Seq, SessionId,
    Timestamp,
};

/// How many records are read at a time on the way from a call to its pause.
const NEARBY: usize = 16;

/// A call that waits for a response from outside.
///
/// As JSON its name is under `call_id`, and its record under `call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedCall {
    /// What to respond to.
    #[serde(rename = "call_id")]
    pub id: CallId,
    /// The session.
    pub session: SessionId,
    /// The agent that serves it.
    pub agent: String,
    /// The embedding program's own name for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The record of the call.
    pub call: Seq,
    /// The call of the agent whose model made it; none, and left out, where that of the
    /// conversation did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<ParentCall>>,
    /// The tool.
    pub tool: String,
    /// The arguments with which it runs, exactly as they stand on record: the model's, or as a
    /// person changed them.
    pub args: Json,
    /// The model's arguments, where a person changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_before_edit: Option<Json>,
    /// What its tool wants to know again when it looks after the call: the state of the pause, else
    /// what the model was told meanwhile. It stands in no listing.
    #[serde(skip)]
    pub state: Option<Json>,
    /// When it paused.
    #[serde(rename = "since_us")]
    pub since: Timestamp,
}

/// A call, its arguments as a person changed them, and what its tool wants to know again.
type Behind = (FunctionCallReceived, Option<Json>, Option<Json>);

impl Ledger {
    /// Every call that waits for a response from outside, oldest session first; without those of
    /// sealed sessions whose key is not here.
    ///
    /// # Errors
    /// Whatever keeps the journal from being read.
    pub async fn paused(&self) -> Result<Vec<PausedCall>, Error> {
        self.paused_of(&self.open_items().await?).await
    }

    /// The calls of one session that wait for a result from outside, oldest first. It costs what is
    /// open in that session.
    ///
    /// # Errors
    /// Whatever keeps the journal from being read.
    pub async fn paused_in(&self, session: SessionId) -> Result<Vec<PausedCall>, Error> {
        let items = self.journal().open_work_of(session.0).await?;
        self.paused_of(&items).await
    }

    async fn paused_of(&self, items: &[OpenItem]) -> Result<Vec<PausedCall>, Error> {
        let mut paused = Vec::new();
        for item in items {
            if item.kind != OpenKind::Paused.as_str() {
                continue;
            }
            let (session, call) = (SessionId(item.session), Seq(item.item));
            let opened = match self.opened(session).await {
                Err(Error::Sealed { .. }) => continue,
                opened => opened?,
            };
            let Some((_, opened)) = opened else {
                continue;
            };
            let Some((received, edited, state)) = self.call_that_paused(item).await? else {
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

    /// The call behind an open item, the arguments that a person wrote for it, if one did, and what
    /// its tool wants to know again. Its pause stands a few records behind it.
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
                    // That an older run of it pauses, too, is on record and changes nothing.
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
