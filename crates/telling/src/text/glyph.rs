//! The characters that a person sees, by their properties in Unicode.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};
use unicode_joining_type::{JoiningType, get_joining_type};

/// The characters that are not seen.
///
/// They are controls, formats, private use and unassigned (C), separators and spaces (Z), and what
/// is ignored by default (DI). The other ones have no ink and none of these properties: a Braille
/// cell without dots, blanks and the mirror mark of hieroglyphs, the filler of Khitan, the null
/// notehead and the object replacement.
const HIDDEN: &str = concat!(
    r"[[\p{C}\p{Z}\p{DI}\x{2800}\x{FFFC}\x{13440}-\x{13442}\x{16FE4}\x{1D159}]",
    r"--\x20]",
);

/// The viramas of the scripts of India and Sri Lanka. U+200C after a virama keeps it visible.
const VIRAMAS: &str = r"[\x{94D}\x{9CD}\x{A4D}\x{ACD}\x{B4D}\x{BCD}\x{C4D}\x{CCD}\x{D4D}\x{DCA}]";

/// The letters of the scripts of `VIRAMAS`.
const INDIC: &str = concat!(
    r"[[\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}",
    r"\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}]&&\p{L}]",
);

/// The people who become one emoji with one of `ROLES`.
const PEOPLE: &str = "👨👩🧑";

/// The second parts of emoji of people at work and of their hair that need no variation selector.
const ROLES: &str = "🌾🍳🍼🎄🎓🎤🎨🏫🏭💻💼🔧🔬🚀🚒🦯🦰🦱🦲🦳🦼🦽";

/// The maximum number of marks on one letter that are seen. Scripts need three or four; a pile of
/// them is drawn over the lines above.
const MARKS_MAX: usize = 4;

/// Sorted ranges of characters.
pub(super) struct Ranges(Vec<(char, char)>);

static HIDDEN_RANGES: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(HIDDEN));
static VIRAMA_RANGES: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(VIRAMAS));
static INDIC_RANGES: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(INDIC));

impl Ranges {
    pub(super) fn of(class: &str) -> Ranges {
        let parsed = regex_syntax::parse(class);
        let ranges = match parsed.as_ref().map(|it| it.kind()) {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                let ranges = class.ranges().iter();
                ranges.map(|it| (it.start(), it.end())).collect()
            }
            // The tests parse every class.
            Ok(_) | Err(_) => Vec::new(),
        };
        Ranges(ranges)
    }

    pub(super) fn contain(&self, c: char) -> bool {
        let Ranges(ranges) = self;
        let behind = ranges.partition_point(|(first, _)| *first <= c);
        let before = behind.checked_sub(1).and_then(|at| ranges.get(at));
        before.is_some_and(|(_, last)| c <= *last)
    }
}

/// True if the character is neither a visible glyph nor U+0020.
///
/// Two texts that differ in such a character look alike.
fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    HIDDEN_RANGES.contain(c)
}

/// True if the text has a character that is not seen, or more marks on a letter than are shown.
pub(super) fn hides(text: &str) -> bool {
    let mut marks = 0;
    text.chars().any(|c| {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        is_hidden(c) || marks > MARKS_MAX
    })
}

/// The characters of a text, each with a flag that is true if it is seen.
///
/// U+200C and U+200D count as seen where they change the letters beside them. Persian, Hindi,
/// Sinhala and the emoji of people at work cannot be written without them. Marks on a letter beyond
/// [`MARKS_MAX`] count as not seen.
pub(super) fn glyphs(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut before = Before::default();
    let mut rest = text.chars();
    std::iter::from_fn(move || {
        let c = rest.next()?;
        let is_seen = match c {
            '\u{200c}' => before.is_parted_from(rest.as_str()),
            '\u{200d}' => before.is_joined_to(rest.as_str()),
            c if is_mark(c) => before.has_room(),
            c => !is_hidden(c),
        };
        before.push(c, is_seen);
        Some((c, is_seen))
    })
}

/// The end of the text so far: the part that decides if a joiner behind it is seen.
#[derive(Default)]
struct Before {
    last: Option<char>,
    /// The last letter, without the marks on it.
    letter: Option<char>,
    /// The number of marks since the last letter.
    marks: usize,
}

impl Before {
    fn push(&mut self, c: char, is_seen: bool) {
        let marks = if is_mark(c) { self.marks + 1 } else { 0 };
        if !is_seen {
            // It is shown as an escape, which joins nothing.
            *self = Before {
                marks,
                ..Before::default()
            };
            return;
        }
        self.last = Some(c);
        self.marks = marks;
        if marks == 0 {
            self.letter = Some(c);
        }
    }

    /// True if one more mark on the letter is seen.
    fn has_room(&self) -> bool {
        self.marks < MARKS_MAX
    }

    /// True if U+200C is seen before this text: the letters around it would join without it.
    fn is_parted_from(&self, rest: &str) -> bool {
        let next = rest.chars().next();
        let is_virama = self.last.is_some_and(|it| VIRAMA_RANGES.contain(it));
        if is_virama && next.is_some_and(|it| INDIC_RANGES.contain(it)) {
            return true;
        }
        let joins_left = self.letter.map(get_joining_type);
        let joins_left = matches!(
            joins_left,
            Some(JoiningType::DualJoining | JoiningType::LeftJoining)
        );
        let letter = rest.chars().find(|it| !is_mark(*it));
        let joins_right = letter.map(get_joining_type);
        let joins_right = matches!(
            joins_right,
            Some(JoiningType::DualJoining | JoiningType::RightJoining)
        );
        joins_left && joins_right
    }

    /// True if U+200D is seen before this text: Sinhala ya and ra below a letter, and the emoji of
    /// people at work.
    fn is_joined_to(&self, rest: &str) -> bool {
        match (self.last, rest.chars().next()) {
            (Some('\u{dca}'), Some(next)) => matches!(next, '\u{dba}' | '\u{dbb}'),
            (Some(person), Some(role)) => PEOPLE.contains(person) && ROLES.contains(role),
            (None, _) | (_, None) => false,
        }
    }
}

/// True for a visible mark on a letter. Letters join across such marks.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && get_joining_type(c) == JoiningType::Transparent && !is_hidden(c)
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
            0xfffc..=0xfffc,
            0x13440..=0x13442,
            0x16fe4..=0x16fe4,
            0x1d159..=0x1d159,
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
    fn pile_of_marks_is_hidden_beyond_four() {
        let hidden = |text: &str| glyphs(text).filter(|(_, is_seen)| !is_seen).count();
        for fine in [
            "Việt Nam",
            "בְּרֵאשִׁ֖ית",
            "مُحَمَّدٌ",
            "e\u{301}\u{302}\u{303}\u{304}x\u{301}",
        ] {
            assert!(hidden(fine) == 0 && !hides(fine), "{fine}");
        }
        let pile = format!("Z{}", "\u{300}".repeat(200));
        assert!(hides(&pile));
        assert_eq!(hidden(&pile), 196);
        assert_eq!(hidden(&format!("{pile}a\u{300}")), 196);
    }

    #[test]
    fn joiners_are_seen_only_between_what_they_join() {
        let hidden = |text: &str| glyphs(text).filter(|(_, is_seen)| !is_seen).count();
        for text in [
            "می\u{200c}خواهم",
            "بِ\u{200c}ب",
            "👩\u{200d}🚀",
            "क्\u{200c}ष",
            "ශ්\u{200d}රී",
        ] {
            assert_eq!(hidden(text), 0, "{text}");
        }
        for text in [
            "re\u{200d}fund",
            "a\u{200c}",
            "\u{200d}🚀",
            "ру\u{200c}б",
            "👩\u{200d}x",
            "👩\u{200c}🚀",
            "©\u{200c}®",
            "©\u{200d}®",
            "☎\u{200c}☎",
            "☎\u{200d}☎",
            "🚀\u{200d}👩",
            "👩\u{200d}☎",
            "ا\u{200c}ب",
            "د\u{200c}ب",
            "ب\u{200c}",
            "ب\u{200c} ب",
            "ب\u{200c}x",
            "ب\u{200d}ب",
            "क\u{200c}म",
            "क\u{200d}म",
            "क्\u{200d}ष",
        ] {
            assert_eq!(hidden(text), 1, "{text}");
        }
        assert_eq!(hidden("ب\u{200c}\u{200c}ب"), 2);
        assert_eq!(hidden("ب\u{ad}\u{200c}ب"), 2);
        assert_eq!(hidden("👩\u{200d}\u{200d}🚀"), 2);
    }
}
