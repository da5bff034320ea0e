//! The questions of a conversation by what they are about.
//!
//! A fixture numbers its questions. Under other policies a question may be missing, and the numbers
//! of the later ones change; a recorded answer must not answer another question then.

use std::collections::BTreeMap;

use super::driver::Driver;
use crate::session::{About, Event, Fact, Observation, Seq};
use crate::story::{Field, Line, Said, Story};

/// A question: the number of its call, its subject, and its number among those of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    call: u64,
    about: String,
    nth: u32,
}

/// The questions so far, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Questions {
    all: Vec<Question>,
    asked: BTreeMap<(u64, String), u32>,
}

impl Questions {
    /// The questions of a recorded or played story.
    pub(super) fn of(story: &Story) -> Questions {
        let (mut calls, mut questions) = (BTreeMap::new(), Questions::default());
        for line in story.lines().iter().filter_map(|it| Line::read(it)) {
            match line.kind {
                "function_call_received" => {
                    let number = calls.len() as u64 + 1;
                    calls.insert(line.number.to_string(), number);
                }
                "confirmation_requested" | "confirmation_reopened" => {
                    let value = |name| value_in(&line.fields, name).unwrap_or_default();
                    let call = calls.get(value("call")).copied().unwrap_or_default();
                    questions.add(call, value("about"));
                }
                _ => {}
            }
        }
        questions
    }

    fn add(&mut self, call: u64, about: &str) {
        let nth = self.asked.entry((call, about.to_owned())).or_default();
        *nth += 1;
        self.all.push(Question {
            call,
            about: about.to_owned(),
            nth: *nth,
        });
    }

    fn at(&self, number: Seq) -> Option<&Question> {
        let at = usize::try_from(number.0).ok()?.checked_sub(1)?;
        self.all.get(at)
    }

    /// The number in `played` of the question with this number here. A question that is not known
    /// here has the same number in both. `None` if it was not asked in `played`.
    pub(super) fn number_in(&self, played: &Questions, number: Seq) -> Option<Seq> {
        let Some(question) = self.at(number) else {
            return Some(number);
        };
        let at = played.all.iter().position(|it| it == question)?;
        Some(Seq(at as u64 + 1))
    }
}

/// The value of a field, also of one within a field.
fn value_in<'l>(fields: &[Field<'l>], name: &str) -> Option<&'l str> {
    fields.iter().find_map(|field| match &field.said {
        Said::Value(value) if field.name == name => Some(*value),
        Said::Value(_) => None,
        Said::Parts(parts) => value_in(parts, name),
    })
}

/// The observation with another number of its question. `None` if that question is not asked.
pub(super) fn renumbered(
    observation: &Observation,
    change: impl Fn(Seq) -> Option<Seq>,
) -> Option<Observation> {
    let mut renumbered = observation.clone();
    if let Observation::ConfirmationAnswered(it) = &mut renumbered {
        it.request = change(it.request)?;
    } else if let Observation::ApprovalGiven(it) = &mut renumbered {
        it.request = change(it.request)?;
    } else if let Observation::LeaveRevoked(it) = &mut renumbered {
        it.leave = change(it.leave)?;
    }
    Some(renumbered)
}

impl Driver<'_> {
    /// Notes the question of a fact, if it has one.
    pub(super) fn learn_question(&mut self, fact: &Fact) {
        if let Event::Decided(decision) = &fact.event
            && let Some(it) = decision.question()
        {
            let about = match it.about {
                About::Gate => "gate",
                About::InDoubt => "in_doubt",
                About::Tool => "tool",
            };
            let call = self.numbers.call(it.call);
            self.asked.add(call.0, about);
        }
    }

    /// The seq of the question with this recorded number.
    pub(super) fn question_at(&self, number: Seq) -> Option<Seq> {
        let played = self.recorded.number_in(&self.asked, number)?;
        self.numbers.question_at(played)
    }

    /// The seq of the answer to the question with this recorded number.
    pub(super) fn answer_at(&self, number: Seq) -> Option<Seq> {
        let played = self.recorded.number_in(&self.asked, number)?;
        self.numbers.answer_at(played)
    }
}
