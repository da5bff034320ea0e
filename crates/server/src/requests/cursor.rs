//! Cursors: opaque texts that say where the next page of a listing begins.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use recount::session::{Seq, SessionId};

use crate::problems::{Code, Problem};

/// A place in a listing, by which clients continue. It holds nothing secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// After this session.
    Session(SessionId),
    /// After this record or item of this session.
    Item(SessionId, Seq),
}

impl Cursor {
    /// The text of the cursor.
    pub(crate) fn text(self) -> String {
        let plain = match self {
            Cursor::Session(session) => format!("s:{session}"),
            Cursor::Item(session, seq) => format!("i:{session}:{seq}"),
        };
        URL_SAFE_NO_PAD.encode(plain)
    }

    /// Parses the text of a cursor.
    pub(crate) fn parse(text: &str) -> Result<Cursor, Problem> {
        let unfit = || Problem::new(Code::BadRequest, "the cursor is not one of this service");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| unfit())?;
        let plain = String::from_utf8(bytes).map_err(|_| unfit())?;
        let parts: Vec<&str> = plain.split(':').collect();
        let cursor = match parts.as_slice() {
            ["s", session] => session.parse().ok().map(Cursor::Session),
            ["i", session, seq] => match (session.parse(), seq.parse()) {
                (Ok(session), Ok(seq)) => Some(Cursor::Item(session, Seq(seq))),
                (Err(_), _) | (_, Err(_)) => None,
            },
            _ => None,
        };
        cursor.ok_or_else(unfit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_survives_its_text() {
        let session: SessionId = "0199e2a0-0000-7000-8000-000000000001".parse().unwrap();
        for cursor in [Cursor::Session(session), Cursor::Item(session, Seq(7))] {
            assert_eq!(Cursor::parse(&cursor.text()).unwrap(), cursor);
        }
        for text in ["", "x", "czp4", "!"] {
            assert_eq!(Cursor::parse(text).unwrap_err().code(), Code::BadRequest);
        }
    }
}
