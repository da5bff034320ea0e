//! Calls inside the turns of the model, beside the protocol's own way.
//!
//! The vendor may show a call also as a part of the model's turn. The protocol executes calls only
//! by `toolCall`, but not all programs keep to that.

use super::FrameError;
use super::members::{Members, elements, object_of, place_of};

/// Removes function calls from the model's turn of a vendor's message. All other bytes stay.
///
/// `is_hidden` gets the name of the function, if there is one. `None` if there is nothing to
/// remove.
///
/// # Errors
/// An error if the turn can be read in two ways or not at all. The message must not be forwarded
/// then.
pub(crate) fn without_calls(
    frame: &str,
    is_hidden: impl Fn(Option<&str>) -> bool,
) -> Result<Option<String>, FrameError> {
    let Some(list) = parts_of(frame)? else {
        return Ok(None);
    };
    let parts = elements("parts", list)?;
    let mut kept = Vec::with_capacity(parts.len());
    for part in &parts {
        let call = object_of("parts", part)?.take("functionCall")?;
        let is_kept = match call {
            None => true,
            Some(call) => {
                let name = object_of("functionCall", call.value)?.string("name")?;
                !is_hidden(name.as_deref())
            }
        };
        if is_kept {
            kept.push(*part);
        }
    }
    if kept.len() == parts.len() {
        return Ok(None);
    }
    let replaced = place_of(list, frame).and_then(|at| {
        let (before, after) = (frame.get(..at)?, frame.get(at + list.len()..)?);
        Some(format!("{before}[{}]{after}", kept.join(",")))
    });
    // The list is a part of the message, so its place is found.
    replaced.map(Some).ok_or(FrameError::Missing("parts"))
}

/// Returns the exact text of the list of parts in the model's turn.
fn parts_of(frame: &str) -> Result<Option<&str>, FrameError> {
    let Some(content) = Members::of_frame(frame)?.take("serverContent")? else {
        return Ok(None);
    };
    let Some(turn) = object_of("serverContent", content.value)?.take("modelTurn")? else {
        return Ok(None);
    };
    let parts = object_of("modelTurn", turn.value)?.take("parts")?;
    Ok(parts.map(|it| it.value))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    const HELD: &str = r#"{"functionCall":{"id":"a","name":"pay","args":{}}}"#;
    const OTHER: &str = r#"{ "function_call":{"name":"look"} }"#;
    const WORDS: &str = r#"{"text":"\u0070ay"}"#;

    fn frame(parts: &[&str]) -> String {
        let parts = parts.join(" ,");
        format!(
            r#"{{"usageMetadata":{{}}, "serverContent":{{"modelTurn":{{"parts" : [{parts}]}}}}}}"#
        )
    }

    fn hidden(frame: &str) -> Result<Option<String>, FrameError> {
        without_calls(frame, |name| name == Some("pay"))
    }

    #[test]
    fn hidden_calls_leave_the_turn_and_nothing_else_does() {
        let shown = hidden(&frame(&[WORDS, HELD, OTHER])).unwrap().unwrap();
        assert_eq!(shown, frame(&[WORDS, OTHER]).replace(" ,", ","));
        assert_eq!(hidden(&frame(&[HELD])).unwrap().unwrap(), frame(&[]));
        assert_eq!(hidden(&frame(&[WORDS, OTHER])).unwrap(), None);
        assert_eq!(hidden(r#"{"toolCall":{}}"#).unwrap(), None);
        let escaped = HELD.replace("pay", r"p\u0061y");
        assert!(hidden(&frame(&[&escaped])).unwrap().is_some());
        // A call without a name is the caller's decision, too.
        let nameless = frame(&[r#"{"functionCall":{}}"#]);
        assert!(
            without_calls(&nameless, |name| name.is_none())
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn turn_read_in_two_ways_is_refused() {
        for part in [
            r#"{"functionCall":{"name":"look"},"function_call":{"name":"pay"}}"#,
            r#"{"functionCall":{"name":"look","name":"pay"}}"#,
            r#"{"FunctionCall":{"name":"pay"}}"#,
            r#"{"functionCall":[]}"#,
            "7",
        ] {
            assert!(hidden(&frame(&[part])).is_err(), "{part}");
        }
    }
}
