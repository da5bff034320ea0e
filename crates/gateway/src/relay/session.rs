//! The session of a connection: it gets what the relay reports, once it is [open](super::opening).

use recount::journal::causes;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use recount::engine::{ClaimKey, Error, LiveHandle, RelayOrder};
use recount::live::{ConnectionLost, Platform};
use recount::prelude::{T, Toolset};
use recount::session::catalog::Behavior;
use recount::session::{Actor, ResumptionHandle, Seq};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::complaints::Complaint;
use super::copies::{CopyQueue, copies};
use super::known::Record;
use super::opening::{Opener, Retries, is_full};
use super::reports::{Report, Reported, Reports};
use super::task::Shared;
use crate::entrance::Admitted;
use crate::frames::responses::failed;
use crate::frames::setup::Declared;
use crate::index::Opening;
use crate::places::PlaceKey;

/// The session that a connection needs.
pub(super) struct Wanted {
    pub(super) agent: String,
    /// The client and what it may do.
    pub(super) admitted: Admitted,
    /// The keys of the session, by which it may be known from an earlier connection.
    pub(super) places: Vec<PlaceKey>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) external_id: Option<String>,
    pub(super) on_behalf_of: Option<String>,
    pub(super) model: String,
    pub(super) endpoint: String,
    pub(super) platform: Platform,
    pub(super) tools: Vec<Declared>,
    pub(super) resumed: Option<ResumptionHandle>,
    /// The id of the claims of this connection.
    pub(super) claim: String,
}

/// The relay's ends of the channels to its session. Its reports have a channel of their own.
pub(super) struct Channels {
    pub(super) copies: CopyQueue,
    pub(super) orders: mpsc::UnboundedReceiver<Box<RelayOrder>>,
    /// The calls whose last answer was recorded, or refused by the session.
    pub(super) settled: mpsc::UnboundedReceiver<Settled>,
    /// The session, once it is open.
    pub(super) session: Opening,
    /// The end of the connection, to be set before the channels are dropped.
    pub(super) lost: Arc<OnceLock<ConnectionLost>>,
    /// The task that opens the session and hands it the reports.
    reporting: JoinHandle<()>,
}

/// The end of the report of a client's last answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) call: Seq,
    pub(super) record: Record,
}

impl Channels {
    /// Ends the session's part: first the reports of the client, then its connection.
    pub(super) async fn end(self, reports: Reports) {
        drop(reports);
        let _ = self.reporting.await;
        drop(self.copies);
    }
}

/// Opens the session beside the relay. It ends the connection that had it; `cut` ends this one.
pub(super) fn open(
    shared: &Arc<Shared>,
    wanted: Wanted,
    cut: CancellationToken,
    recorded: watch::Receiver<u64>,
    mut reported: Reported,
) -> Channels {
    let (ordering, orders) = mpsc::unbounded_channel();
    let (settling, settled) = mpsc::unbounded_channel();
    let (known, session) = watch::channel(None);
    shared.index.presume(&session, &wanted.places);
    let lost = Arc::<OnceLock<ConnectionLost>>::default();
    let (copies, receiver) = copies(recorded, lost.clone());
    let shared = shared.clone();
    let reporting = tokio::spawn(async move {
        let client = wanted.admitted.actor().clone();
        let claim = format!("relay/{}", wanted.claim);
        // Boxed, because it ends long before the task does.
        let opener = Opener::new(&shared, &known, wanted, cut, receiver, ordering);
        match Box::pin(opener.opened(&reported)).await {
            Ok(handle) => {
                let session = handle.session_id();
                let reporter = Reporter {
                    shared,
                    handle,
                    client,
                    claim,
                };
                reporter.serve(&mut reported, settling).await;
                let sessions = &reporter.shared.sessions;
                sessions.leave(session, &reporter.claim, Vec::new());
            }
            // The relay sees it by the end of its orders.
            Err(error) => {
                tracing::error!(
                    error = %causes(&error),
                    "a client has no session: no call is delivered"
                );
                let opened = *known.borrow();
                match opened {
                    Some(session) => shared.sessions.leave(session, &claim, Vec::new()),
                    None => shared.index.settle(&known, None),
                }
            }
        }
        // The relay sees it, if the session was not opened.
        drop(known);
    });
    Channels {
        copies,
        orders,
        settled,
        session,
        lost,
        reporting,
    }
}

/// The way of reports to the session.
struct Reporter {
    shared: Arc<Shared>,
    handle: LiveHandle,
    client: Actor,
    claim: String,
}

impl Reporter {
    /// Hands reports to the session, one after the other, until the relay ends.
    async fn serve(&self, reported: &mut Reported, settling: mpsc::UnboundedSender<Settled>) {
        while let Some((report, bytes)) = reported.next().await {
            let call = report.answers();
            // Boxed, so that a task that waits for a report is small.
            let recorded = match self.earlier(&report) {
                Ok(earlier) => Box::pin(self.record_in_time(report, earlier, reported)).await,
                Err(tool) => {
                    self.complain(Complaint::NotDelivered, &format!("it names {tool:?}"));
                    Ok(())
                }
            };
            if let Err(error) = &recorded {
                self.complain(Complaint::Unrecorded, &causes(&error));
            }
            if let Some(call) = call {
                let record = match recorded {
                    Ok(()) => Record::Made,
                    Err(Error::Refused(_)) => Record::Refused,
                    Err(_) => Record::Failed,
                };
                let _ = settling.send(Settled { call, record });
            }
            reported.note(bytes);
        }
    }

    fn complain(&self, complaint: Complaint, problem: &dyn Display) {
        let client = (Some(self.handle.session_id()), self.client.name.as_str());
        self.shared
            .complaints
            .tell((complaint, 1), client, Some(problem));
    }

    /// Takes the claim of an earlier connection that a report answers, if it answers one.
    ///
    /// # Errors
    /// The tool of an answer to a call that the client does not have.
    fn earlier<'a>(&self, report: &'a Report) -> Result<Option<ClaimKey>, &'a str> {
        match report {
            Report::Late { id, tool, .. } => {
                let (session, sessions) = (self.handle.session_id(), &self.shared.sessions);
                sessions.take(session, id).map(Some).ok_or(tool)
            }
            Report::Said(_) | Report::Return { .. } | Report::Tools(_) => Ok(None),
        }
    }

    /// Records a report. A full disk rejects it, so it is tried again until there is room.
    async fn record_in_time(
        &self,
        report: Report,
        earlier: Option<ClaimKey>,
        reported: &Reported,
    ) -> Result<(), Error> {
        let mut retries = Retries::default();
        loop {
            match self.record(&report, earlier.as_ref()).await {
                Err(error) if is_full(&error) && retries.has_another(reported) => {
                    tracing::debug!(
                        error = %causes(&error),
                        "a report of a client waits for the disk"
                    );
                    retries.pause().await;
                }
                ended => return ended,
            }
        }
    }

    async fn record(&self, report: &Report, earlier: Option<&ClaimKey>) -> Result<(), Error> {
        let (engine, handle) = (&self.shared.engine, &self.handle);
        let by = self.client.clone();
        match report {
            Report::Said(text) => handle.client_said(text.as_str()).await,
            Report::Return {
                start,
                returned,
                is_interim,
            } => {
                let key = ClaimKey {
                    session: handle.session_id(),
                    call: start.call,
                    attempt: Some(start.attempt),
                    claim: self.claim.clone(),
                };
                let returned = returned.clone();
                match is_interim {
                    true => {
                        let response = returned.unwrap_or_else(|reason| failed(&reason));
                        engine.yield_claim(key, response, by).await.map(drop)
                    }
                    false => engine.finish_claim(key, returned, by).await.map(drop),
                }
            }
            Report::Late { returned, .. } => match earlier {
                Some(key) => {
                    let late = engine.finish_claim(key.clone(), returned.clone(), by);
                    late.await.map(drop)
                }
                None => Ok(()),
            },
            Report::Tools(declared) => {
                let mistakes = handle.relay_tools(toolset(declared)).await?;
                let client = (Some(handle.session_id()), self.client.name.as_str());
                self.shared.complaints.tell_unfit(&mistakes, client);
                Ok(())
            }
        }
    }
}

/// The client's functions as tools. Its own program checks their arguments.
pub(super) fn toolset(declared: &[Declared]) -> Toolset {
    let mut names = BTreeSet::new();
    // The vendor decides about a name that is declared twice.
    let first = declared.iter().filter(|it| names.insert(&it.name));
    let tools = first.map(|it| {
        let schema = it.parameters.clone();
        let schema = schema.unwrap_or_else(|| json!({"type": "object"}));
        let description = it.description.clone().unwrap_or_default();
        let tool = T::client(it.name.as_str(), description, schema);
        // A call that the model has cancelled is held for no longer.
        let tool = T::withdraw_on_cancel(tool);
        match it.behavior.as_deref() {
            Some("BLOCKING") => T::behavior(tool, Behavior::Blocking),
            Some("NON_BLOCKING") => T::behavior(tool, Behavior::NonBlocking),
            Some(_) | None => tool,
        }
    });
    tools.fold(Toolset::default(), |all, tool| all | tool)
}

#[cfg(test)]
#[expect(clippy::panic, reason = "a test may stop at the first surprise")]
mod tests {
    use recount::prelude::PolicyTool;

    use super::*;

    fn declared(description: &str, behavior: Option<&str>) -> Declared {
        Declared {
            name: "refund".to_owned(),
            description: Some(description.to_owned()),
            parameters: None,
            behavior: behavior.map(str::to_owned),
        }
    }

    /// The sessions of clients that declare the same tools share an agent by this text.
    #[test]
    fn tools_of_a_client_are_told_by_their_text() {
        for behavior in [None, Some("BLOCKING"), Some("NON_BLOCKING")] {
            let tools = toolset(&[declared("Refunds", behavior)]);
            let mut texts = tools.tools().iter().map(PolicyTool::text_of_declaration);
            assert!(texts.all(|it| it.is_some()), "{behavior:?}");
        }
    }

    #[test]
    fn function_that_is_declared_twice_counts_once() {
        let twice = [declared("Refunds", None), declared("Refunds again", None)];
        let tools = toolset(&twice);
        let [tool] = tools.tools() else {
            panic!("{} tools", tools.tools().len());
        };
        assert_eq!(tool.declaration().description, "Refunds");
    }
}
