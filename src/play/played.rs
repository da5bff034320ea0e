//! The result of playing a fixture.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Deref;

use super::told::Told;
use crate::fixture::{Fixture, Step, Timed};
use crate::session::Json;
use crate::story::Difference;

/// The result of playing a fixture: the session, and its differences from the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    pub(super) told: Told,
    pub(super) fixture: Fixture,
    /// The frames that were sent, each with its step in the fixture, if it has one.
    pub(super) sent: Vec<(Option<usize>, String)>,
    /// The next step at the time of each frame without a step.
    pub(super) unexpected_at: Vec<usize>,
    /// The steps that could not be performed, in words.
    pub(super) undone: Vec<String>,
    /// The index of each of these steps.
    pub(super) undone_steps: Vec<usize>,
    /// The number of story lines before each further process, by the step with which it began.
    pub(super) began: Vec<(usize, u64)>,
    pub(super) compares_setup: bool,
}

impl Played {
    /// The differences from the recorded story. `None` if there is no difference, or no recorded
    /// story.
    pub fn difference(&self) -> Option<Difference> {
        let recorded = self.fixture.story()?;
        recorded.difference(&self.story())
    }

    /// The frames that were sent to the model.
    pub fn sent(&self) -> impl Iterator<Item = &str> {
        self.sent.iter().map(|(_, frame)| frame.as_str())
    }

    /// The frames that differ from the record: the recorded frame, and the frame that was sent
    /// instead. Empty for an exported fixture, which has no outgoing frames.
    pub fn sent_otherwise(&self) -> Vec<(Option<String>, Option<String>)> {
        let mut otherwise = Vec::new();
        let recorded = |(at, timed): (usize, &Timed)| match &timed.step {
            Step::FrameOut(frame) => Some((at, frame.to_string())),
            Step::FrameIn(_)
            | Step::TextIn(_)
            | Step::ConnectionAsked
            | Step::ConnectionOpened
            | Step::ClientConnected(_)
            | Step::ConnectionRefused(_)
            | Step::ConnectionLost(_)
            | Step::ProcessGone(_)
            | Step::ProcessBegan(_)
            | Step::ToolsChanged(_)
            | Step::Observed(_) => None,
        };
        let steps = self.fixture.steps().iter().enumerate();
        let recorded: Vec<(usize, String)> = steps.filter_map(recorded).collect();
        if recorded.is_empty() {
            return otherwise;
        }
        let by_step = self
            .sent
            .iter()
            .filter_map(|(at, sent)| Some(((*at)?, sent)));
        let by_step: BTreeMap<usize, &String> = by_step.collect();
        for (step, frame) in &recorded {
            let sent = by_step.get(step).map(|it| (*it).clone());
            let same = sent.as_deref().is_some_and(|sent| is_same(frame, sent));
            if !same && (self.compares_setup || !is_setup(frame)) {
                otherwise.push((Some(frame.clone()), sent));
            }
        }
        let more = self.sent.iter().filter(|(at, _)| at.is_none());
        otherwise.extend(more.map(|(_, frame)| (None, Some(frame.clone()))));
        otherwise
    }

    /// The steps that could not be performed, such as an answer to a question that was not asked.
    pub fn undone(&self) -> &[String] {
        &self.undone
    }

    /// True if the fixture has a story with which the play is compared.
    pub fn has_story(&self) -> bool {
        self.fixture.story().is_some()
    }

    /// True if the play had the recorded story and sent the recorded frames, and all steps were
    /// performed. False if the fixture has no story.
    pub fn is_as_recorded(&self) -> bool {
        self.report().is_empty()
    }

    /// The differences from the record, in words. Empty if there are none.
    pub fn report(&self) -> String {
        let mut told = String::new();
        if !self.has_story() {
            told.push_str(
                "No story is on record: `recount fixture update` writes down what was played.\n",
            );
        }
        // Writing to a string cannot fail.
        if let Some(difference) = self.difference() {
            let _ = write!(
                told,
                "The story differs (- recorded, + played):\n{difference}"
            );
        }
        for (recorded, sent) in self.sent_otherwise() {
            let _ = writeln!(told, "The model was sent something else:");
            let _ = recorded.map(|it| writeln!(told, "- {it}"));
            let _ = sent.map(|it| writeln!(told, "+ {it}"));
        }
        for what in &self.undone {
            let _ = writeln!(told, "Not done: {what}");
        }
        told
    }

    /// Fails the test unless the play went as recorded.
    ///
    /// # Panics
    /// If it did not. The message shows the difference.
    #[track_caller]
    #[expect(clippy::panic, reason = "an assertion of a test")]
    pub fn assert_as_recorded(&self) {
        let report = self.report();
        if !report.is_empty() {
            panic!(
                "{report}`recount fixture update` writes down what was played, if that is right."
            );
        }
    }

    /// The fixture with the story and the outgoing frames of this play.
    #[must_use]
    pub fn updated(&self) -> Fixture {
        let mut fixture = self.fixture.clone();
        fixture.story = Some(self.story());
        for (at, frame) in &self.sent {
            let step = at.and_then(|at| fixture.steps.get_mut(at));
            let is_ours = self.compares_setup || !is_setup(frame);
            if let (Some(step), true, Ok(frame)) = (step, is_ours, Json::parse(frame)) {
                step.step = Step::FrameOut(frame);
            }
        }
        for (at, played) in &self.began {
            if let Some(timed) = fixture.steps.get_mut(*at)
                && let Step::ProcessBegan(began) = &mut timed.step
            {
                began.lines = *played;
            }
        }
        fixture
    }

    /// Excludes the setup from the comparison. It contains the instruction, the voice and other
    /// settings of the agent's code, which are not recorded.
    pub(super) fn without_setup(mut self) -> Played {
        self.compares_setup = false;
        self
    }
}

/// True if two frames are equal, apart from the order of fields.
fn is_same(one: &str, two: &str) -> bool {
    let value = |it: &str| Json::parse(it).map(|it| it.canonical());
    match (value(one), value(two)) {
        (Ok(one), Ok(two)) => one == two,
        (_, _) => one == two,
    }
}

pub(super) fn is_setup(frame: &str) -> bool {
    frame.starts_with(r#"{"setup""#)
}

impl Deref for Played {
    type Target = Told;

    fn deref(&self) -> &Told {
        &self.told
    }
}
