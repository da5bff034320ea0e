//! Tools that ask for confirmation while they run. The question is recorded first.

use crate::engine::error::Error;
use crate::engine::inputs::asking::{ToTool, Waiting, open_request};
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::ledger::Objects;
use crate::session::{Call, Decision, Event, Fact, Observation, Phase, Seq, ToolAsked, fits};
use crate::tool::{ToolConfirmation, ToolError};

impl SessionTask {
    /// Records a tool's question. From then on any approver can answer it.
    pub(in crate::engine) async fn tool_asks(
        &mut self,
        asked: ToolAsked,
        tool: ToTool,
    ) -> Result<(), Error> {
        let (call, attempt, hint) = (asked.call, asked.attempt, asked.hint.clone());
        let refused = match self.stream.session.calls.get(&call) {
            Some(open) if open.in_place().is_some() => Some(ToolError::NotAvailable(
                "the call waits for an answer already; ask again when that has come".to_owned(),
            )),
            Some(open) if !self.stream.declares(&open.name) => Some(ToolError::NotAvailable(
                "the tool is not declared any more, so it cannot ask".to_owned(),
            )),
            Some(open) if is_run(open, attempt) => None,
            // Its run is over and about to be stopped.
            Some(_) | None => Some(ToolError::Cancelled("the call is over".to_owned())),
        };
        let asked = match (refused, fits(asked.into())) {
            (Some(error), _) => Err(error),
            (None, Err(rejection)) => Err(ToolError::ExecutionFailed(format!(
                "what the tool asks cannot be on record: {rejection}"
            ))),
            (None, Ok(asked)) => Ok(asked),
        };
        match asked {
            Ok(asked) => {
                self.put(vec![asked], Objects::default()).await?;
                // Its deadline may have passed before it asked.
                if let Some(request) = open_request(&self.stream.session, call) {
                    let waiting = Waiting {
                        request,
                        hint,
                        tool,
                    };
                    self.running.asking.insert(call, waiting);
                }
                self.perform().await
            }
            Err(error) => {
                // The tool may have stopped waiting.
                let _ = tool.send(Err(error));
                Ok(())
            }
        }
    }

    /// Sends newly recorded answers to the tools that wait for them.
    pub(in crate::engine) fn answer_tools(&mut self, facts: &[Fact]) {
        for fact in facts {
            let (request, answered) = match &fact.event {
                Event::Observed(Observation::ConfirmationAnswered(it)) => (it.request, Some(it)),
                Event::Decided(Decision::ConfirmationExpired(it)) => (it.request, None),
                Event::Observed(_) | Event::Decided(_) => continue,
            };
            let waiting = self.stream.session.requests.get(&request).map(|it| it.call);
            let waiting = waiting.filter(|call| {
                let waits = self.running.asking.get(call);
                waits.is_some_and(|it| it.request == request)
            });
            let Some(waiting) = waiting.and_then(|call| self.running.asking.remove(&call)) else {
                continue;
            };
            let hint = Some(waiting.hint);
            let said = match answered {
                Some(answered) => ToolConfirmation::recorded(answered.clone(), hint),
                None => {
                    let mut denied = ToolConfirmation::denied("nobody answered in time");
                    denied.hint = hint;
                    denied
                }
            };
            let _ = waiting.tool.send(Ok(said));
        }
        // A tool that got no answer and no longer waits was cancelled or cut off.
        let session = &self.stream.session;
        self.running
            .asking
            .retain(|call, waiting| open_request(session, *call) == Some(waiting.request));
    }
}

impl Stream {
    /// True if the catalog in force has the tool.
    fn declares(&self, tool: &str) -> bool {
        self.session.terms.catalog.get(tool).is_some()
    }

    /// True if the call's tool waits for an answer while it runs.
    pub(in crate::engine) fn waits_in_place(&self, call: Seq) -> bool {
        let open = self.session.calls.get(&call);
        open.is_some_and(|open| open.in_place().is_some())
    }
}

fn is_run(call: &Call, reported: u32) -> bool {
    matches!(call.phase, Phase::Running { attempt, .. } if attempt == reported)
}
