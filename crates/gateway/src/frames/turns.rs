//! Calls and responses inside the turns of a conversation, beside the protocol's own way.
//!
//! The vendor may show a call also as a part of the model's turn, and a client may write a response
//! into a turn. The protocol executes and answers calls only by `toolCall` and `toolResponse`, but
//! not all programs keep to that.

use recount::live::wire::ClientMessage;

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

/// Returns the ids of the calls that a client answers inside turns of its content. A response
/// without an id has an empty one.
///
/// A client also restores history so, with responses to calls of earlier sessions.
///
/// # Errors
/// An error if the message cannot be read.
pub(crate) fn answered_in_turns(frame: &str) -> Result<Vec<String>, FrameError> {
    let content = ClientMessage::decode(frame)?.client_content;
    let turns = content.map(|it| it.turns.into_vec()).unwrap_or_default();
    let parts = turns.into_iter().flat_map(|turn| turn.parts.into_vec());
    let responses = parts.filter_map(|part| part.function_response);
    Ok(responses.map(|it| it.id.unwrap_or_default()).collect())
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

    #[test]
    fn responses_inside_turns_are_found() {
        let content = |part: &str| {
            let turn = format!(r#"{{"parts":[{{"text":"a"}},{part}]}}"#);
            format!(r#"{{"client_content":{{"turns":[{turn}]}}}}"#)
        };
        for (part, ids) in [
            (
                r#"{"function_response":{"id":"c1","name":"pay"}}"#,
                &["c1"][..],
            ),
            (r#"{"functionResponse":{"name":"pay"}}"#, &[""]),
            (r#"{"functionCall":{"id":"c1","name":"pay"}}"#, &[]),
        ] {
            assert_eq!(answered_in_turns(&content(part)).unwrap(), ids, "{part}");
        }
        assert!(answered_in_turns(&content(r#"{"functionResponse":7}"#)).is_err());
    }
}
