//! Text from outside, as a message shows it.

/// The text on one line, with every character escaped that is not seen or that changes the order
/// of others.
pub(crate) fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            c if is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// The beginning of a text, with `…` at its end if it has more characters.
pub(crate) fn clipped(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// True for controls, formats, spaces other than U+0020, and characters that are ignored.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(
            u32::from(c),
            0xad | 0x34f
                | 0x61c
                | 0x115f..=0x1160
                | 0x17b4..=0x17b5
                | 0x180b..=0x180f
                | 0x200b..=0x200f
                | 0x202a..=0x202e
                | 0x2060..=0x206f
                | 0x2800
                | 0x3164
                | 0xfe00..=0xfe0f
                | 0xfeff
                | 0xffa0
                | 0xfff0..=0xfffc
                | 0xe000..=0xf8ff
                | 0x1bca0..=0x1bca3
                | 0x1d173..=0x1d17a
                | 0xe0000..=0xe0fff
                | 0xf0000..=0x10ffff
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseen_characters_are_escaped() {
        let text = "ref\u{200b}und\n\u{202e}x\u{1b}[2J";
        let shown = "ref\\u{200b}und\\n\\u{202e}x\\u{1b}[2J";
        assert_eq!(one_line(text), shown);
        assert_eq!(one_line("Grüße 日本"), "Grüße 日本");
    }

    #[test]
    fn clipped_text_has_a_mark() {
        assert_eq!(clipped("größe", 3), "grö…");
        assert_eq!(clipped("größe", 5), "größe");
    }
}
