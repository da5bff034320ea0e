//! The agent's closure for what must not be on record.

use super::agent::Agent;
use super::redaction::Redactor;

impl Agent {
    /// Takes out of everything that people, models and tools say what must not be on record, before
    /// it is there: from texts, transcripts, arguments, results, events of tools, the state, and
    /// reasons; a session's labels stay.
    ///
    /// The closure gets each text, and each string and number of a JSON value; what it gives back
    /// stands in its place. It sees a piece at a time, so what a transcript spreads over two pieces
    /// it cannot find. From arguments it takes for good: nobody is asked about, and no tool gets,
    /// what is not on record. For what a tool needs there is [`T::secret`](crate::tool::T::secret).
    /// Where it panics, nothing of that piece is kept. Where what it gives back is so long that the
    /// record would be larger than one may be, nothing is kept of what the closure saw of it: a
    /// call without its arguments is refused as one whose arguments are invalid, a result is a
    /// failure, and what a person or the program gives is refused as too large.
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
