//! The whole transcript of a session.

use std::fmt;

use super::difference::Difference;
use super::telling::Teller;
use crate::record::event::Fact;

/// The transcript of a session, line by line.
///
/// A line has a number, the actor (`→` marks a decision of the engine), the kind of the event, and
/// its fields. Numbers in a line are those of other lines: `call=4` is the call on line 4. `id=#1`
/// is the first id that the model sent.
///
/// ```
/// use recount_session::story::Story;
/// use recount_session::testing::{history, toolbox};
/// use serde_json::json;
///
/// let tools = toolbox().plain("refund");
/// let told = history().opened("support").attached(&tools).connected();
/// let told = told.call("c7", "refund", json!({"order": 17}));
/// let story = Story::of(told.facts());
/// assert_eq!(
///     story.lines()[3],
///     r#"  4  model   function_call_received      id=#1 name=refund args={"order":17}"#
/// );
/// assert_eq!(
///     story.lines()[4],
///     "  5  →       policy_decided              call=4 verdict=allowed rule=default"
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    lines: Vec<String>,
}

impl Story {
    /// The transcript of these facts, which must start at the beginning of a session.
    pub fn of<'f>(facts: impl IntoIterator<Item = &'f Fact>) -> Story {
        let mut teller = Teller::default();
        let lines = facts.into_iter().filter_map(|fact| teller.tell(fact));
        Story {
            lines: lines.collect(),
        }
    }

    /// Parses a stored transcript with one line per event.
    pub fn read(text: &str) -> Story {
        let lines = text.lines().map(|it| it.trim_end().to_owned());
        Story {
            lines: lines.collect(),
        }
    }

    /// Returns the lines, without line ends.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Returns the lines in which `other` differs, or `None` if both are equal.
    ///
    /// ```
    /// use recount_session::story::Story;
    ///
    /// let (before, after) = (Story::read("one\ntwo\n"), Story::read("one\n2\n"));
    /// assert_eq!(before.difference(&after).unwrap().to_string(), "  one\n- two\n+ 2\n");
    /// assert!(before.difference(&before.clone()).is_none());
    /// ```
    pub fn difference(&self, other: &Story) -> Option<Difference> {
        Difference::between(self, other)
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
