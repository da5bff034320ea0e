//! The check of JSON text in one pass, usually without allocation.
//!
//! The grammar allows text that parsers reject or read differently:
//!
//! - a key twice in an object
//! - half of a surrogate pair
//! - a number beyond the range of floats
//! - more levels than a parser's stack allows
//!
//! The journal must not acknowledge a record that cannot be read back.
//!
//! If a text has several flaws, the check returns the one that a parser meets first. Like serde, it
//! rejects a key only after the key's value. Records depend on this order: a model's arguments are
//! refused with the first flaw, and a replay compares the message.

use super::keys::{Keys, Span};
use super::plain::plain_length;
use super::unreadable::Unreadable;

/// A flaw and its position.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Flaw {
    /// The position, in bytes.
    pub at: usize,
    /// The kind of the flaw.
    pub what: What,
}

/// The kinds of flaws.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum What {
    /// The text is not JSON.
    Syntax,
    /// Objects and arrays nest too deeply.
    TooDeep,
    /// The text is JSON that parsers reject or read differently.
    Unreadable(Unreadable),
}

/// The prefix of the keys under which serde_json passes raw values to itself. It does so even for a
/// value.
pub(super) const RESERVED: &[u8] = b"$serde_json::private::";

/// The length below which a number without an exponent fits any float.
const SHORT_NUMBER: usize = 300;

/// Checks one JSON value, with optional white space around it. Brackets may nest `depth` levels.
///
/// # Errors
/// The first flaw.
pub fn check(text: &str, depth: usize) -> Result<(), Flaw> {
    whole(text, depth, false)
}

/// Checks as [`check`] does, and requires a single line, as for a record of a journal.
///
/// # Errors
/// The first flaw.
pub fn check_line(text: &str, depth: usize) -> Result<(), Flaw> {
    whole(text, depth, true)
}

fn whole(text: &str, depth: usize, on_one_line: bool) -> Result<(), Flaw> {
    let mut scanner = Scanner {
        text,
        bytes: text.as_bytes(),
        at: 0,
        on_one_line,
        keys: Keys::new(text.as_bytes()),
    };
    scanner.value(depth)?;
    scanner.blank();
    if scanner.at == text.len() {
        Ok(())
    } else {
        Err(scanner.flaw(What::Syntax))
    }
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    on_one_line: bool,
    keys: Keys<'a>,
}

impl Scanner<'_> {
    fn value(&mut self, depth: usize) -> Result<(), Flaw> {
        self.blank();
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(_) | None => Err(self.flaw(What::Syntax)),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), Flaw> {
        let depth = self.deeper(depth)?;
        let first = self.keys.count();
        let found = self.members(depth, first);
        // In an object with many keys, the keys are compared here, after their values.
        let repeated = self.keys.close(first);
        repeated.map_or(found, |key| Err(duplicate(key.quoted_at)))
    }

    fn members(&mut self, depth: usize, first: usize) -> Result<(), Flaw> {
        let mut seen = 0;
        if self.closes(b'}') {
            return Ok(());
        }
        loop {
            self.blank();
            let key = self.key()?;
            let reserved = self.keys.bytes(key).starts_with(RESERVED);
            self.blank();
            self.expect(b':')?;
            self.value(depth)?;
            if reserved {
                return Err(Flaw {
                    at: key.quoted_at,
                    what: What::Unreadable(Unreadable::ReservedKey),
                });
            }
            if !self.keys.add(first, key, &mut seen) {
                return Err(duplicate(key.quoted_at));
            }
            if self.closes(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Flaw> {
        let depth = self.deeper(depth)?;
        if self.closes(b']') {
            return Ok(());
        }
        loop {
            self.value(depth)?;
            if self.closes(b']') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Enters a bracket.
    fn deeper(&mut self, depth: usize) -> Result<usize, Flaw> {
        let left = depth
            .checked_sub(1)
            .ok_or_else(|| self.flaw(What::TooDeep))?;
        self.at += 1;
        Ok(left)
    }

    /// Reads a string and returns its range within the quotes, and true if it has escapes.
    fn string(&mut self) -> Result<(Span, bool), Flaw> {
        let quoted_at = self.at;
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            self.at += plain_length(rest);
            match self.peek() {
                Some(b'"') => {
                    let span = Span::new(quoted_at, start, self.at - start);
                    self.at += 1;
                    return Ok((span, escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) | None => return Err(self.flaw(What::Syntax)),
            }
        }
    }

    fn key(&mut self) -> Result<Span, Flaw> {
        let quoted = self.at;
        let (span, escaped) = self.string()?;
        if !escaped {
            return Ok(span);
        }
        let text = self.text.get(quoted..self.at).unwrap_or_default();
        match serde_json::from_str::<String>(text) {
            Ok(key) => Ok(self.keys.unescaped(quoted, &key)),
            Err(_) => Err(self.flaw(What::Syntax)),
        }
    }

    fn escape(&mut self) -> Result<(), Flaw> {
        let at = self.at;
        let lone = Flaw {
            at,
            what: What::Unreadable(Unreadable::LoneSurrogate),
        };
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => match self.unit()? {
                0xd800..0xdc00 => {
                    let pair = self.bytes.get(self.at..).unwrap_or_default();
                    if !pair.starts_with(b"\\u") {
                        return Err(lone);
                    }
                    self.at += 1;
                    match self.unit()? {
                        0xdc00..0xe000 => Ok(()),
                        _ => Err(lone),
                    }
                }
                0xdc00..0xe000 => Err(lone),
                _ => Ok(()),
            },
            Some(_) | None => Err(self.flaw(What::Syntax)),
        }
    }

    /// Reads the `u` and four hex digits.
    fn unit(&mut self) -> Result<u32, Flaw> {
        let digits = self.bytes.get(self.at + 1..self.at + 5);
        let unit = digits.and_then(|digits| {
            digits.iter().try_fold(0, |unit, digit| {
                char::from(*digit)
                    .to_digit(16)
                    .map(|value| unit << 4 | value)
            })
        });
        let unit = unit.ok_or_else(|| self.flaw(What::Syntax))?;
        self.at += 5;
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let exponent = matches!(self.peek(), Some(b'e' | b'E'));
        if exponent {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if (exponent || text.len() > SHORT_NUMBER) && serde_json::from_str::<f64>(text).is_err() {
            return Err(Flaw {
                at: start,
                what: What::Unreadable(Unreadable::Number),
            });
        }
        Ok(())
    }

    /// Reads at least one digit.
    fn digits(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            Err(self.flaw(What::Syntax))
        } else {
            Ok(())
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Flaw> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(self.flaw(What::Syntax));
        }
        self.at += word.len();
        Ok(())
    }

    /// Consumes this bracket and returns true if it comes next.
    fn closes(&mut self, bracket: u8) -> bool {
        self.blank();
        let closes = self.peek() == Some(bracket);
        self.at += usize::from(closes);
        closes
    }

    fn expect(&mut self, byte: u8) -> Result<(), Flaw> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.flaw(What::Syntax))
        }
    }

    /// Skips white space. Line ends count as white space unless the text must be a single line.
    fn blank(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\n' | b'\r') if !self.on_one_line => self.at += 1,
                Some(_) | None => return,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn flaw(&self, what: What) -> Flaw {
        Flaw { at: self.at, what }
    }
}

fn duplicate(at: usize) -> Flaw {
    Flaw {
        at,
        what: What::Unreadable(Unreadable::DuplicateKey),
    }
}
