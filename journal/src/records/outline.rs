//! What a record tells of what happened, for whoever folds many: read in a quarter of the time of
//! the whole.

use super::plain_line;
use crate::{Malformed, Record};

/// What a record tells of what happened, without who did it and what proves its place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outline<'a> {
    /// The place in the stream, from 1.
    pub seq: u64,
    /// Microseconds since 1970.
    pub at_us: i64,
    /// What happened.
    pub kind: &'a str,
    /// The seq of the record that directly led here.
    pub cause: Option<u64>,
    /// The body as it was written.
    pub body: &'a str,
}

impl<'a> Outline<'a> {
    /// Reads a line that a journal has taken.
    ///
    /// The journal has asked then whether it is a record, so this does not ask all of it again:
    /// whoever reads the body is told whether that is JSON. For bytes from anywhere else there is
    /// [`Record::parse`].
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
    /// When it is seen that the bytes are not a record; says what was expected and what came.
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
}
