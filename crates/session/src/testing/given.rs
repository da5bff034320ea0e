//! Tests of the form: given a history, when something happens, then these decisions follow.

use super::history::History;
use crate::admission::command::Command;
use crate::deciding::admitting::admit_at;
use crate::deciding::step::{Step, owed, step};
use crate::record::decision::Decision;
use crate::record::event::{Event, Fact};
use crate::record::observation::Observation;
use crate::state::effect::Effect;
use crate::state::session::Session;

/// Starts a test from a history.
///
/// ```
/// use recount_session::{CallReady, RunnerDetached};
/// use recount_session::testing::{given, history, toolbox};
/// use serde_json::json;
///
/// let running = history().opened("support").attached(&toolbox().plain("look_up")).connected()
///     .call("c1", "look_up", json!({})).started();
/// let returned = running.tool_returned(false, &json!({"found": 3}));
/// given(&running).when(returned).then_kinds(["response_issued"]);
/// let detached = RunnerDetached { reason: "shutdown".into(), not_begun: vec![] };
/// given(&running).when(detached).then_kinds(["response_issued"]);
/// ```
#[must_use]
pub fn given(history: &History) -> Given {
    Given {
        history: history.clone(),
    }
}

/// A history before the tested observation.
#[derive(Clone, Debug)]
pub struct Given {
    history: History,
}

impl Given {
    /// Applies an observation.
    #[must_use]
    pub fn when(self, observation: impl Into<Observation>) -> When {
        let at = self.history.now();
        match step(self.history.session().clone(), at, observation.into()) {
            Ok(step) => When {
                history: self.history,
                step,
            },
            Err(endless) => stop(&endless.to_string(), &self.history),
        }
    }

    /// Applies a command, which must be admitted.
    #[must_use]
    pub fn when_asked(self, command: Command) -> When {
        match admit_at(self.history.session(), self.history.now(), command) {
            Ok(observation) => self.when(observation),
            Err(rejection) => stop(&rejection.to_string(), &self.history),
        }
    }
}

/// The tested observation and its results.
#[derive(Clone, Debug)]
pub struct When {
    history: History,
    step: Step,
}

impl When {
    /// Asserts that exactly these decisions follow.
    pub fn then(self, decisions: impl IntoIterator<Item = Decision>) -> When {
        let expected: Vec<String> = decisions
            .into_iter()
            .map(|it| told(&Event::Decided(it)))
            .collect();
        let decided: Vec<String> = self
            .decisions()
            .map(|it| told(&Event::Decided(it)))
            .collect();
        self.compared("decisions", &expected, &decided);
        self
    }

    /// Asserts that decisions of exactly these kinds follow.
    pub fn then_kinds<'k>(self, kinds: impl IntoIterator<Item = &'k str>) -> When {
        let expected: Vec<String> = kinds.into_iter().map(str::to_owned).collect();
        let decided: Vec<String> = self.decisions().map(|it| it.kind().to_owned()).collect();
        self.compared("decisions", &expected, &decided);
        self
    }

    /// Asserts that no decision follows.
    pub fn then_nothing(self) -> When {
        self.then([])
    }

    /// Asserts that exactly these effects are owed afterwards.
    pub fn owing(self, effects: impl IntoIterator<Item = Effect>) -> When {
        let text = |effect: &Effect| format!("{effect:?}");
        let expected: Vec<String> = effects.into_iter().map(|effect| text(&effect)).collect();
        let found: Vec<String> = owed(&self.step.session).iter().map(text).collect();
        self.compared("effects owed", &expected, &found);
        self
    }

    /// Returns the decisions that followed.
    pub fn decisions(&self) -> impl Iterator<Item = Decision> {
        let decided = |fact: &Fact| match &fact.event {
            Event::Decided(decision) => Some(decision.clone()),
            Event::Observed(_) => None,
        };
        self.step.facts.iter().filter_map(decided)
    }

    /// Returns the first decision of this kind that followed. Panics if there is none.
    #[must_use]
    pub fn decided(&self, kind: &str) -> Decision {
        match self.decisions().find(|decision| decision.kind() == kind) {
            Some(decision) => decision,
            None => stop(&format!("no {kind} was decided"), &self.history),
        }
    }

    /// The session after the observation.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.step.session
    }

    fn compared(&self, what: &str, expected: &[String], found: &[String]) {
        if expected != found {
            let diff = diff(expected, found);
            let why = format!("other {what} than expected (- expected, + found):\n{diff}");
            stop(&why, &self.history);
        }
    }
}

/// Formats a fact as one line.
pub(super) fn line(fact: &Fact) -> String {
    format!("{:>4}  {}", fact.seq.0, told(&fact.event))
}

fn told(event: &Event) -> String {
    let body = event.body().unwrap_or_else(|error| error.to_string());
    format!("{} {body}", event.kind())
}

/// Compares both lists: common lines at both ends are shown once, the others with `-` and `+`.
fn diff(expected: &[String], found: &[String]) -> String {
    let before = expected
        .iter()
        .zip(found)
        .take_while(|(a, b)| a == b)
        .count();
    let rest = expected.len().min(found.len()) - before;
    let after = expected.iter().rev().zip(found.iter().rev());
    let after = after.take(rest).take_while(|(a, b)| a == b).count();
    let marked = |mark: &str, lines: &[String], skip: usize, keep: usize| -> String {
        let lines = lines.iter().skip(skip).take(keep);
        lines.map(|line| format!("{mark} {line}\n")).collect()
    };
    let middle = |lines: &[String]| lines.len() - before - after;
    [
        marked(" ", expected, 0, before),
        marked("-", expected, before, middle(expected)),
        marked("+", found, before, middle(found)),
        marked(" ", expected, expected.len() - after, after),
    ]
    .concat()
}

#[expect(clippy::panic, reason = "a broken promise stops its test")]
fn stop(why: &str, history: &History) -> ! {
    let told: Vec<String> = history.facts().iter().map(line).collect();
    panic!("{why}\ngiven:\n{}", told.join("\n"));
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use serde_json::json;

    use super::*;
    use crate::CallReady;
    use crate::testing::{history, toolbox};

    /// Returns the panic message of an assertion that must fail.
    fn refuted(claim: impl FnOnce()) -> String {
        let failed = catch_unwind(AssertUnwindSafe(claim));
        *failed.unwrap_err().downcast::<String>().unwrap()
    }

    #[test]
    fn failed_assertion_shows_both_sides_and_the_history() {
        let tools = toolbox().gated("refund");
        let begun = history().opened("support").attached(&tools).connected();
        let asked = begun.call("c1", "refund", json!({"order": 17})).asked();
        let call = asked.call_seq();
        let answered = |yes| given(&asked).when_asked(asked.answer(yes, None, "ada"));
        answered(true).then_kinds(["call_ready", "call_started"]);
        let told = [
            refuted(|| drop(answered(true).then([CallReady { call }.into()]))),
            refuted(|| drop(answered(false).then_nothing())),
            refuted(|| drop(answered(true).then_kinds(["call_ready", "response_issued"]))),
            refuted(|| drop(answered(true).owing([]))),
            refuted(|| drop(answered(false).decided("call_started"))),
        ];
        insta::assert_snapshot!(told.join("\n\n"));
    }

    #[test]
    fn diff_marks_missing_and_new_lines_between_common_ones() {
        let lines = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let shown = diff(&lines("a b c"), &lines("a x y c"));
        assert_eq!(shown, "  a\n- b\n+ x\n+ y\n  c\n");
        assert_eq!(diff(&lines("a"), &lines("a a")), "  a\n+ a\n");
    }
}
