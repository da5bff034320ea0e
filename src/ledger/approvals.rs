//! The approvals of a request that needs several, read from its session.

use serde::{Deserialize, Serialize};

use super::{Error, Ledger};
use crate::session::{
    Actor, AllowFor, ApprovalGiven, ConfirmationRequested, Event, Fact, Json, Needs, Observation,
    Request, Seq, SessionId, Timestamp,
};

/// The number of records in one read after a request.
const PAGE: usize = 256;

/// A yes to a request that needs more of them.
///
/// ```json
/// {"seq":9,"at_us":1763980000000000,"by":{"name":"ada","authenticated_by":"os_user"}}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenApproval {
    /// The seq of its `approval_given` record.
    pub seq: Seq,
    /// The time of that record.
    #[serde(rename = "at_us")]
    pub at: Timestamp,
    /// The approver.
    pub by: Actor,
    /// The reason, in the approver's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The arguments that the approver wrote in place of the model's. Each further yes must have
    /// the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Json>,
    /// The payload for the tool. Each further yes must have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// The bound of a standing leave. A leave begins only if each approval has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_for: Option<AllowFor>,
}

impl GivenApproval {
    fn of(fact: &Fact, it: ApprovalGiven) -> GivenApproval {
        GivenApproval {
            seq: fact.seq,
            at: fact.at,
            by: it.by,
            reason: it.reason,
            args: it.edited_args,
            payload: it.payload,
            allow_for: it.allow_for,
        }
    }
}

/// The number of approvals that are needed beyond the given ones.
pub(super) fn missing(needs: Option<&Needs>, given: &[GivenApproval]) -> u32 {
    let needed = needs.map_or(1, Needs::approvals);
    needed.saturating_sub(u32::try_from(given.len()).unwrap_or(u32::MAX))
}

impl Ledger {
    /// Returns the approvals of a request that count, in this record and those before it. The end
    /// of the session if `until` is `None`.
    ///
    /// A record that admission would have refused, for example in an import, counts for nothing.
    pub(super) async fn approvals(
        &self,
        session: SessionId,
        request: Seq,
        question: &ConfirmationRequested,
        until: Option<Seq>,
    ) -> Result<Vec<GivenApproval>, Error> {
        let mut open = Request::asked(question);
        let (mut given, mut next) = (Vec::new(), request.next());
        while until.is_none_or(|until| next <= until) {
            let facts = self.facts(session, next, PAGE).await?;
            let Some(last) = facts.last() else { break };
            next = last.seq.next();
            for fact in facts {
                if until.is_none_or(|until| fact.seq <= until)
                    && let Event::Observed(Observation::ApprovalGiven(it)) = &fact.event
                    && it.request == request
                    && open.count(fact.seq, it)
                {
                    given.push(GivenApproval::of(&fact, it.clone()));
                }
            }
        }
        Ok(given)
    }

    /// Returns the number of approvals that were still needed after the answer with this seq. 0 if
    /// the answer decided its request.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn approvals_missing(&self, session: SessionId, answer: Seq) -> Result<u32, Error> {
        let answered = self.fact(session, answer).await?.map(|fact| fact.event);
        let Some(Event::Observed(Observation::ApprovalGiven(it))) = answered else {
            return Ok(0);
        };
        let asked = self.fact(session, it.request).await?.map(|it| it.event);
        let question = match &asked {
            Some(Event::Decided(decision)) => decision.question(),
            Some(Event::Observed(_)) | None => None,
        };
        let Some(question) = question else {
            return Ok(0);
        };
        let given = self.approvals(session, it.request, question, Some(answer));
        Ok(missing(question.needs.as_deref(), &given.await?))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use std::sync::Arc;

    use recount_journal::{Durability, MemoryJournal, block_on};
    use serde_json::json;

    use super::*;
    use crate::ledger::{Objects, Seal, Tail};
    use crate::session::ToolConfirmation;
    use crate::testing::{history, toolbox};

    #[test]
    fn second_yes_of_one_person_is_not_counted() {
        let tools = toolbox().gated("pay").quorum("pay", 3);
        let begun = history().opened("support").attached(&tools).connected();
        let asked = begun.call("c1", "pay", json!({}));
        let yes = |by| ToolConfirmation::confirmed().into_record(asked.request(), by);
        let approvals = ["ada", "ada", "bob"].map(Actor::os_user);
        let told = approvals.into_iter().fold(asked.clone(), |told, by| {
            told.observed(ApprovalGiven::from(yes(by)))
        });
        let ledger = Ledger::new(Arc::new(MemoryJournal::new()));
        let seal = Seal::default();
        let (session, facts) = (told.session(), told.facts());
        let (objects, durable) = (Objects::default(), Durability::Durable);
        block_on(ledger.append(Tail::EMPTY, &seal, session, facts, &[], objects, durable)).unwrap();
        let missing = block_on(ledger.approvals_missing(session.id, session.head));
        assert_eq!(missing.unwrap(), 1);
    }
}
