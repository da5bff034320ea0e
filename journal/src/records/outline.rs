//! A partial reader for records, for callers that fold many: it takes a quarter of the time.

use super::plain_line;
use crate::{Malformed, Record};

/// The event of a record, without its actor and its hashes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outline<'a> {
    /// The place in the stream, from 1.
    pub seq: u64,
    /// Microseconds since 1970.
    pub at_us: i64,
    /// The kind of the event.
    pub kind: &'a str,
    /// The seq of the record that directly led to this one.
    pub cause: Option<u64>,
    /// The body as it was written.
    pub body: &'a str,
}

impl<'a> Outline<'a> {
    /// Reads a line that a journal has accepted.
    ///
    /// The journal checked the record when it was appended, so this does not repeat every check. It
    /// does not check that the body is JSON. For bytes from another source use [`Record::parse`].
    ///
    /// ```
    /// use recount_journal::{Actor, Draft, Hash, Outline};
    /// use uuid::Uuid;
    ///
    /// let line = Draft {
    ///     session: Uuid::from_u128(7),
    ///     seq: 2,
    ///     at_us: 1_795_183_387_112_345,
    ///     kind: "answered",
    ///     cause: Some(1),
    ///     actor: Actor::new("person"),
    ///     body: r#"{"confirmed":true}"#,
    ///     prev: Hash::ZERO,
    /// }
    /// .line();
    /// let outline = Outline::of(line.bytes())?;
    /// assert_eq!((outline.kind, outline.body), ("answered", r#"{"confirmed":true}"#));
    /// # Ok::<(), recount_journal::Malformed>(())
    /// ```
    ///
    /// # Errors
    /// Fails if it notices that the bytes are not a record; the error names the expected and the
    /// found value.
    pub fn of(line: &'a [u8]) -> Result<Self, Malformed> {
        if let Ok(text) = str::from_utf8(line)
            && let Some(outline) = plain_line::outline(text)
        {
            return Ok(outline);
        }
        let record = Record::parse(line)?;
        Ok(Self {
            seq: record.seq,
            at_us: record.at_us,
            kind: record.kind,
            cause: record.cause,
            body: record.body.get(),
        })
    }

    /// Reads the kind of a line that a journal has accepted, without the rest of the line.
    ///
    /// # Errors
    /// Those of [`of`](Outline::of).
    pub fn kind_of(line: &'a [u8]) -> Result<&'a str, Malformed> {
        match plain_line::kind(line) {
            Some(kind) => Ok(kind),
            None => Self::of(line).map(|it| it.kind),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::{Actor, Draft, Hash};

    #[test]
    fn kind_alone_is_that_of_the_record() {
        let long = "k".repeat(300);
        for (seq, kind) in [(1, "answered"), (1_234_567, "a"), (9, "ä"), (3, &long)] {
            let draft = Draft {
                session: uuid::Uuid::from_u128(7),
                seq,
                at_us: 5,
                kind,
                cause: None,
                actor: Actor::new("kind"),
                body: r#"{"kind":"other"}"#,
                prev: Hash::ZERO,
            };
            assert_eq!(Outline::kind_of(draft.line().bytes()).unwrap(), kind);
        }
        let spaced = br#"{"v":1, "kind":"answered"}"#;
        assert_eq!(
            Outline::kind_of(spaced).is_ok(),
            Outline::of(spaced).is_ok()
        );
    }
}
