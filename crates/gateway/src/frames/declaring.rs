//! Declaration of additional tools in a client's setup or context update.

use serde_json::{Value, json};

use super::FrameError;
use super::members::{Members, elements, object_of, place_of};

/// Adds function declarations to a setup or a context update. All other bytes stay as they are.
///
/// A setup without tools gets a list of them. A context update without tools is returned
/// unchanged, because it keeps the tools that are in force, with those that were added before.
///
/// # Errors
/// An error if the message is neither a setup nor a context update, or can be read in two ways.
pub(crate) fn with_tools(frame: &str, declarations: &[Value]) -> Result<String, FrameError> {
    let mut members = Members::of_frame(frame)?;
    let (setup, update) = (members.take("setup")?, members.take("contextUpdate")?);
    let (key, holder) = match (setup, update) {
        (Some(_), Some(_)) => return Err(FrameError::TwoPayloads("setup", "contextUpdate")),
        (Some(setup), None) => ("setup", setup.value),
        (None, Some(update)) => {
            let mut inside = object_of("contextUpdate", update.value)?;
            match inside.take("tools")? {
                Some(wrapper) => ("tools", wrapper.value),
                None => return Ok(frame.to_owned()),
            }
        }
        (None, None) => return Err(FrameError::Missing("setup")),
    };
    if declarations.is_empty() {
        return Ok(frame.to_owned());
    }
    let tool = json!({ "functionDeclarations": declarations }).to_string();
    let edit = edit(frame, key, holder, &tool)?;
    edit.applied(frame).ok_or_else(|| unfound(key))
}

/// The replacement of a part of a message.
struct Edit {
    from: usize,
    to: usize,
    text: String,
}

impl Edit {
    fn applied(&self, frame: &str) -> Option<String> {
        let (before, after) = (frame.get(..self.from)?, frame.get(self.to..)?);
        Some([before, &self.text, after].concat())
    }
}

/// Finds the place of one more tool in the object that holds the list of tools.
fn edit(frame: &str, key: &'static str, holder: &str, tool: &str) -> Result<Edit, FrameError> {
    let mut inside = object_of(key, holder)?;
    let is_empty = inside.left().is_empty();
    let null = inside
        .left()
        .iter()
        .find(|it| it.key == "tools" && it.value == "null");
    let null = null.map(|it| it.value);
    // Objects and lists end with their bracket.
    let end_of = |part: &str| {
        let at = place_of(part, frame).ok_or_else(|| unfound(key));
        at.map(|at| at + part.len() - 1)
    };
    if let Some(list) = inside.take("tools")? {
        let comma = if elements("tools", list.value)?.is_empty() {
            ""
        } else {
            ","
        };
        let at = end_of(list.value)?;
        return Ok(Edit {
            from: at,
            to: at,
            text: format!("{comma}{tool}"),
        });
    }
    if let Some(null) = null {
        let from = place_of(null, frame).ok_or_else(|| unfound(key))?;
        return Ok(Edit {
            from,
            to: from + null.len(),
            text: format!("[{tool}]"),
        });
    }
    let comma = if is_empty { "" } else { "," };
    let at = end_of(holder)?;
    Ok(Edit {
        from: at,
        to: at,
        text: format!("{comma}\"tools\":[{tool}]"),
    })
}

fn unfound(key: &'static str) -> FrameError {
    FrameError::Missing(key)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    const TOOL: &str = r#"{"functionDeclarations":[{"name":"hosted"}]}"#;

    fn with(frame: &str) -> Result<String, FrameError> {
        with_tools(frame, &[json!({"name": "hosted"})])
    }

    #[test]
    fn only_the_list_of_tools_changes() {
        for (frame, from, to) in [
            (
                r#"{"setup": {"model": "m"} }"#,
                r#""m"}"#,
                r#""m","tools":[TOOL]}"#,
            ),
            (r#"{"setup":{}}"#, "{}", r#"{"tools":[TOOL]}"#),
            (r#"{"setup":{"tools":[ ],"a":[1]}}"#, "[ ]", "[ TOOL]"),
            (r#"{"setup":{"tools":null,"a":1}}"#, "null", "[TOOL]"),
            (
                r#"{"setup":{"tools":[{"googleSearch":{}}] , "n":1.0}}"#,
                "{}}]",
                "{}},TOOL]",
            ),
            (
                r#"{"setup":{"a":{"tools":[1]},"tools":[2]}}"#,
                "2]",
                "2,TOOL]",
            ),
            (
                r#"{"contextUpdate":{"tools":{"tools":[]}}}"#,
                "[]",
                "[TOOL]",
            ),
            (
                r#"{"context_update":{"tools":{}}}"#,
                "{}",
                r#"{"tools":[TOOL]}"#,
            ),
        ] {
            let expected = frame.replacen(from, &to.replace("TOOL", TOOL), 1);
            assert_ne!(expected, frame);
            let changed = with(frame).unwrap();
            assert_eq!(changed, expected);
            serde_json::from_str::<Value>(&changed).unwrap();
            assert_eq!(with_tools(frame, &[]).unwrap(), frame);
        }
    }

    #[test]
    fn update_without_tools_stays_as_it_is() {
        for frame in [
            r#"{"contextUpdate":{"systemInstruction":{}}}"#,
            r#"{"contextUpdate":{"tools":null}}"#,
        ] {
            assert_eq!(with(frame).unwrap(), frame);
        }
    }

    #[test]
    fn message_without_a_place_for_tools_is_refused() {
        for frame in [
            r#"{"realtimeInput":{}}"#,
            r#"{"setup":7}"#,
            r#"{"setup":{"tools":{}}}"#,
            r#"{"setup":{"tools":[],"tools":[]}}"#,
            r#"{"setup":{"Tools":[]}}"#,
            r#"{"setup":{},"contextUpdate":{}}"#,
            "",
        ] {
            assert!(with(frame).is_err(), "{frame}");
        }
    }
}
