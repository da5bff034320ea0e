//! Untrusted text: on one line, without control characters, cut to the width.

use std::borrow::Cow;

use super::glyph;

/// The default width of a line, in columns.
pub const COLUMNS: usize = 80;

/// The text, with every character escaped that is not seen or that a terminal would act on.
///
/// The words of a model or a tool must not move the cursor. Two texts that differ must not look
/// alike.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !glyph::hides(text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for (c, is_seen) in glyph::glyphs(text) {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            c if is_seen => shown.push(c),
            c => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// A piece of a text: seen, or a mark for a character that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Characters that are seen.
    Seen(String),
    /// The mark for a character that is not seen, such as `\\u{202e}`.
    Unseen(String),
}

/// The text as [`one_line`] shows it, in pieces. A page sets the marks apart from the same text
/// typed by hand.
///
/// ```
/// use recount_telling::{Piece, pieces};
/// let shown = pieces("a\u{202e}");
/// assert_eq!(shown, [Piece::Seen("a".into()), Piece::Unseen("\\u{202e}".into())]);
/// ```
pub fn pieces(text: &str) -> Vec<Piece> {
    let mut shown = Vec::new();
    for (c, is_seen) in glyph::glyphs(text) {
        let mark = match c {
            '\n' => "\\n".to_owned(),
            '\t' => "\\t".to_owned(),
            c if is_seen => {
                match shown.last_mut() {
                    Some(Piece::Seen(text)) => text.push(c),
                    Some(Piece::Unseen(_)) | None => shown.push(Piece::Seen(c.to_string())),
                }
                continue;
            }
            c => c.escape_unicode().to_string(),
        };
        shown.push(Piece::Unseen(mark));
    }
    shown
}

/// The text with the same characters and line breaks escaped as in JSON.
///
/// JSON on one line stays the same JSON.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !glyph::hides(text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for (c, is_seen) in glyph::glyphs(text) {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if is_seen => shown.push(c),
            c => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    shown.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    Cow::Owned(shown)
}

/// The beginning of a one-line text, with `…` at its end if it does not fit into `columns`.
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    let mut used = 0;
    // The place of a cut that leaves room for the mark.
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let wide = width_of(c);
        if used + wide > columns {
            let start = text.get(..end).unwrap_or_default();
            return Cow::Owned(format!("{start}…"));
        }
        used += wide;
        if used < columns {
            end = at + c.len_utf8();
        }
    }
    Cow::Borrowed(text)
}

/// A one-line text broken at its spaces into several lines. A word wider than `columns` is cut.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace().map(|word| cut(word, columns)) {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(&word) <= columns => {
                line.push(' ');
                line.push_str(&word);
            }
            Some(_) | None => lines.push(word.into_owned()),
        }
    }
    lines
}

/// The width of a one-line text, in columns.
pub fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// The width of a character: 0 for combining marks, 2 for East Asian scripts and pictures.
fn width_of(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn cursor_movements_are_escaped() {
        assert_eq!(one_line("a\nb\u{1b}[2Jc"), "a\\nb\\u{1b}[2Jc");
        assert_eq!(one_line("a\tb"), "a\\tb");
        assert_eq!(one_line("\u{202e}evil"), "\\u{202e}evil");
        assert!(matches!(one_line("plain ü"), Cow::Borrowed(_)));
    }

    #[test]
    fn hidden_characters_are_escaped() {
        for hidden in [
            '\u{200b}',
            '\u{a0}',
            '\u{34f}',
            '\u{2800}',
            '\u{fe0f}',
            '\u{e0041}',
        ] {
            let shown = format!("ref\\u{{{:x}}}und", u32::from(hidden));
            assert_eq!(one_line(&format!("ref{hidden}und")), shown);
        }
        let joined = "می\u{200c}خواهم 👩\u{200d}🚀";
        assert_eq!(one_line(joined), joined);
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let value = serde_json::json!({"q": "\u{9b}2J \u{202e}b \u{e0041}\u{7f} \n\t\\ ü"});
        let text = value.to_string();
        let shown = escaped(&text);
        assert_eq!(
            shown,
            r#"{"q":"\u009b2J \u202eb \udb40\udc41\u007f \n\t\\ ü"}"#
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
        assert_eq!(escaped("a\r\nb\tc\u{1b}"), r"a\r\nb\tc\u001b");
        assert!(matches!(escaped("plain ü"), Cow::Borrowed(_)));
    }

    #[test]
    fn cut_text_fits_with_its_mark() {
        assert_eq!(cut("abcde", 5), "abcde");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("日本語です", 5), "日本…");
        assert_eq!(width(&cut("日本語です", 6)), 5);
        assert_eq!(cut("abc", 0), "…");
    }
}
