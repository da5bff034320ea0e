//! The spans of runs: from each start of a tool to its end.

use recount::session::{
    Call, CallStarted, Deadline, Fact, Leave, Observation, Phase, Seq, SpanOf, Start, Timestamp,
};

use super::naming;
use super::tracer::Tracer;
use crate::span::{Attributes, Span};

/// A run that has not ended.
#[derive(Clone, Debug)]
pub(super) struct OpenRun {
    started: Seq,
    at: Timestamp,
    attempt: u32,
    leave: Leave,
    at_client: bool,
}

/// The end of a run: its `error.type` and its status message, or none.
type End = Option<(String, &'static str)>;

impl Tracer {
    pub(super) fn started(&mut self, it: &CallStarted, fact: &Fact) {
        let Some(call) = self.session.calls.get(&it.call) else {
            return;
        };
        if let Phase::Running { leave, .. } = &call.phase {
            let run = OpenRun {
                started: fact.seq,
                at: fact.at,
                attempt: it.attempt,
                leave: *leave,
                at_client: call.held_claim().is_some(),
            };
            self.runs.insert(it.call, run);
        }
    }

    /// Ends the runs that no longer go on after an observation.
    pub(super) fn end_runs(
        &mut self,
        observation: &Observation,
        fact: &Fact,
        spans: &mut Vec<Span>,
    ) {
        let ended = self.runs.iter().filter(|(call, run)| {
            let open = self.session.calls.get(call);
            !open.is_some_and(|open| goes_on(open, run.attempt))
        });
        let ended: Vec<Seq> = ended.map(|(call, _)| *call).collect();
        for call in ended {
            let Some(run) = self.runs.remove(&call) else {
                continue;
            };
            let start = Start {
                call,
                attempt: run.attempt,
            };
            // A start that never began is taken back, and the next one has its number.
            if not_begun(observation).contains(&start) {
                continue;
            }
            let end = end_of(observation);
            spans.push(self.span_of_run(call, &run, end, fact));
        }
    }

    /// Ends the run of a call that a decision ended: the call was cancelled, or the session closed.
    pub(super) fn end_run_of(&mut self, call: Seq, fact: &Fact, spans: &mut Vec<Span>) {
        let Some(run) = self.runs.get(&call) else {
            return;
        };
        let open = self.session.calls.get(&call);
        if open.is_some_and(|open| goes_on(open, run.attempt)) {
            return;
        }
        if let Some(run) = self.runs.remove(&call) {
            let end = Some(("cancelled".to_owned(), "the call was cancelled"));
            spans.push(self.span_of_run(call, &run, end, fact));
        }
    }

    fn span_of_run(&self, call: Seq, run: &OpenRun, end: End, fact: &Fact) -> Span {
        let tool = self.calls.get(&call).map(|it| it.tool.as_str());
        let tool = tool.unwrap_or_default();
        let mut attributes = Attributes::default();
        self.add_common(&mut attributes);
        attributes.text("gen_ai.tool.name", tool);
        attributes.number("recount.call.seq", call.0);
        attributes.number("recount.attempt", u64::from(run.attempt));
        attributes.text("recount.leave", naming::leave(&run.leave));
        attributes.flag("recount.at_client", run.at_client);
        attributes.text_if_any("error.type", end.as_ref().map(|(kind, _)| kind.as_str()));
        Span {
            parent: Some(self.span_of_call(call)),
            name: naming::about_tool("run", tool),
            attributes: attributes.done(),
            error: end.map(|(_, message)| message),
            ..self.span(SpanOf::Run(run.started), run.at, fact)
        }
    }
}

/// True if this start of the call runs, or waits inside the run for an answer.
fn goes_on(call: &Call, started: u32) -> bool {
    if let Phase::Running { attempt, .. } = &call.phase {
        return *attempt == started;
    }
    call.in_place().is_some_and(|it| it.attempt == started)
}

/// The starts that an observation takes back.
fn not_begun(observation: &Observation) -> Vec<Start> {
    if let Observation::RunnerDetached(it) = observation {
        it.not_begun.clone()
    } else if let Observation::Paused(it) = observation {
        it.not_begun.clone()
    } else if let Observation::ClaimEnded(it) = observation {
        let start = Start {
            call: it.call,
            attempt: it.attempt,
        };
        if it.not_begun {
            vec![start]
        } else {
            Vec::new()
        }
    } else {
        Vec::new()
    }
}

/// The end of a run that ended with this observation.
fn end_of(observation: &Observation) -> End {
    let cut_off = || Some(("in_doubt".to_owned(), "the run was cut off"));
    if let Observation::ToolReturned(it) = observation {
        let kind = it.error_kind.as_deref().unwrap_or("failed");
        it.failed.then(|| (naming::name(kind), "the tool failed"))
    } else if let Observation::DeadlinePassed(it) = observation {
        match it.deadline {
            Deadline::Run { .. } => Some(("timeout".to_owned(), "the run exceeded its time limit")),
            Deadline::Lease { .. } => cut_off(),
            Deadline::Confirmation { .. }
            | Deadline::Retry { .. }
            | Deadline::Acknowledgement { .. } => None,
        }
    } else {
        // The process that ran the tool is gone, or the client gave its claim up.
        let is_cut_off = matches!(
            observation,
            Observation::RunnerAttached(_)
                | Observation::RunnerDetached(_)
                | Observation::ClaimEnded(_)
        );
        if is_cut_off { cut_off() } else { None }
    }
}
