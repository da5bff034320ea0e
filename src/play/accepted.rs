//! The fixture that a play leads to, once its result is accepted.

use std::collections::BTreeMap;

use super::played::{Played, is_setup};
use super::questions::{Questions, renumbered};
use crate::fixture::{Fixture, Step, Timed};
use crate::session::Json;

/// A step that a play could not perform, and that an accepted fixture does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct DroppedStep {
    /// The number of the step, from 1: its line in `steps.jsonl`.
    pub number: usize,
    /// The time of the step, in milliseconds since the session began.
    pub at_ms: u64,
    /// The kind of the step, such as `confirmation_answered`.
    pub kind: &'static str,
    /// The reason, in words.
    pub why: String,
}

impl Played {
    /// The steps that could not be performed and that [`accepted`](Played::accepted) drops: actions
    /// of people, programs and tools, and frames that were not sent. Other steps stay, such as a
    /// connection that was not made.
    pub fn dropped(&self) -> Vec<DroppedStep> {
        let mut dropped: Vec<DroppedStep> = Vec::new();
        for (at, why) in self.undone_steps.iter().zip(&self.undone) {
            let Some(timed) = self.fixture.steps.get(*at) else {
                continue;
            };
            let number = at + 1;
            if can_go(&timed.step) && dropped.iter().all(|it| it.number != number) {
                dropped.push(DroppedStep {
                    number,
                    at_ms: timed.at_ms,
                    kind: timed.step.kind(),
                    why: why.clone(),
                });
            }
        }
        dropped.sort_by_key(|it| it.number);
        dropped
    }

    /// The fixture in which the result of this play is the expected one: [`updated`], without the
    /// [dropped](Played::dropped) steps, with frames that were sent in addition, and with the
    /// numbers that questions have now. A play of it is as recorded, unless something remained
    /// that cannot be performed.
    ///
    /// ```
    /// use recount::fixture::Fixture;
    /// use recount::tool::policy_file;
    ///
    /// let changes = policy_file::parse(r#"{"tools": {"refund": {"confirm": false}}}"#)?;
    /// let fixture = Fixture::load("fixtures/conversations/refund")?.under(&changes);
    /// let played = fixture.play_by_itself()?;
    /// let dropped = played.dropped();
    /// assert!(dropped.iter().any(|it| it.kind == "confirmation_answered"));
    /// assert!(played.accepted().play_by_itself()?.is_as_recorded());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`updated`]: Played::updated
    pub fn accepted(&self) -> Fixture {
        let mut fixture = self.updated();
        let steps = std::mem::take(&mut fixture.steps);
        let dropped = self.dropped();
        let recorded = self.fixture.story().map(Questions::of);
        let (recorded, played) = (recorded.unwrap_or_default(), Questions::of(&self.story()));
        let mut added = self.added();
        for (at, mut timed) in steps.into_iter().enumerate() {
            fixture.steps.extend(added.remove(&at).unwrap_or_default());
            if dropped.iter().any(|it| it.number == at + 1) {
                continue;
            }
            if let Step::Observed(observation) = &timed.step
                && let Some(it) =
                    renumbered(observation, |number| recorded.number_in(&played, number))
            {
                timed.step = Step::Observed(it);
            }
            fixture.steps.push(timed);
        }
        fixture.steps.extend(added.into_values().flatten());
        fixture
    }

    /// The frames that were sent and are not recorded, by the step before which they are added.
    /// None for an exported fixture, which has no outgoing frames.
    fn added(&self) -> BTreeMap<usize, Vec<Timed>> {
        let mut added: BTreeMap<usize, Vec<Timed>> = BTreeMap::new();
        let steps = &self.fixture.steps;
        if !steps.iter().any(|it| matches!(it.step, Step::FrameOut(_))) {
            return added;
        }
        let unexpected = self.sent.iter().filter(|(at, _)| at.is_none());
        for ((_, frame), at) in unexpected.zip(&self.unexpected_at) {
            let before = at.checked_sub(1).and_then(|at| steps.get(at));
            if let (Ok(frame), false) = (Json::parse(frame), is_setup(frame)) {
                added.entry(*at).or_default().push(Timed {
                    at_ms: before.map_or(0, |it| it.at_ms),
                    after_ms: None,
                    step: Step::FrameOut(frame),
                });
            }
        }
        added
    }
}

/// True if a conversation is whole without this step.
fn can_go(step: &Step) -> bool {
    match step {
        Step::FrameOut(frame) => !is_setup(frame.as_str()),
        Step::Observed(_) => true,
        Step::FrameIn(_)
        | Step::TextIn(_)
        | Step::ConnectionAsked
        | Step::ConnectionOpened
        | Step::ClientConnected(_)
        | Step::ConnectionRefused(_)
        | Step::ConnectionLost(_)
        | Step::ProcessGone(_)
        | Step::ProcessBegan(_)
        | Step::ToolsChanged(_) => false,
    }
}
