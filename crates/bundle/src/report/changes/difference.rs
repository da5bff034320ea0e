//! The difference of two JSON texts, as lines that were removed and added.

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

use crate::report::frame::{number, said};

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// The maximum number of lines of a difference.
const LINES_MAX: usize = 300;

/// The depth from which lines are not indented further.
const DEPTH_MAX: usize = 20;

/// The maximum number of characters of a line.
const LINE_MAX: usize = 400;

/// The unified difference of two JSON texts. Each member and element is on a line of its own.
pub(in crate::report) fn difference(before: &str, after: &str) -> Markup {
    let (before, after) = (laid_out(before), laid_out(after));
    let diff = TextDiff::from_lines(&before, &after);
    let groups = diff.grouped_ops(CONTEXT);
    let mut lines = Vec::new();
    for group in &groups {
        if !lines.is_empty() {
            lines.push((ChangeTag::Equal, "⋯"));
        }
        let changes = group.iter().flat_map(|op| diff.iter_changes(op));
        lines.extend(changes.map(|it| (it.tag(), it.value().trim_end_matches('\n'))));
    }
    if lines.is_empty() {
        return html! { p { "The texts are the same." } };
    }
    html! {
        pre.diff {
            @for (tag, line) in lines.iter().take(LINES_MAX) {
                @match tag {
                    ChangeTag::Delete => del { "- " (shown(line)) },
                    ChangeTag::Insert => ins { "+ " (shown(line)) },
                    ChangeTag::Equal => { "  " (shown(line)) "\n" },
                }
            }
        }
        @if lines.len() > LINES_MAX {
            p { strong {
                "The first " (number(LINES_MAX)) " of " (number(lines.len())) " lines are shown."
            } }
        }
    }
}

fn shown(line: &str) -> Markup {
    match line.char_indices().nth(LINE_MAX) {
        Some((end, _)) => {
            let (start, rest) = line.split_at(end);
            html! { (said(start)) "… (" (number(rest.chars().count())) " characters cut)" }
        }
        None => said(line),
    }
}

/// JSON text with each member and element on a line of its own. The tokens stay as they are.
fn laid_out(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        if in_string {
            out.push(c);
            in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        match c {
            '{' | '[' if rest.next_if(|it| matches!(it, '}' | ']')).is_some() => {
                out.push_str(if c == '{' { "{}" } else { "[]" });
            }
            '{' | '[' => {
                depth += 1;
                out.push(c);
                break_line(&mut out, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => {
                in_string = c == '"';
                out.push(c);
            }
        }
    }
    out.push('\n');
    out
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(DEPTH_MAX)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_a_line_for_each_member() {
        let shown = laid_out(r#"{"a":[1,{}],"b":"x, \"{y}"}"#);
        let expected = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x, \\\"{y}\"\n}\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn difference_has_removed_and_added_lines() {
        let shown = difference(r#"{"a":1,"b":2}"#, r#"{"a":1,"b":3}"#).into_string();
        assert!(
            shown.contains("<del>- <bdi>  &quot;b&quot;: 2</bdi></del>"),
            "{shown}"
        );
        assert!(
            shown.contains("<ins>+ <bdi>  &quot;b&quot;: 3</bdi></ins>"),
            "{shown}"
        );
        assert!(
            difference("{}", "{}")
                .into_string()
                .contains("The texts are the same.")
        );
    }

    #[test]
    fn long_difference_is_cut_with_a_statement() {
        let many: Vec<u32> = (0..LINES_MAX as u32 + 50).collect();
        let after = serde_json::to_string(&many).unwrap();
        let shown = difference("[]", &after).into_string();
        assert!(
            shown.contains("The first 300 of 353 lines are shown."),
            "{shown}"
        );
        let long = format!("\"{}\"", "x".repeat(LINE_MAX + 10));
        let shown = difference("1", &long).into_string();
        assert!(shown.contains("(12 characters cut)"), "{shown}");
    }
}
