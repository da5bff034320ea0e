//! The characters that a person sees, by their properties in Unicode.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// Controls, formats, private use and unassigned (C), separators and spaces (Z), and what is
/// ignored by default (DI). U+2800, a Braille cell without dots, is the one symbol that has no ink
/// and no such property.
const HIDDEN: &str = r"[[\p{C}\p{Z}\p{DI}\x{2800}]--\x20]";

/// The characters between which U+200C and U+200D are seen: pictures, and the scripts that join
/// letters.
const JOINED: &str = r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Arabic}\p{Syriac}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}]";

/// Sorted ranges of characters.
struct Ranges(Vec<(char, char)>);

static HIDDEN_RANGES: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(HIDDEN));
static JOINED_RANGES: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(JOINED));

impl Ranges {
    fn of(class: &str) -> Ranges {
        let parsed = regex_syntax::parse(class);
        let ranges = match parsed.as_ref().map(|it| it.kind()) {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                let ranges = class.ranges().iter();
                ranges.map(|it| (it.start(), it.end())).collect()
            }
            // The tests read both classes.
            Ok(_) | Err(_) => Vec::new(),
        };
        Ranges(ranges)
    }

    fn contain(&self, c: char) -> bool {
        let Ranges(ranges) = self;
        let behind = ranges.partition_point(|(first, _)| *first <= c);
        let before = behind.checked_sub(1).and_then(|at| ranges.get(at));
        before.is_some_and(|(_, last)| c <= *last)
    }
}

/// True if the character is neither a visible glyph nor U+0020, so that two texts with it could
/// look alike.
fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    HIDDEN_RANGES.contain(c)
}

/// True if the text has a character that is not seen.
pub(super) fn hides(text: &str) -> bool {
    text.chars().any(is_hidden)
}

/// The characters of a text, each with whether it is seen.
///
/// U+200C and U+200D are seen between two characters that they join: Persian, Hindi and many
/// pictures cannot be written without.
pub(super) fn glyphs(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut before = None;
    let mut rest = text.chars();
    std::iter::from_fn(move || {
        let c = rest.next()?;
        let joins = |it: Option<char>| it.is_some_and(|it| JOINED_RANGES.contain(it));
        let is_joiner = matches!(c, '\u{200c}' | '\u{200d}');
        let is_seen = !is_hidden(c) || is_joiner && joins(before) && joins(rest.clone().next());
        before = Some(c);
        Some((c, is_seen))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_without_ink_are_hidden() {
        let ranges = [
            0x34f..=0x34f,
            0x61c..=0x61c,
            0xa0..=0xa0,
            0xad..=0xad,
            0x115f..=0x1160,
            0x1680..=0x1680,
            0x17b4..=0x17b5,
            0x180b..=0x180f,
            0x2000..=0x200f,
            0x2028..=0x202f,
            0x205f..=0x206f,
            0x2800..=0x2800,
            0x3000..=0x3000,
            0x3164..=0x3164,
            0xe000..=0xe001,
            0xf8ff..=0xf8ff,
            0xfe00..=0xfe0f,
            0xfeff..=0xfeff,
            0xffa0..=0xffa0,
            0xfff9..=0xfffb,
            0x1bca0..=0x1bca3,
            0x1d173..=0x1d17a,
            0xe0000..=0xe0fff,
            0xf0000..=0xf0001,
            0x10fffd..=0x10ffff,
            0x378..=0x379,
            0xfdd0..=0xfdef,
            0x0..=0x1f,
            0x7f..=0x9f,
        ];
        for c in ranges.into_iter().flatten().filter_map(char::from_u32) {
            assert!(is_hidden(c), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn glyphs_and_the_space_are_seen() {
        for text in [
            "plain \"text\" {}",
            "ü é ñ ß",
            "e\u{301}",
            "日本語 한국어 ไทย",
            "💸 ← ½ ∑",
            "٣ हिन्दी",
        ] {
            assert!(!hides(text), "{text}");
        }
    }

    #[test]
    fn joiners_are_seen_only_between_what_they_join() {
        let hidden = |text: &str| glyphs(text).filter(|(_, is_seen)| !is_seen).count();
        assert_eq!(hidden("می\u{200c}خواهم 👩\u{200d}🚀"), 0);
        for text in [
            "re\u{200d}fund",
            "a\u{200c}",
            "\u{200d}🚀",
            "ру\u{200c}б",
            "👩\u{200d}x",
        ] {
            assert_eq!(hidden(text), 1, "{text}");
        }
        assert_eq!(hidden("👩\u{200d}\u{200d}🚀"), 2);
    }
}
