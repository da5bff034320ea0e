//! The reports of a run, and the texts for the model, checked against the limits of a record.

use crate::engine::admission::client_results;
use crate::engine::error::Error;
use crate::engine::task::session_task::SessionTask;
use crate::engine::telling::outcomes::{Ended, Telling};
use crate::session::catalog::ToolKind;
use crate::session::{
    Author, Call, ClaimAction, Command, Hook, Observation, Rejection, Seq, StateChanged,
    ToolEventEmitted, ToolYielded, fits, fits_state, unfit,
};
use crate::tool::{ToolError, ToolOutcome};

impl SessionTask {
    /// Records an event of a tool. An event too large for a record is dropped, because it must not
    /// stop the session.
    pub(in crate::engine) async fn tool_emitted(
        &mut self,
        emitted: ToolEventEmitted,
    ) -> Result<(), Error> {
        match fits(emitted.into()) {
            Ok(emitted) => self.record(vec![emitted]).await,
            Err(rejection) => {
                tracing::warn!(session = %self.id, %rejection, "an event of a tool was dropped");
                Ok(())
            }
        }
    }

    /// Returns the context for reporting the runs of a call: ids, formatter and hook.
    pub(in crate::engine) fn telling(&self, seq: Seq, attempt: u32, call: &Call) -> Telling {
        Telling {
            session: self.id,
            call: seq,
            attempt,
            runner: self.running.attached,
            name: call.name.clone(),
            wire_id: call.wire_id.clone(),
            args: call.args.clone(),
            background: call.background,
            is_stream: self.is_stream(&call.name),
            shape: self.agent.policies.response,
            formatter: self.agent.formatters.get(&call.name).cloned(),
            before: self.agent.hooks.before_tool_response.clone(),
        }
    }

    /// Returns the observations of a tool's end: the state that it wrote, and its outcome.
    ///
    /// If one does not fit a record, the call fails and the model learns so. The state written by a
    /// failed run is dropped.
    pub(in crate::engine) fn tool_ended(&self, ended: Ended) -> Vec<Observation> {
        let Ended {
            call,
            attempt,
            observation,
            failed,
            state,
            by_hook,
        } = ended;
        let written = match state.take_changes() {
            Ok(changes) if failed || changes.is_empty() => Ok(None),
            Ok(changes) => {
                let author = Author::Tool { call, attempt };
                fits_state(&self.stream.session, StateChanged { changes, author }).map(Some)
            }
            Err(_) if failed => Ok(None),
            Err(problem) => Err(Rejection::UnfitState { problem }),
        };
        let ended = written.and_then(|written| {
            let ended = fits(observation)?;
            Ok(written.into_iter().chain([ended]).collect())
        });
        let ended = ended.unwrap_or_else(|rejection| self.unfit(call, attempt, &rejection));
        let hook = Hook::BeforeToolResponse.as_str();
        let by_hook = by_hook.and_then(|state| self.stream.written_by(hook, &state));
        by_hook.into_iter().chain(ended).collect()
    }

    /// Returns the observations of one streamed result. A result that does not fit a record ends
    /// the call.
    pub(in crate::engine) fn tool_yielded(&self, yielded: ToolYielded) -> Vec<Observation> {
        let (call, attempt) = (yielded.call, yielded.attempt);
        let fitting = fits(yielded.into()).map(|it| vec![it]);
        fitting.unwrap_or_else(|rejection| self.unfit(call, attempt, &rejection))
    }

    /// Adds the formatter's text to the cancellation of a background call.
    pub(in crate::engine) fn word_cancellation(&self, observation: &mut Observation) {
        if let Observation::OperatorCancelled(it) = observation
            && let Some(call) = self.stream.session.calls.get(&it.call)
            && call.background.is_some()
        {
            let telling = self.telling(it.call, call.attempts, call);
            it.response = Some(telling.cancelled());
            if unfit(observation).is_some()
                && let Observation::OperatorCancelled(it) = observation
            {
                // A formatter's text must neither stop the session nor prevent the cancellation.
                it.response = None;
            }
        }
    }

    /// Puts the result of a client's run into words, as those of a tool that runs here.
    pub(in crate::engine) fn word_client_result(&self, command: &mut Command) {
        let Command::Claim(claim) = command else {
            return;
        };
        let background = self.stream.session.calls.get(&claim.call);
        let background = background.filter(|call| call.background.is_some());
        if let (
            Some(call),
            ClaimAction::Return {
                response, failed, ..
            },
        ) = (background, &mut claim.action)
        {
            let outcome = match failed {
                None => ToolOutcome::Text(response.clone()),
                Some(reason) => ToolOutcome::Failed(ToolError::ExecutionFailed(reason.clone())),
            };
            let telling = self.telling(claim.call, call.attempts, call);
            if let (Observation::ToolReturned(it), _) = telling.worded(outcome) {
                *response = it.response;
            }
            return;
        }
        client_results::shape(command, self.agent.policies.response);
    }

    pub(in crate::engine) fn unfit(
        &self,
        seq: Seq,
        attempt: u32,
        rejection: &Rejection,
    ) -> Vec<Observation> {
        let told = if let Rejection::TooLarge { .. } = rejection {
            format!("the result is too large: {rejection}")
        } else {
            format!("what the tool gave cannot be on record: {rejection}")
        };
        // A call that is not open has no waiting caller.
        let open = self.stream.session.calls.get(&seq);
        let failed = ToolOutcome::Failed(ToolError::ExecutionFailed(told));
        let told = open.map(|call| {
            let telling = self.telling(seq, attempt, call);
            let (worded, _) = telling.worded(failed.clone());
            match fits(worded) {
                Ok(worded) => worded,
                // The formatter's text may not fit a record, either.
                Err(_) => telling.in_default_words().worded(failed).0,
            }
        });
        told.into_iter().collect()
    }

    /// True if the tool streams its results, so its end carries none.
    pub(in crate::engine) fn is_stream(&self, name: &str) -> bool {
        let tool = self.agent.dispatcher.get(name);
        tool.is_some_and(|tool| match tool.kind() {
            ToolKind::Streaming | ToolKind::InputStreaming => true,
            ToolKind::Function
            | ToolKind::LongRunning
            | ToolKind::ServerSide
            | ToolKind::Agent
            | ToolKind::Client => false,
        })
    }
}
