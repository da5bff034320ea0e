//! Conversion of scripts in YAML to JSON.
//!
//! Numbers keep all digits, and quoted scalars are strings, even if they look like numbers.
//! Anchors, tags and non-scalar keys are not supported, because scripts do not need them.

use std::fmt::Write;

use saphyr_parser::{Event as Token, Parser, ScalarStyle, ScanError, Span};
use serde_json::Value;

use recount_wire::DecodeError;

use super::script::ScriptError;

/// The maximum depth of a script.
const DEPTH_MAX: usize = 64;

/// Returns the entries of a script as JSON, each with its first line's number. Entries are the
/// items of lists, and documents that are not lists.
pub(super) fn entries(text: &str) -> Result<Vec<(usize, String)>, ScriptError> {
    let mut events = Events(Parser::new_from_str(text));
    let mut entries = Vec::new();
    let mut is_list = false;
    loop {
        let (event, line) = events.next()?;
        match event {
            Token::StreamEnd => return Ok(entries),
            Token::SequenceStart(..) if !is_list => is_list = true,
            Token::SequenceEnd => is_list = false,
            Token::StreamStart | Token::DocumentStart(_) | Token::DocumentEnd | Token::Nothing => {}
            // The document is empty.
            Token::Scalar(text, ScalarStyle::Plain, ..) if text.is_empty() && !is_list => {}
            Token::Scalar(..)
            | Token::SequenceStart(..)
            | Token::MappingStart(..)
            | Token::MappingEnd
            | Token::Alias(_) => {
                let mut json = String::new();
                events.write(event, line, DEPTH_MAX, &mut json)?;
                entries.push((line, json));
            }
        }
    }
}

struct Events<'a>(Parser<'a, saphyr_parser::StrInput<'a>>);

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<(Token<'a>, usize), ScriptError> {
        match self.0.next() {
            Some(Ok((event, Span { start, .. }))) => Ok((event, start.line())),
            Some(Err(error)) => Err(unreadable(&error)),
            None => Ok((Token::StreamEnd, 0)),
        }
    }

    /// Writes the value that begins with `event`.
    fn write(
        &mut self,
        event: Token<'a>,
        line: usize,
        depth_left: usize,
        json: &mut String,
    ) -> Result<(), ScriptError> {
        let Some(deeper) = depth_left.checked_sub(1) else {
            return Err(refused(
                line,
                &format!("at most {DEPTH_MAX} levels"),
                "more",
            ));
        };
        match event {
            Token::Scalar(text, style, _, tag) => {
                if tag.is_some() {
                    return Err(refused(line, "no tags", "one"));
                }
                json.push_str(&scalar(&text, style == ScalarStyle::Plain));
            }
            Token::SequenceStart(..) => {
                json.push('[');
                for index in 0.. {
                    let (event, line) = self.next()?;
                    if event == Token::SequenceEnd {
                        break;
                    }
                    json.push_str(if index > 0 { "," } else { "" });
                    self.write(event, line, deeper, json)?;
                }
                json.push(']');
            }
            Token::MappingStart(..) => {
                json.push('{');
                for index in 0.. {
                    let (event, line) = self.next()?;
                    let name = match event {
                        Token::MappingEnd => break,
                        Token::Scalar(name, ..) => name,
                        _ => return Err(refused(line, "a name", "something else")),
                    };
                    json.push_str(if index > 0 { "," } else { "" });
                    // Writing to a string cannot fail.
                    let _ = write!(json, "{}:", Value::from(name.as_ref()));
                    let (event, line) = self.next()?;
                    self.write(event, line, deeper, json)?;
                }
                json.push('}');
            }
            Token::Alias(_) => return Err(refused(line, "no aliases", "one")),
            _ => return Err(refused(line, "a value", "none")),
        }
        Ok(())
    }
}

/// Converts a scalar to JSON. A plain scalar has the type that it looks like, and keeps its digits.
fn scalar(text: &str, is_plain: bool) -> String {
    let is_number = || {
        text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
            && serde_json::from_str::<serde_json::Number>(text).is_ok()
    };
    match text {
        "" | "~" | "null" if is_plain => "null".to_owned(),
        "true" | "false" if is_plain => text.to_owned(),
        _ if is_plain && is_number() => text.to_owned(),
        _ => Value::from(text).to_string(),
    }
}

fn unreadable(error: &ScanError) -> ScriptError {
    refused(error.marker().line(), "YAML", error.info())
}

fn refused(line: usize, expected: &str, found: &str) -> ScriptError {
    ScriptError::Line {
        line,
        problem: DecodeError::new(expected, found),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::super::Script;

    const SCRIPT: &str = r#"# A comment.
- service: {strict: true, models: [gemini-live-test]}

- on: {text: order}
  send:
    - call:
        - {id: c1, name: lookup, args: {n: 9007199254740993, f: 1.0, zip: "0042", nothing: null}}
    - say: "It's {n}: done"
- on: otherwise
  send:
    - say: >
        Folded
        words.
"#;

    #[test]
    fn a_script_in_yaml_is_the_same_as_in_json_lines() {
        let json = r#"
            {"service":{"strict":true,"models":["gemini-live-test"]}}
            {"on":{"text":"order"},"send":[{"call":[{"id":"c1","name":"lookup","args":{"n":9007199254740993,"f":1.0,"zip":"0042","nothing":null}}]},{"say":"It's {n}: done"}]}
            {"on":"otherwise","send":[{"say":"Folded words.\n"}]}"#;
        assert_eq!(
            Script::parse_yaml(SCRIPT).unwrap(),
            Script::parse(json).unwrap()
        );
    }

    #[test]
    fn problems_name_the_line_of_the_entry() {
        let problem = |text: &str| Script::parse_yaml(text).unwrap_err().to_string();
        let misspelt = problem("- on: setup\n\n- on: setup\n  sned: []\n");
        assert!(misspelt.starts_with("line 3 of the script"), "{misspelt}");
        assert!(misspelt.contains("did you mean \"send\"?"), "{misspelt}");
        assert!(problem("- on: [setup\n").contains("expected YAML"));
        assert!(problem("- on: &a setup\n- on: *a\n").contains("no aliases"));
        assert!(
            problem(&"[".repeat(200)).contains("levels")
                || problem(&"[".repeat(200)).contains("YAML")
        );
    }

    #[test]
    fn an_empty_script_is_one() {
        assert_eq!(Script::parse_yaml("").unwrap(), Script::default());
        assert_eq!(
            Script::parse_yaml("---\n# nothing\n").unwrap(),
            Script::default()
        );
    }
}
