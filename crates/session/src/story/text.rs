//! The story of a session as a whole.

use std::fmt;

use super::difference::Difference;
use super::telling::Teller;
use crate::record::event::Fact;

/// What happened in a session, line by line.
///
/// A line has a number, who did it (`→` stands for the engine's own decisions), the kind of the
/// event, and what it says. Numbers in a line are those of other lines: `call=4` is the call on
/// line 4. `id=#1` is the first id that the model gave.
///
/// ```
/// use recount_session::story::Story;
/// use recount_session::testing::{history, toolbox};
/// use serde_json::json;
///
/// let told = history().opened("support").attached(&toolbox().plain("refund")).connected().call("c7", "refund", json!({"order": 17}));
/// let story = Story::of(told.facts());
/// assert_eq!(story.lines()[3], r#"  4  model   function_call_received      id=#1 name=refund args={"order":17}"#);
/// assert_eq!(story.lines()[4], "  5  →       policy_decided              call=4 verdict=allowed rule=default");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    lines: Vec<String>,
}

impl Story {
    /// The story of these facts, which are a session's from its beginning.
    pub fn of<'f>(facts: impl IntoIterator<Item = &'f Fact>) -> Story {
        let mut teller = Teller::default();
        let lines = facts.into_iter().filter_map(|fact| teller.tell(fact));
        Story {
            lines: lines.collect(),
        }
    }

    /// A story that was written down: each line of the text is one of it.
    pub fn read(text: &str) -> Story {
        let lines = text.lines().map(|it| it.trim_end().to_owned());
        Story {
            lines: lines.collect(),
        }
    }

    /// Its lines, without line ends.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// In which lines `other` differs from this one; nothing where they are the same.
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
