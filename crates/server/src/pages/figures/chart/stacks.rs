//! A bar for each name, divided into parts.

use maud::{Markup, html};
use recount_telling::{cut, one_line};

use super::figure::{Labels, figure, percent};

/// The height of one name with its bar.
const ROW: f64 = 44.0;

/// The height of a bar.
const BAR: f64 = 16.0;

/// The width of a name, in columns. It must fit on a phone, beside the number.
const NAME_COLUMNS: usize = 32;

/// A part of a bar.
pub(in crate::pages::figures) struct Part {
    /// The class of the colour.
    pub(in crate::pages::figures) class: &'static str,
    pub(in crate::pages::figures) number: u64,
}

/// A bar with its name.
pub(in crate::pages::figures) struct Stack {
    pub(in crate::pages::figures) name: String,
    pub(in crate::pages::figures) parts: Vec<Part>,
}

impl Stack {
    fn all(&self) -> u64 {
        self.parts.iter().map(|it| it.number).sum()
    }
}

/// A chart with a bar for each name. The longest one is as wide as the chart.
pub(in crate::pages::figures) fn stacks(labels: Labels<'_>, all: &[Stack]) -> Markup {
    let longest = all.iter().map(Stack::all).max().unwrap_or_default() as f64;
    let drawing = html! {
        @for (at, stack) in all.iter().enumerate() {
            @let top = at as f64 * ROW;
            text.name x="0" y=(top + 14.0) unicode-bidi="isolate" { (shown(&stack.name)) }
            text x="100%" y=(top + 14.0) text-anchor="end" { (stack.all()) }
            (bar(stack, top + 20.0, longest))
        }
    };
    figure(labels, all.len() as f64 * ROW, &drawing)
}

fn bar(stack: &Stack, y: f64, longest: f64) -> Markup {
    let begins = stack.parts.iter().scan(0, |before, part| {
        let begin = *before;
        *before += part.number;
        Some(begin)
    });
    html! {
        @for (part, x) in stack.parts.iter().zip(begins) {
            @if part.number > 0 {
                rect class=(part.class) x=(percent(x as f64, longest))
                    width=(percent(part.number as f64, longest)) y=(y) height=(BAR) {}
            }
        }
    }
}

/// A name in a chart. Marks for unseen characters are plain text there.
fn shown(name: &str) -> String {
    cut(&one_line(name), NAME_COLUMNS).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other() {
        let labels = Labels {
            id: "tools",
            title: "Tools",
            about: "Tools",
        };
        let part = |class, number| Part { class, number };
        let stack = |name: &str, parts| Stack {
            name: name.to_owned(),
            parts,
        };
        let all = [
            stack(
                "<b>\u{202e}",
                vec![part("good", 3), part("bad", 0), part("ask", 1)],
            ),
            stack("pay", vec![part("good", 2)]),
        ];
        let chart = stacks(labels, &all).into_string();
        assert_eq!(chart.matches("<rect").count(), 3, "{chart}");
        let second = r#"<rect class="ask" x="75.000%" width="25.000%""#;
        assert!(chart.contains(second), "{chart}");
        assert!(chart.contains(r#"<rect class="good" x="0.000%" width="50.000%""#));
        assert!(chart.contains(r"&lt;b&gt;\u{202e}"), "{chart}");
        assert!(!chart.contains('\u{202e}'));
    }
}
