//! Callbacks of the engine: for requests, pauses and outcomes in every session, with or without a
//! handle.

use recount_journal::causes;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::mpsc;

use super::publisher::QueueItem;
use crate::engine::error::Error;
use crate::ledger::{Ledger, PendingConfirmation};
use crate::session::{
    CancelReason, ConfirmationAnswered, Decision, Event, Fact, Observation, Outcome, RequestId,
    Route, Seq, SessionId,
};
use crate::tool::Ticket;

/// The decision on a confirmation request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmationDecided {
    /// The request.
    pub request: RequestId,
    /// The call that it was about.
    pub ticket: Ticket,
    /// The record of the decision.
    pub at: Seq,
    /// The verdict.
    pub verdict: ConfirmationVerdict,
}

/// The verdict on a confirmation request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfirmationVerdict {
    /// An approver answered, with yes or no.
    Answered(ConfirmationAnswered),
    /// The time limit passed without an answer, which is a no.
    Expired,
    /// The time limit passed without an answer, and the call runs then. No person allowed it.
    AllowedUnanswered,
    /// The question became pointless.
    Withdrawn(CancelReason),
    /// The tool has changed since it was asked about, and this request asks again, even after a
    /// yes.
    Superseded(RequestId),
}

/// A call that ended without a connection, or a program's call whose caller did not get the
/// outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledApart {
    /// The call.
    pub ticket: Ticket,
    /// Its outcome.
    pub outcome: Outcome,
    /// Its `response_issued`.
    pub response: Seq,
    /// The route of the outcome: parked, delivered on a connection opened for it, or only this
    /// notice.
    ///
    /// [`Route::Caller`] is the route of a call that a program
    /// [made](crate::engine::LiveHandle::call_function). The program no longer waits for it,
    /// because it gave up or its process is gone.
    pub route: Route,
}

pub(in crate::engine) type Callback<T> = Option<Box<dyn Fn(&T) + Send + Sync>>;

/// The closures for these notices.
#[derive(Default)]
pub(in crate::engine) struct Notices {
    pub(in crate::engine) requested: Callback<PendingConfirmation>,
    pub(in crate::engine) decided: Callback<ConfirmationDecided>,
    pub(in crate::engine) paused: Callback<Ticket>,
    pub(in crate::engine) resumed: Callback<Ticket>,
    pub(in crate::engine) settled: Callback<SettledApart>,
}

impl Notices {
    pub(super) fn has_any(&self) -> bool {
        self.requested.is_some()
            || self.decided.is_some()
            || self.paused.is_some()
            || self.resumed.is_some()
            || self.settled.is_some()
    }

    /// Calls the closures for each published fact, until the publisher is dropped.
    pub(in crate::engine) async fn hear(
        self,
        ledger: Ledger,
        mut news: mpsc::UnboundedReceiver<QueueItem>,
    ) {
        while let Some(next) = news.recv().await {
            let recorded = match next {
                QueueItem::Recorded(recorded) => recorded,
                QueueItem::Everything(heard) => {
                    // The waiter may have given up.
                    let _ = heard.send(());
                    continue;
                }
            };
            let session = recorded.session;
            if let Err(error) = self.take(&ledger, session, &recorded.fact).await {
                tracing::warn!(
                    %session, error = %causes(&error),
                    "a callback could not be told what is on record"
                );
            }
        }
    }

    async fn take(&self, ledger: &Ledger, session: SessionId, fact: &Fact) -> Result<(), Error> {
        let Some(news) = news_in(fact) else {
            return Ok(());
        };
        let ticket = async |call: Seq| -> Result<Ticket, Error> {
            let tool = ledger.tool_of(session, call).await?.unwrap_or_default();
            Ok(Ticket {
                session,
                call,
                tool,
            })
        };
        let decided = async |request: Seq, call: Option<Seq>, verdict| -> Result<(), Error> {
            let call = match call {
                Some(call) => call,
                None => match ledger.fact(session, request).await?.map(|it| it.event) {
                    Some(Event::Decided(it)) => it.call().unwrap_or(request),
                    Some(Event::Observed(_)) | None => request,
                },
            };
            let decided = ConfirmationDecided {
                request: session.request_id(request),
                ticket: ticket(call).await?,
                at: fact.seq,
                verdict,
            };
            contained(&self.decided, &decided);
            Ok(())
        };
        let requested = async |call: Seq| -> Result<(), Error> {
            if self.requested.is_some()
                && let Some(waiting) = ledger.waiting(session, call, fact.seq).await?
            {
                contained(&self.requested, &waiting);
            }
            Ok(())
        };
        match news {
            News::Requested(call) => requested(call).await,
            News::Reopened { request, call } => {
                let anew = session.request_id(fact.seq);
                decided(request, Some(call), ConfirmationVerdict::Superseded(anew)).await?;
                requested(call).await
            }
            News::Answered(it) => {
                decided(it.request, None, ConfirmationVerdict::Answered(it.clone())).await
            }
            News::Expired {
                request,
                call,
                goes_on,
            } => {
                let verdict = match goes_on {
                    true => ConfirmationVerdict::AllowedUnanswered,
                    false => ConfirmationVerdict::Expired,
                };
                decided(request, Some(call), verdict).await
            }
            News::Withdrawn {
                request,
                call,
                reason,
            } => {
                let verdict = ConfirmationVerdict::Withdrawn(reason);
                decided(request, Some(call), verdict).await
            }
            News::Paused(call) => {
                contained(&self.paused, &ticket(call).await?);
                Ok(())
            }
            News::Resumed(call) => {
                contained(&self.resumed, &ticket(call).await?);
                Ok(())
            }
            News::Settled {
                call,
                outcome,
                route,
            } => {
                let settled = SettledApart {
                    ticket: ticket(call).await?,
                    outcome,
                    response: fact.seq,
                    route,
                };
                contained(&self.settled, &settled);
                Ok(())
            }
        }
    }
}

fn contained<T>(hears: &Callback<T>, news: &T) {
    let call = || hears.iter().for_each(|hear| hear(news));
    if catch_unwind(AssertUnwindSafe(call)).is_err() {
        tracing::error!("a callback panicked");
    }
}

/// The notice that a fact contains for an embedding program.
enum News<'a> {
    Requested(Seq),
    Reopened {
        request: Seq,
        call: Seq,
    },
    Answered(&'a ConfirmationAnswered),
    Expired {
        request: Seq,
        call: Seq,
        goes_on: bool,
    },
    Withdrawn {
        request: Seq,
        call: Seq,
        reason: CancelReason,
    },
    Paused(Seq),
    Resumed(Seq),
    Settled {
        call: Seq,
        outcome: Outcome,
        route: Route,
    },
}

/// True if a fact is a notice for one of the closures.
pub(super) fn is_news(fact: &Fact) -> bool {
    news_in(fact).is_some()
}

fn news_in(fact: &Fact) -> Option<News<'_>> {
    let decision = match &fact.event {
        Event::Observed(observation) => {
            return if let Observation::ConfirmationAnswered(it) = observation {
                Some(News::Answered(it))
            } else if let Observation::ToolPaused(it) = observation {
                Some(News::Paused(it.call))
            } else if let Observation::ResponseSupplied(it) = observation {
                // An interim result leaves the call paused.
                (!it.will_continue).then_some(News::Resumed(it.call))
            } else {
                None
            };
        }
        Event::Decided(decision) => decision,
    };
    if let Decision::ConfirmationReopened(it) = decision {
        let (request, call) = (it.request, it.question.call);
        Some(News::Reopened { request, call })
    } else if let Some(question) = decision.question() {
        Some(News::Requested(question.call))
    } else if let Decision::ConfirmationExpired(it) = decision {
        Some(News::Expired {
            request: it.request,
            call: it.call,
            goes_on: it.goes_on,
        })
    } else if let Decision::ConfirmationWithdrawn(it) = decision {
        Some(News::Withdrawn {
            request: it.request,
            call: it.call,
            reason: it.reason,
        })
    } else if let Decision::ResponseIssued(it) = decision
        && it.outcome != Outcome::Interim
    {
        match it.route {
            Route::Parked | Route::Connect | Route::Notify | Route::Caller => Some(News::Settled {
                call: it.call,
                outcome: it.outcome,
                route: it.route,
            }),
            // An agent's own calls are settled within its run, in any process.
            Route::ToolResponse { .. } | Route::Conversation { .. } | Route::Parent => None,
        }
    } else {
        None
    }
}
