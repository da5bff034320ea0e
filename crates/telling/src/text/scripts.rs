//! Words whose letters are of several scripts and can look like those of one.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::glyph::Ranges;

/// The scripts whose letters look alike: `а` is Cyrillic, `a` is Latin.
static ALIKE: LazyLock<[(&str, Ranges); 5]> = LazyLock::new(|| {
    [
        ("Latin", r"[\p{Latin}&&\p{L}]"),
        ("Cyrillic", r"[\p{Cyrillic}&&\p{L}]"),
        ("Greek", r"[\p{Greek}&&\p{L}]"),
        ("Armenian", r"[\p{Armenian}&&\p{L}]"),
        ("Cherokee", r"[\p{Cherokee}&&\p{L}]"),
    ]
    .map(|(name, class)| (name, Ranges::of(class)))
});

/// The maximum number of letters that the words of [`mixed_scripts`] name.
const LETTERS_MAX: usize = 8;

/// The letters of another script than most letters of their word, such as `Cyrillic а р`. `None` if
/// each word of the text has letters of one script.
///
/// ```
/// use recount_telling::mixed_scripts;
/// let named = mixed_scripts("\u{440}\u{430}ypal.com");
/// assert_eq!(named.as_deref(), Some("Cyrillic \u{430} \u{440}"));
/// assert_eq!(mixed_scripts("Кофе and tea"), None);
/// ```
pub fn mixed_scripts(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let mut odd = BTreeSet::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        odd.extend(odd_letters(word));
    }
    let mut said = String::new();
    for (at, (name, _)) in ALIKE.iter().enumerate() {
        let letters = odd.iter().filter(|(script, _)| *script == at);
        let letters: Vec<String> = letters.map(|(_, c)| c.to_string()).collect();
        if letters.is_empty() {
            continue;
        }
        if !said.is_empty() {
            said.push_str(", ");
        }
        let shown = letters.get(..LETTERS_MAX).unwrap_or(&letters);
        said.push_str(&format!("{name} {}", shown.join(" ")));
        if letters.len() > LETTERS_MAX {
            said.push_str(" …");
        }
    }
    (!said.is_empty()).then_some(said)
}

/// The letters of a word outside of its main script, each with the place of its script. The main
/// one is Latin if the word has as many letters of it as of another.
fn odd_letters(word: &str) -> Vec<(usize, char)> {
    if word.is_ascii() {
        return Vec::new();
    }
    let scripts = word.chars().filter_map(|c| Some((script_of(c)?, c)));
    let letters: Vec<(usize, char)> = scripts.collect();
    let number = |script: usize| letters.iter().filter(|(it, _)| *it == script).count();
    let main = (0..ALIKE.len()).rev().max_by_key(|it| number(*it));
    let mut odd = letters.clone();
    odd.retain(|(it, _)| Some(*it) != main);
    odd
}

fn script_of(c: char) -> Option<usize> {
    ALIKE.iter().position(|(_, letters)| letters.contain(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_another_script_are_named() {
        let shown = mixed_scripts("ask \u{440}\u{430}ypal");
        assert_eq!(shown.as_deref(), Some("Cyrillic \u{430} \u{440}"));
        let shown = mixed_scripts("\u{41f}\u{440}\u{438}\u{432}\u{435}t");
        assert_eq!(shown.as_deref(), Some("Latin t"));
        for fine in [
            "paypal",
            "Привет world",
            "日本語 text",
            "naïve café",
            "μέτρα 5kg",
            "ß",
            "",
        ] {
            assert_eq!(mixed_scripts(fine), None, "{fine}");
        }
    }
}
