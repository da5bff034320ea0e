//! The actions of the tools of a play, at the recorded time after the start of their runs.

use std::time::Duration;

use tokio::time::sleep_until;

use super::driver::{ACTION_WAIT_MS, Driver};
use super::error::Error;
use super::tools::Prompt;
use crate::fixture::playback::{run_of, since};
use crate::fixture::{Step, Timed};
use crate::session::{Decision, Event, Fact, Observation, Seq};

impl Driver<'_> {
    /// Waits for the end of a run of a real tool.
    pub(super) async fn perform(&mut self, at: usize, number: Seq) -> Result<(), Error> {
        let steps = self.fixture.steps();
        let (Some(timed), Some(so_far)) = (steps.get(at), steps.get(..=at)) else {
            return Ok(());
        };
        let (at_ms, Step::Observed(observation)) = (timed.at_ms, &timed.step) else {
            return Ok(());
        };
        if !ends_run(observation) {
            return Ok(());
        }
        let ends = |it: &Observation| ends_run(it) && run_of(it).map(|it| it.0) == Some(number);
        let expected = so_far
            .iter()
            .filter(|it| matches!(&it.step, Step::Observed(it) if ends(it)));
        let (expected, call) = (expected.count(), self.numbers.call_at(number));
        let ended = |fact: &&Fact| match &fact.event {
            Event::Observed(it) => ends_run(it) && run_of(it).map(|it| it.0) == call,
            Event::Decided(_) => false,
        };
        let came = |facts: &[Fact]| facts.iter().filter(ended).count() >= expected;
        if !self.wait((at_ms, ACTION_WAIT_MS), came).await? {
            self.undone(format!("the tool of call {number} did not end its run"));
        }
        Ok(())
    }

    /// Performs a step of a recorded tool in order, at the recorded time after the start of its
    /// run. If the run has not begun, the step is performed as soon as it has.
    pub(super) async fn prompt_in_turn(&mut self, at: usize) -> Result<(), Error> {
        let Some(timed) = self.fixture.steps().get(at) else {
            return Ok(());
        };
        if self.ahead.contains(&at) {
            return Ok(());
        }
        let due_ms = self.due_ms(timed).unwrap_or(timed.at_ms);
        sleep_until(self.clock.instant(due_ms)).await;
        self.prompt(at);
        Ok(())
    }

    pub(super) fn prompt(&self, at: usize) {
        let Some(timed) = self.fixture.steps().get(at) else {
            return;
        };
        let Step::Observed(what) = &timed.step else {
            return;
        };
        let number = run_of(what).map_or(Seq(0), |(number, _)| number);
        match self.numbers.call_at(number) {
            Some(call) => {
                let prompt = Prompt {
                    after: timed.after_ms.map(Duration::from_millis),
                    what: what.clone(),
                };
                self.prompter.prompt(self.session().call_id(call), prompt);
            }
            None => self.undone_at(at, format!("call {number} was not made")),
        }
    }

    /// Applies a fact. If a run begins with it, the steps of its tool get their due times.
    pub(super) fn learn(&mut self, fact: &Fact) {
        self.numbers.learn(fact);
        self.learn_question(fact);
        let Event::Decided(Decision::CallStarted(it)) = &fact.event else {
            return;
        };
        let run = (self.numbers.call(it.call), it.attempt);
        for at in self.of_runs.remove(&run).unwrap_or_default() {
            if let Some(timed) = self.fixture.steps().get(at)
                && let Some(due_ms) = self.due_ms(timed)
                // A smaller difference may come from the engine's own timing. Such steps are
                // performed in order.
                && due_ms.saturating_add(ACTION_WAIT_MS) < timed.at_ms
            {
                self.due.insert((due_ms, at));
            }
        }
    }

    /// The first step of a tool that is due well before `at_ms`, although its turn comes later.
    pub(super) fn due_before(&mut self, at_ms: u64) -> Option<(u64, usize)> {
        while let Some((due_ms, at)) = self.due.first().copied() {
            if at > self.next && !self.ahead.contains(&at) {
                return (due_ms < at_ms).then_some((due_ms, at));
            }
            self.due.pop_first();
        }
        None
    }

    /// The due time of a step: the recorded time after the start of its run. `None` if the run has
    /// not begun.
    fn due_ms(&self, timed: &Timed) -> Option<u64> {
        let Step::Observed(what) = &timed.step else {
            return None;
        };
        let (number, attempt) = run_of(what)?;
        let began = self.numbers.began(self.numbers.call_at(number)?, attempt)?;
        let began_ms = since(self.fixture.header().began_at_us, began);
        Some(began_ms.saturating_add(timed.after_ms?))
    }
}

/// True if the observation ends a run.
fn ends_run(observation: &Observation) -> bool {
    matches!(
        observation,
        Observation::ToolReturned(_) | Observation::ToolPaused(_) | Observation::ToolAsked(_)
    )
}
