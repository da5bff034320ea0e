//! The reports of a run, and the words for the model, fitted to the record.

use crate::engine::error::Error;
use crate::engine::task::session_task::SessionTask;
use crate::engine::telling::outcomes::{Ended, Telling};
use crate::session::catalog::ToolKind;
use crate::session::{
    Author, Call, Hook, Observation, Rejection, Seq, StateChanged, ToolEventEmitted, ToolYielded,
    fits, fits_state, unfit,
};
use crate::tool::{ToolError, ToolOutcome};

impl SessionTask {
    /// Puts an event of a tool on record. What is too large for the record is not worth a session.
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

    /// How the runs of a call are told.
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

    /// What a tool's end puts on record: what it wrote to the state, and its outcome. What cannot
    /// be on record makes it a failure, of which the model is told; of a failed run nothing that it
    /// wrote is kept.
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

    /// What one result of several puts on record. It must fit like any other; one that does not
    /// ends the call.
    pub(in crate::engine) fn tool_yielded(&self, yielded: ToolYielded) -> Vec<Observation> {
        let (call, attempt) = (yielded.call, yielded.attempt);
        let fitting = fits(yielded.into()).map(|it| vec![it]);
        fitting.unwrap_or_else(|rejection| self.unfit(call, attempt, &rejection))
    }

    /// Words the end of a background call that somebody takes back.
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
                // The words of a formatter are not worth a session, nor a call that cannot be
                // cancelled.
                it.response = None;
            }
        }
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
        // Nobody waits any more for a call that is not open.
        let open = self.stream.session.calls.get(&seq);
        let failed = ToolOutcome::Failed(ToolError::ExecutionFailed(told));
        let told = open.map(|call| {
            let telling = self.telling(seq, attempt, call);
            let (worded, _) = telling.worded(failed.clone());
            match fits(worded) {
                Ok(worded) => worded,
                // The words of a formatter may not fit, either.
                Err(_) => telling.in_default_words().worded(failed).0,
            }
        });
        told.into_iter().collect()
    }

    /// True if the tool's results come one by one, so that its end carries none.
    pub(in crate::engine) fn is_stream(&self, name: &str) -> bool {
        let tool = self.agent.dispatcher.get(name);
        tool.is_some_and(|tool| match tool.kind() {
            ToolKind::Streaming | ToolKind::InputStreaming => true,
            ToolKind::Function | ToolKind::LongRunning | ToolKind::ServerSide | ToolKind::Agent => {
                false
            }
        })
    }
}
