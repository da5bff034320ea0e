//! The agent's redaction closure.

use super::agent::Agent;
use super::redaction::Redactor;

impl Agent {
    /// Sets the closure that redacts texts and values before they are recorded.
    ///
    /// It applies to texts, transcripts, arguments, results, events of tools, the state, and
    /// reasons. The labels of a session are not redacted.
    ///
    /// The closure gets each text, and each string and number of a JSON value. Its return value
    /// replaces it. It sees one piece at a time, so it cannot find a value that a transcript splits
    /// over two pieces.
    ///
    /// Redacted arguments are lost: approvers and tools get only what is recorded. If a tool needs
    /// the value, use [`T::secret`](crate::tool::T::secret).
    ///
    /// If the closure panics, that piece is dropped. If its result makes the record too large, all
    /// texts that the closure saw are dropped. A call without its arguments is then refused as
    /// invalid, and a result becomes a failure. Input of a person or the program is refused as too
    /// large.
    ///
    /// ```
    /// use recount::prelude::*;
    ///
    /// let agent = Agent::new().redact(|text| {
    ///     let digits = text.chars().filter(char::is_ascii_digit).count();
    ///     (digits > 12).then(|| "[number]".to_owned())
    /// });
    /// # let _ = agent;
    /// ```
    pub fn redact(
        mut self,
        redactor: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Agent {
        self.hooks.redactor = Some(Redactor::new(redactor));
        self
    }
}
