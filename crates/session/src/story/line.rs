//! A line of a transcript, parsed into its parts.

use serde_json::Value;

/// A line of a transcript, parsed into its parts.
///
/// ```
/// use recount_session::story::Line;
///
/// let text = "  7  →       policy_decided              call=6 verdict=ask rule=confirm";
/// let line = Line::read(text).unwrap();
/// assert_eq!((line.number, line.who, line.kind), (7, "→", "policy_decided"));
/// assert_eq!(line.text("verdict").as_deref(), Some("ask"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'l> {
    /// The line number, from 1.
    pub number: u64,
    /// The actor; `→` marks a decision of the engine.
    pub who: &'l str,
    /// The kind of the event.
    pub kind: &'l str,
    /// The fields of the event, in order.
    pub fields: Vec<Field<'l>>,
}

/// A field of a line: `call=6`, or `route(via=tool_response)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'l> {
    /// The name of the field.
    pub name: &'l str,
    /// The content of the field.
    pub said: Said<'l>,
}

/// The content of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said<'l> {
    /// A word, a quoted text, or JSON, as it is in the line.
    Value(&'l str),
    /// Nested fields.
    Parts(Vec<Field<'l>>),
}

impl<'l> Line<'l> {
    /// Parses a line. Returns `None` for other text.
    pub fn read(line: &'l str) -> Option<Line<'l>> {
        let (number, rest) = word(line)?;
        let (who, rest) = word(rest)?;
        let (kind, rest) = word(rest)?;
        Some(Line {
            number: number.parse().ok()?,
            who,
            kind,
            fields: fields(rest),
        })
    }

    /// Returns the value of a field as it is in the line.
    pub fn value(&self, name: &str) -> Option<&'l str> {
        let mut named = self.fields.iter().filter(|it| it.name == name);
        named.find_map(|it| match &it.said {
            Said::Value(value) => Some(*value),
            Said::Parts(_) => None,
        })
    }

    /// Returns the value of a field as text, without quotes.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.value(name)?;
        match value.starts_with('"') {
            true => serde_json::from_str::<Value>(value)
                .ok()?
                .as_str()
                .map(str::to_owned),
            false => Some(value.to_owned()),
        }
    }
}

/// Returns the first word and the rest.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(' ').unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end)?;
    (!word.is_empty()).then_some((word, rest))
}

/// Returns the fields of a text. A field ends at a space outside of quotes and brackets.
fn fields(text: &str) -> Vec<Field<'_>> {
    let (mut found, mut from) = (Vec::new(), 0);
    let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => {
                found.extend(text.get(from..at).and_then(field));
                from = at + 1;
            }
            _ => {}
        }
    }
    found.extend(text.get(from..).and_then(field));
    found
}

fn field(text: &str) -> Option<Field<'_>> {
    let end = text.find(['=', '('])?;
    let (name, rest) = text.split_at_checked(end)?;
    let said = match rest.strip_prefix('=') {
        Some(value) => Said::Value(value),
        None => Said::Parts(fields(rest.strip_prefix('(')?.strip_suffix(')')?)),
    };
    Some(Field { name, said })
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;
    use crate::story::Story;
    use crate::testing::{history, toolbox};
    use serde_json::json;

    fn written(fields: &[Field<'_>]) -> String {
        let one = |it: &Field<'_>| match &it.said {
            Said::Value(value) => format!("{}={value}", it.name),
            Said::Parts(parts) => format!("{}({})", it.name, written(parts)),
        };
        fields.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn transcript_lines_parse_back_exactly() {
        let tools = toolbox().gated("refund");
        let told = history().opened("support").attached(&tools).connected();
        let told = told.user_text(r#"say "a (b" = c \ d} now"#);
        let args = json!({"order": 17, "why": r#"he said ")" and = "#, "of": [1, {"a b": "]"}]});
        let told = told.call("c1", "refund", args).granted("ada of (here)");
        let story = Story::of(told.facts());
        for line in story.lines() {
            let read = Line::read(line).unwrap();
            let (number, who, kind) = (read.number, read.who, read.kind);
            let again = format!(
                "{number:>3}  {who:<6}  {kind:<26}  {}",
                written(&read.fields)
            );
            assert_eq!(again.trim_end(), line);
        }
        assert!(story.lines().len() > 7, "{story}");
    }

    #[test]
    fn text_is_unquoted_and_a_part_has_fields() {
        let line = Line::read(
            r#" 12  clock   deadline_passed  deadline(run(call=6 attempt=1)) text="a \"b\"""#,
        );
        let line = line.unwrap();
        assert_eq!(line.text("text").as_deref(), Some(r#"a "b""#));
        assert_eq!(line.value("deadline"), None);
        assert_eq!(
            written(&line.fields),
            r#"deadline(run(call=6 attempt=1)) text="a \"b\"""#
        );
        assert_eq!(Line::read("no line"), None);
    }
}
