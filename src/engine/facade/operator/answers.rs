//! The operators' requests that answer several confirmation requests together.

use serde_json::value::RawValue;

use super::requests::{Failed, actor, behind_record, problem};
use crate::control::{Items, OneAnswer, OneOutcome, Reply, confirmation};
use crate::engine::error::Error;
use crate::engine::operations::answering_many::{denial, each_once, open_in};
use crate::engine::operations::operation::{Operated, Operation};
use crate::engine::serving::engine::Engine;
use crate::session::{Actor, RequestId, SessionId, UnfitAnswer};
use crate::tool::ToolConfirmation;

impl Engine {
    /// Gives one answer to several requests. The outcome of each is an item of the reply.
    pub(super) async fn answer_each(
        &self,
        requests: Vec<RequestId>,
        answer: &RawValue,
        claimed: Option<String>,
        items: &Items,
    ) -> Result<Reply, Failed> {
        let by = actor(claimed).await?;
        let given = confirmation(answer);
        self.send_outcomes(requests, &given, &by, items).await
    }

    /// Denies the requests that are open in the session now. The outcome of each is an item of the
    /// reply.
    pub(super) async fn deny_each(
        &self,
        session: SessionId,
        reason: Option<String>,
        claimed: Option<String>,
        items: &Items,
    ) -> Result<Reply, Failed> {
        let by = actor(claimed).await?;
        let open = open_in(self.ledger(), session).await?;
        let given = Ok(denial(reason.as_deref()));
        self.send_outcomes(open, &given, &by, items).await
    }

    async fn send_outcomes(
        &self,
        requests: Vec<RequestId>,
        given: &Result<ToolConfirmation, UnfitAnswer>,
        by: &Actor,
        items: &Items,
    ) -> Result<Reply, Failed> {
        for request in each_once(requests) {
            let given = given.clone();
            let operation = Operation::Answer { request, given };
            let outcome = outcome_of(self.operate(operation, by.clone()).await);
            items.send(&OneAnswer { request, outcome }).await?;
        }
        Ok(Reply::done(&serde_json::Map::new()))
    }
}

fn outcome_of(operated: Result<Operated, Error>) -> OneOutcome {
    match operated {
        Ok(Operated::OnRecord(on_record)) => OneOutcome::Done(on_record),
        Ok(Operated::Refused(refusal)) => OneOutcome::Refused(refusal),
        Ok(Operated::OnRecordBut(on_record, error)) => {
            OneOutcome::Error(behind_record(on_record.seq, &error))
        }
        Err(error) => OneOutcome::Error(problem(&error)),
    }
}
