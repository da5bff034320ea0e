//! Classes of the vendor's messages, by a scan of their bytes.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::media;

/// The treatment of a message of the vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VendorFrame {
    /// Media of the model only, which the session does not record. It passes at once.
    Passing,
    /// Transcripts, turns, usage, handles and the like. It passes at once, and the session gets a
    /// copy.
    Recorded,
    /// The message may hold calls, cancellations or function calls inside the model's turn, or it
    /// is no JSON object. It must be read before it passes; see [`split`](super::calls::split).
    Deciding,
}

/// Classifies a message.
///
/// A message with a call is always [`VendorFrame::Deciding`], wherever the call stands and however
/// its key is spelt. A message without one may be so, too.
pub(crate) fn look(frame: &[u8]) -> VendorFrame {
    if media::is_output(frame) {
        VendorFrame::Passing
    } else if is_object(frame) && !may_have_call(frame) {
        VendorFrame::Recorded
    } else {
        VendorFrame::Deciding
    }
}

/// True if the text begins as a JSON object in UTF-8.
///
/// The byte after the brace counts: readers that detect UTF-16 or UTF-32 would find keys in a
/// message in which the scan finds none.
fn is_object(frame: &[u8]) -> bool {
    let mut letters = frame.trim_ascii_start().iter();
    let is_brace = letters.next() == Some(&b'{');
    let after = letters.as_slice().trim_ascii_start();
    is_brace && matches!(after.first(), Some(b'"' | b'}'))
}

/// True if the text may have a key such as `toolCall`, `tool_call`, `toolCallCancellation` or
/// `functionCall`.
fn may_have_call(frame: &[u8]) -> bool {
    static TOOL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("tool"));
    static FUNCTION: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("function"));
    static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r"\u"));
    let is_named = |finder: &Finder<'_>| {
        let mut found = finder.find_iter(frame);
        let length = finder.needle().len();
        found.any(|at| is_call(frame.get(at + length..).unwrap_or_default()))
    };
    let mut escapes = ESCAPE.find_iter(frame);
    is_named(&TOOL)
        || is_named(&FUNCTION)
        || escapes.any(|at| hides_letter(frame.get(at + 2..).unwrap_or_default()))
}

/// True if the text continues with `Call` or `_call`.
fn is_call(text: &[u8]) -> bool {
    let underscores = text.iter().take_while(|it| **it == b'_').count();
    let word = text.get(underscores..underscores + 4);
    word.is_some_and(|it| it.eq_ignore_ascii_case(b"call"))
}

/// True if the digits of an escape stand for a letter of a key, or are no digits.
///
/// Writers escape `=`, `<` and letters of other scripts, but have no reason to escape these.
fn hides_letter(digits: &[u8]) -> bool {
    let digits = digits.get(..4).and_then(|it| std::str::from_utf8(it).ok());
    let value = digits.and_then(|it| u32::from_str_radix(it, 16).ok());
    let letter = value.and_then(char::from_u32);
    match (value, letter) {
        (None, _) => true,
        (Some(_), Some(letter)) => letter.is_ascii_alphabetic() || letter == '_',
        // Half of a surrogate pair is no letter of a key.
        (Some(_), None) => false,
    }
}

#[cfg(test)]
#[path = "vendor_tests.rs"]
mod tests;
