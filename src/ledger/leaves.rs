//! Listings of the standing leaves in force.

use std::collections::BTreeMap;

use recount_journal::OpenItem;
use serde::{Deserialize, Serialize};

use super::{Error, Ledger};
use crate::session::{
    Actor, AllowFor, Event, ObjectHash, Observation, OpenKind, RequestId, Seq, SessionId,
    StandingLeave, Timestamp,
};

/// A standing leave in force: an approval that also allows later calls of its tool.
///
/// ```json
/// {"session":"0199…","leave":9,"request":"7c6f…","agent":"support","external_id":null,
///  "labels":{},"tool":"refund","contract":"1b4f0e…","allow_for":{"count":5},"used":3,
///  "by":[{"name":"ada","authenticated_by":"os_user"}],"since_us":1763980000000000}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaveInForce {
    /// The session.
    pub session: SessionId,
    /// The leave: the seq of the answer that gave it.
    pub leave: Seq,
    /// The request that was answered.
    pub request: RequestId,
    /// The agent that serves the session.
    pub agent: String,
    /// The id that the embedding program chose for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The tool.
    pub tool: String,
    /// The hash of the tool's contract that was approved.
    pub contract: ObjectHash,
    /// The time or the number of calls up to which it allows.
    pub allow_for: AllowFor,
    /// The number of calls that it has allowed.
    pub used: u32,
    /// The approvers that gave it.
    pub by: Vec<Actor>,
    /// The time of the answer.
    #[serde(rename = "since_us")]
    pub since: Timestamp,
}

impl LeaveInForce {
    /// The number of calls that it allows, if it is bound to a count.
    #[must_use]
    pub fn count(&self) -> Option<u32> {
        match self.allow_for {
            AllowFor::Count(count) => Some(count),
            AllowFor::Until(_) => None,
        }
    }

    /// The time at which it ends, if it is bound to a time.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        match self.allow_for {
            AllowFor::Count(_) => None,
            AllowFor::Until(until) => Some(until),
        }
    }

    /// True if the leave still allows calls at this time. A time may have passed without a record.
    #[must_use]
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        match self.allow_for {
            AllowFor::Count(_) => true,
            AllowFor::Until(until) => now < until,
        }
    }
}

impl Ledger {
    /// Returns the standing leaves of all sessions that are in force by their last record, oldest
    /// session first. Sealed sessions without a key are omitted.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn leaves(&self) -> Result<Vec<LeaveInForce>, Error> {
        self.leaves_of(&self.open_items().await?).await
    }

    /// Returns the standing leaves of one session, oldest first.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn leaves_in(&self, session: SessionId) -> Result<Vec<LeaveInForce>, Error> {
        let items = self.journal().open_work_of(session.0).await?;
        self.leaves_of(&items).await
    }

    /// Returns the call of the request that a record answers. `None` if it is no answer.
    pub(crate) async fn call_of_answer(
        &self,
        session: SessionId,
        answer: Seq,
    ) -> Result<Option<Seq>, Error> {
        let fact = match self.fact(session, answer).await {
            Err(Error::Sealed { .. }) => None,
            fact => fact?,
        };
        let Some(Event::Observed(Observation::ConfirmationAnswered(it))) = fact.map(|it| it.event)
        else {
            return Ok(None);
        };
        let asked = self.fact(session, it.request).await?.map(|it| it.event);
        Ok(match asked {
            Some(Event::Decided(decision)) => decision.call(),
            Some(Event::Observed(_)) | None => None,
        })
    }

    async fn leaves_of(&self, items: &[OpenItem]) -> Result<Vec<LeaveInForce>, Error> {
        let mut sessions: BTreeMap<SessionId, Vec<Seq>> = BTreeMap::new();
        for item in items
            .iter()
            .filter(|it| it.kind == OpenKind::Leave.as_str())
        {
            let leaves = sessions.entry(SessionId(item.session)).or_default();
            leaves.push(Seq(item.item));
        }
        let mut listed = Vec::new();
        for (id, leaves) in sessions {
            let opened = match self.opened(id).await {
                Err(error) if error.is_of_one_session() => continue,
                opened => opened?,
            };
            let Some((_, opened)) = opened else {
                continue;
            };
            let session = match self.load(id).await {
                Err(error) if error.is_of_one_session() => continue,
                loaded => loaded?.session,
            };
            let known = leaves.into_iter();
            let known = known.filter_map(|seq| Some((seq, session.leaves.get(&seq)?)));
            listed.extend(known.map(|(seq, leave)| LeaveInForce {
                agent: opened.agent.clone(),
                external_id: opened.external_id.clone(),
                labels: opened.labels.clone(),
                ..in_force(id, seq, leave)
            }));
        }
        Ok(listed)
    }
}

/// The leave without the names of its session.
fn in_force(session: SessionId, seq: Seq, leave: &StandingLeave) -> LeaveInForce {
    LeaveInForce {
        session,
        leave: seq,
        request: session.request_id(leave.request),
        agent: String::new(),
        external_id: None,
        labels: BTreeMap::new(),
        tool: leave.tool.clone(),
        contract: leave.contract,
        allow_for: leave.allow_for,
        used: leave.used,
        by: leave.by.clone(),
        since: leave.since,
    }
}
