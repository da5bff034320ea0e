//! The receipt of an operation: what its record says.

use super::operation::{Executor, Operated, Operation};
use crate::control::OnRecord;
use crate::engine::error::Error;
use crate::session::{Actor, Event, Observation, Seq, SessionId};

/// A receipt before its operation is recorded.
pub(super) struct Receipt {
    on_record: OnRecord,
    /// The part that is read from the record.
    read: Read,
}

/// The part of a receipt that is read from the record.
enum Read {
    /// The lease of a client, or the end of its claim.
    Client,
    /// The approvals that are missing.
    Missing,
    /// The starts of a cancelled call.
    Attempts(Seq),
    Nothing,
}

impl Receipt {
    pub(super) async fn of(
        executor: &Executor<'_>,
        operation: &Operation,
        by: Actor,
    ) -> Result<Receipt, Error> {
        let (session, call) = executor.about(operation).await?;
        let tool = match (call, operation) {
            (Some(call), _) => executor.ledger().tool_of(session, call).await?,
            (None, Operation::Call { tool, .. }) => Some(tool.clone()),
            (None, _) => None,
        };
        let tool = tool.or_else(|| paused_tool(operation));
        let read = match (operation, call) {
            (Operation::Claim { .. } | Operation::Client { .. }, _) => Read::Client,
            (Operation::Answer { .. }, _) => Read::Missing,
            (Operation::Cancel { .. }, Some(call)) => Read::Attempts(call),
            _ => Read::Nothing,
        };
        let on_record = OnRecord {
            session,
            seq: Seq(0),
            tool: tool.unwrap_or_default(),
            by,
            attempts: 0,
            late: false,
            until: None,
            missing: 0,
            repeated: false,
        };
        Ok(Receipt { on_record, read })
    }

    pub(super) fn session(&self) -> SessionId {
        self.on_record.session
    }

    pub(super) fn tool(&self) -> String {
        self.on_record.tool.clone()
    }

    /// Returns the outcome of the operation that is recorded at `seq`.
    pub(super) async fn at(self, executor: &Executor<'_>, seq: Seq, repeated: bool) -> Operated {
        let mut on_record = self.on_record;
        on_record.seq = seq;
        on_record.repeated = repeated;
        let (ledger, session) = (executor.ledger(), on_record.session);
        let read = match self.read {
            Read::Client => note_client(executor, &mut on_record).await,
            Read::Missing => {
                let missing = ledger.approvals_missing(session, seq).await;
                missing.map(|missing| on_record.missing = missing)
            }
            Read::Attempts(call) => {
                let attempts = ledger.attempts_of(session, call).await;
                attempts.map(|attempts| on_record.attempts = attempts)
            }
            Read::Nothing => Ok(()),
        };
        match read {
            Ok(()) => Operated::OnRecord(on_record),
            Err(error) => Operated::OnRecordBut(on_record, error.into()),
        }
    }
}

/// Adds what the record says about a client's request: a late result, or the end of the lease.
async fn note_client(
    executor: &Executor<'_>,
    on_record: &mut OnRecord,
) -> Result<(), crate::ledger::Error> {
    let ledger = executor.ledger();
    let fact = ledger.fact(on_record.session, on_record.seq).await?;
    match fact.map(|fact| fact.event) {
        Some(Event::Observed(Observation::OutcomeFound(_))) => on_record.late = true,
        Some(Event::Observed(Observation::LeaseRenewed(it))) => {
            on_record.until = Some(it.until_us);
        }
        Some(Event::Observed(Observation::CallClaimed(it))) => {
            on_record.until = Some(it.until_us);
        }
        Some(Event::Observed(_) | Event::Decided(_)) | None => {}
    }
    Ok(())
}

/// The tool of a pause, or of its end.
fn paused_tool(operation: &Operation) -> Option<String> {
    match operation {
        Operation::Pause { target, .. } | Operation::Unpause { target, .. } => {
            target.tool().map(str::to_owned)
        }
        Operation::Answer { .. }
        | Operation::Respond { .. }
        | Operation::Reconcile { .. }
        | Operation::Cancel { .. }
        | Operation::Claim { .. }
        | Operation::Client { .. }
        | Operation::RevokeLeave { .. }
        | Operation::PlaceHold { .. }
        | Operation::ReleaseHold { .. }
        | Operation::Call { .. }
        | Operation::Close { .. } => None,
    }
}
