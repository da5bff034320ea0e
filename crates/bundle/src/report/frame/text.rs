//! Untrusted text on the page. Everything that a model, a tool or a person filled in is shown here.

use maud::{Markup, html};
use recount_journal::Hash;
use recount_telling::{Piece, pieces};

use super::values::{hash, number};

/// The maximum number of characters of one text. A page of A4 has about twice as many.
const TEXT_MAX: usize = 2_000;

/// A text on one line. Characters that are not seen, and those that change the direction or the
/// colour of other text, are shown as marks.
pub(in crate::report) fn said(text: &str) -> Markup {
    html! {
        bdi {
            @for piece in pieces(text) {
                @match piece {
                    Piece::Seen(text) => (text),
                    Piece::Unseen(mark) => span.unseen title="A character that is not seen" {
                        (mark)
                    },
                }
            }
        }
    }
}

/// A text that may be long. What is cut is counted, and the hash of the whole text is shown.
pub(in crate::report) fn long(text: &str) -> Markup {
    let Some((end, _)) = text.char_indices().nth(TEXT_MAX) else {
        return said(text);
    };
    let (start, _) = text.split_at(end);
    let all = text.chars().count();
    html! {
        (said(start)) "… "
        span.quiet {
            "(cut: " (number(TEXT_MAX)) " of " (number(all)) " characters are shown; SHA-256 of "
            "the whole text " (hash(Hash::of_object(text.as_bytes()))) ")"
        }
    }
}

/// Lines of text, each as [`said`] shows it, one below the other.
pub(in crate::report) fn lines<'t>(lines: impl IntoIterator<Item = &'t str>) -> Markup {
    html! {
        pre {
            @for (index, line) in lines.into_iter().enumerate() {
                @if index > 0 { "\n" }
                (said(line))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_no_effect_on_the_page() {
        let shown = said("<script>\u{1b}[2J\u{202e}a&\"").into_string();
        assert!(shown.starts_with("<bdi>&lt;script&gt;<span class=\"unseen\""));
        assert!(shown.contains(">\\u{202e}</span>a&amp;"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    }

    #[test]
    fn long_text_is_cut_and_its_hash_is_shown() {
        let text = "é".repeat(TEXT_MAX + 1);
        let shown = long(&text).into_string();
        assert_eq!(shown.matches('é').count(), TEXT_MAX);
        assert!(
            shown.contains("2,000 of 2,001 characters are shown"),
            "{shown}"
        );
        let whole = Hash::of_object(text.as_bytes()).to_string();
        assert!(shown.contains(&whole));
        assert!(!long(&"é".repeat(TEXT_MAX)).into_string().contains("cut"));
    }
}
