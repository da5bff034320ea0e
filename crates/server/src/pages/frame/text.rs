//! Untrusted text on a page. Everything that a model, a tool or a person filled in is shown here.

use maud::{Markup, html};
use recount_telling::{Piece, pieces};

/// A text on one line. Characters that are not seen, and those that change the direction or the
/// colour of other text, are shown as marks.
pub(crate) fn said(text: &str) -> Markup {
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

/// A text with its line breaks, each line as [`said`] shows it.
pub(crate) fn said_in_lines(text: &str) -> Markup {
    html! {
        @for (at, line) in text.split('\n').enumerate() {
            @if at > 0 { br; }
            (said(line))
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
        assert!(shown.contains(">\\u{1b}</span>[2J<span"), "{shown}");
        assert!(shown.contains(">\\u{202e}</span>a&amp;"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
        assert_eq!(
            said_in_lines("a\nb").into_string(),
            "<bdi>a</bdi><br><bdi>b</bdi>"
        );
    }
}
