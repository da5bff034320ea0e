//! The run of a tool: waiting for a slot, running, and reporting to its session.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::engine::effects::beginning::Beginning;
use crate::engine::effects::given::{Given, with_given};
use crate::engine::effects::performer::InFlight;
use crate::engine::effects::run_of_agent::OnRecord;
use crate::engine::effects::session_of_run::SessionOfRun;
use crate::engine::effects::slots::{RunSlot, Slots};
use crate::engine::effects::start_guard::StartGuard;
use crate::engine::effects::text_agents::{AgentSegment, SegmentEnd};
use crate::engine::effects::yields::{on_record, recorded};
use crate::engine::inputs::inbox::{Inbox, Input};
use crate::engine::task::record::implementations::check_approved;
use crate::engine::task::session_task::SessionTask;
use crate::engine::telling::outcomes::Telling;
use crate::ledger::Ledger;
use crate::session::{Call, Hook, Json, Seq, SessionId, SpanOf};
use crate::tool::{
    EVENTS_WAITING_MAX, Emitter, Identity, PolicyTool, State, Ticket, ToolContext, ToolError,
    ToolOutcome,
};

/// A tool, its arguments and its context, or the error for a call that can no longer run.
type Checked = Result<(Arc<PolicyTool>, Value, ToolContext), ToolError>;

/// One run of a tool, before it has a slot.
struct Run {
    session: SessionId,
    own: Inbox,
    ledger: Ledger,
    slots: Slots,
    telling: Arc<Telling>,
    state: State,
    events: Arc<SessionOfRun>,
    checked: Checked,
    /// The acknowledgement, if a hook sees it first.
    acknowledgement: Option<Json>,
    /// The segment of a text agent, and the state below its own.
    segment: Option<(AgentSegment, State)>,
    leave: Option<Given>,
    /// The approved implementation.
    approved: Option<Value>,
    beginning: Beginning,
    guard: StartGuard,
    slot: RunSlot,
}

impl SessionTask {
    pub(super) fn run_tool(&self, seq: Seq, attempt: u32, of_agent: Option<OnRecord>) -> InFlight {
        let Some(call) = self.stream.session.calls.get(&seq) else {
            return InFlight::Left;
        };
        let cancelled = CancellationToken::new();
        let run = self.run_of(seq, attempt, call, of_agent, cancelled.clone());
        let (session, tool) = (self.id, &call.name);
        // With the ids of the call's OpenTelemetry span, and never with arguments.
        let span = tracing::info_span!(
            "call",
            %session,
            call = seq.0,
            %tool,
            attempt,
            trace_id = %session.trace_id(),
            span_id = %session.span_id(SpanOf::Call(seq)),
        );
        tracing::debug!(%session, call = seq.0, %tool, attempt, "tool starts");
        let (beginning, slot) = (run.beginning.clone(), run.slot.clone());
        // Boxed, so that the future is not moved.
        let run = Box::pin(run.go().instrument(span));
        InFlight::Run {
            task: tokio::spawn(run).abort_handle(),
            cancelled,
            beginning,
            slot,
        }
    }

    fn run_of(
        &self,
        seq: Seq,
        attempt: u32,
        call: &Call,
        of_agent: Option<OnRecord>,
        cancelled: CancellationToken,
    ) -> Run {
        let state = self.state();
        let telling = Arc::new(self.telling(seq, attempt, call));
        let events = Arc::new(SessionOfRun {
            inbox: self.own.clone(),
            ledger: self.stream.ledger.clone(),
            guard: self.start_guard(),
            clock: self.shared.clock.clone(),
            room: Arc::new(Semaphore::new(EVENTS_WAITING_MAX)),
            ends_session: OnceLock::new(),
            progress: self.stream.progress_of(call, &telling, &state),
        });
        let ticket = Ticket {
            session: self.id,
            call: seq,
            tool: call.name.clone(),
        };
        let identity = Identity::Of(seq);
        let context = ToolContext::of_run(self.id, attempt, identity, cancelled, state.clone())
            .with_services(self.agent.services.clone())
            .with_input(self.connections.media.input())
            .with_ticket(ticket)
            .with_emitter(Emitter::new(events.clone(), seq, attempt));
        let checked = self.checked(call, context);
        // Once per call: on a retry the model already knows that it runs.
        let mut acknowledgement =
            (call.background.is_some() && !call.told_meanwhile).then(|| telling.acknowledgement());
        if !telling.is_changed()
            && let Some(response) = acknowledgement.take()
        {
            // Queued before the tool can end, so the model gets it first.
            _ = on_record(&self.own, telling.yielded(response));
        }
        let segment = of_agent
            .zip(checked.as_ref().ok())
            .and_then(|(on_record, (tool, ..))| {
                let tool = tool.text_agent()?.clone();
                let base = tool.state().clone();
                let segment = AgentSegment {
                    tool,
                    on_record,
                    call: seq,
                    attempt,
                    own: self.own.clone(),
                    guard: self.start_guard(),
                };
                Some((segment, base))
            });
        Run {
            session: self.id,
            own: self.own.clone(),
            ledger: self.stream.ledger.clone(),
            slots: self.shared.slots.clone(),
            telling,
            state,
            events,
            checked,
            acknowledgement,
            segment,
            leave: self.stream.leave_given(call),
            approved: self.stream.approved_implementation(call),
            beginning: Beginning::default(),
            guard: self.start_guard(),
            slot: RunSlot::default(),
        }
    }

    /// Returns the tool and its checked arguments. The tool may have a new schema since the call
    /// was received.
    fn checked(&self, call: &Call, context: ToolContext) -> Checked {
        let dispatcher = &self.agent.dispatcher;
        let args = self.stream.opened_arguments(call)?;
        let not_found = || ToolError::NotFound(call.name.clone());
        let tool = dispatcher.shared(&call.name).ok_or_else(not_found)?;
        let value = dispatcher
            .check_text(&call.name, &args, &call.sealed_args)
            .map_err(ToolError::InvalidArgs)?;
        let secret = [dispatcher.secret_arguments(&call.name), &call.sealed_args].concat();
        Ok((tool, value, context.with_args(args).with_secret(secret)))
    }
}

impl Run {
    /// Waits for a slot, runs, and reports to the session.
    async fn go(mut self) {
        if let Some(response) = self.acknowledgement.take() {
            if !self.guard.may_begin() {
                return;
            }
            let seen = self.state.over();
            let response = Box::pin(self.telling.changed(response, &seen)).await;
            _ = on_record(&self.own, self.telling.yielded(response));
            let _ = self
                .own
                .send(Input::HookWrote(Hook::BeforeToolResponse, seen));
        }
        self.slot.hold(self.slots.take(self.session).await);
        // The wait for the slot may have been long.
        if !self.guard.may_begin() || !self.beginning.begin() {
            self.slot.release();
            return;
        }
        match self.segment.take() {
            Some((segment, base)) => Box::pin(self.run_segment(segment, &base)).await,
            None => self.run().await,
        }
    }

    /// Runs one segment of a text agent, which ends the call or makes calls of its own.
    async fn run_segment(self, segment: AgentSegment, base: &State) {
        let state = self.state.above(base);
        let end = Box::pin(segment.go(&state)).await;
        self.slot.release();
        // A hook sees the outcome.
        if let Some(SegmentEnd { replied, outcome }) = end
            && self.guard.may_begin()
        {
            let ended = Box::pin(self.telling.ended(outcome, state)).await;
            let _ = self.own.send(Input::AgentEnded(replied, ended));
        }
    }

    async fn run(self) {
        let on_yield = {
            let session = (self.own.clone(), self.guard.clone());
            let (telling, state) = (self.telling.clone(), self.state.clone());
            move |value| recorded(session.clone(), telling.clone(), value, state.clone())
        };
        let outcome = match Box::pin(check_approved(self.checked, self.approved)).await {
            Ok((tool, args, context)) => {
                let given = match self.leave {
                    Some(leave) => {
                        Box::pin(with_given(context, &self.ledger, self.session, leave)).await
                    }
                    None => Ok(context),
                };
                // Files and records were read since the slot was taken.
                if !self.guard.may_begin() {
                    self.slot.release();
                    return;
                }
                match given {
                    Ok(context) => contained(tool, args, context, on_yield).await,
                    Err(error) => ToolOutcome::Failed(ToolError::Other(format!(
                        "the answer on record cannot be read, so the tool did not run: {error}"
                    ))),
                }
            }
            Err(error) => ToolOutcome::Failed(error),
        };
        self.slot.release();
        // A hook sees the outcome. Without the lease it could not be recorded.
        if !self.guard.may_begin() {
            return;
        }
        let ended = self.telling.ended(outcome, self.state).await;
        let ended = ended.ending_session(self.events.ends_session.get());
        let _ = self.own.send(Input::ToolEnded(ended));
    }
}

/// Runs a tool so that a panic outside its own containment still ends the call.
async fn contained<F, Fut>(
    tool: Arc<PolicyTool>,
    args: Value,
    context: ToolContext,
    on_yield: F,
) -> ToolOutcome
where
    F: FnMut(Value) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(), ToolError>> + Send,
{
    // The leftovers of the run are dropped inside the block, too.
    let run = async move { tool.run(args, context, on_yield).await };
    let ended = AssertUnwindSafe(run).catch_unwind().await;
    ended.unwrap_or_else(|_| {
        ToolOutcome::Failed(ToolError::ExecutionFailed("the tool panicked".to_owned()))
    })
}
