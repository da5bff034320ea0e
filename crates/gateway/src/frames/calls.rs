//! Division of a vendor's message into its calls, its cancellations and the rest.

use serde_json::Value;

use super::FrameError;
use super::members::{Members, elements, object_of};

/// The parts of a vendor's message.
#[derive(Debug, Default)]
pub(crate) struct DividedFrame<'a> {
    /// The calls, in order.
    pub(crate) calls: Vec<Call<'a>>,
    /// The cancelled calls.
    pub(crate) cancelled: Option<Cancellation<'a>>,
    /// Members of `toolCall` besides its list of calls, as `"key":value`. The protocol has none.
    pub(crate) beside_calls: Vec<&'a str>,
    /// The other members as a message of their own, with their exact texts. `None` if there are
    /// none.
    pub(crate) rest: Option<String>,
    /// True if a part of the model's turn is a function call or may be one.
    ///
    /// The vendor may send a call there and as a `toolCall`. Its client libraries execute only the
    /// latter, but some programs execute both.
    pub(crate) has_call_in_turn: bool,
}

/// One call of a message.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The id. `None` if it is absent, null or empty.
    pub(crate) id: Option<String>,
    /// The name of the function. `None` if it is absent, null or empty.
    pub(crate) name: Option<String>,
    /// The exact text of the call.
    pub(crate) text: &'a str,
    /// True if the call has pieces of arguments or says whether it continues. The last piece of a
    /// streamed call may have neither and look like a call of its own.
    pub(crate) is_piece: bool,
}

/// The cancellation of calls.
#[derive(Debug)]
pub(crate) struct Cancellation<'a> {
    /// The ids of the calls.
    pub(crate) ids: Vec<String>,
    /// The exact text of the member, as `"key":value`.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "shows in tests that nothing is lost")
    )]
    pub(crate) text: &'a str,
}

/// Divides a message.
///
/// # Errors
/// An error if the message, or a list of calls in it, can be read in two ways or not at all. It
/// must not be forwarded then.
pub(crate) fn split(frame: &str) -> Result<DividedFrame<'_>, FrameError> {
    let mut members = Members::of_frame(frame)?;
    let mut divided = DividedFrame::default();
    if let Some(called) = members.take("toolCall")? {
        let mut called = object_of("toolCall", called.value)?;
        if let Some(list) = called.take("functionCalls")? {
            let list = elements("functionCalls", list.value)?;
            let calls: Result<Vec<Call<'_>>, FrameError> = list.into_iter().map(call).collect();
            divided.calls = calls?;
        }
        divided.beside_calls = called.left().iter().map(|it| it.text).collect();
    }
    if let Some(cancelled) = members.take("toolCallCancellation")? {
        let text = cancelled.text;
        let ids = cancelled_ids(cancelled.value)?;
        divided.cancelled = Some(Cancellation { ids, text });
    }
    divided.rest = members.rest();
    divided.has_call_in_turn = may_call_in_turn(&mut members).unwrap_or(true);
    Ok(divided)
}

fn call(text: &str) -> Result<Call<'_>, FrameError> {
    let mut members = object_of("functionCalls", text)?;
    let not_empty = |it: &String| !it.is_empty();
    // `args` is taken to reject a key that only resembles it.
    members.take("args")?;
    let pieces = members.take("partialArgs")?;
    let continues = members.boolean("willContinue")?;
    Ok(Call {
        id: members.string("id")?.filter(not_empty),
        name: members.string("name")?.filter(not_empty),
        text,
        is_piece: pieces.is_some() || continues.is_some(),
    })
}

fn cancelled_ids(value: &str) -> Result<Vec<String>, FrameError> {
    let mut members = object_of("toolCallCancellation", value)?;
    let Some(ids) = members.take("ids")? else {
        return Ok(Vec::new());
    };
    let id = |text: &str| {
        let id = serde_json::from_str(text);
        id.map_err(|_| super::members::wrong_type("ids", "a string", text))
    };
    elements("ids", ids.value)?.into_iter().map(id).collect()
}

fn may_call_in_turn(members: &mut Members<'_>) -> Result<bool, FrameError> {
    let Some(content) = members.take("serverContent")? else {
        return Ok(false);
    };
    let mut content = object_of("serverContent", content.value)?;
    let Some(turn) = content.take("modelTurn")? else {
        return Ok(false);
    };
    let mut turn = object_of("modelTurn", turn.value)?;
    let Some(parts) = turn.take("parts")? else {
        return Ok(false);
    };
    for part in elements("parts", parts.value)? {
        let mut part = object_of("parts", part)?;
        if part.take("functionCall")?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Builds a message with the given calls, each as the exact text of [`Call::text`].
pub(crate) fn frame_of(calls: &[&str]) -> String {
    format!(
        r#"{{"toolCall":{{"functionCalls":[{}]}}}}"#,
        calls.join(",")
    )
}

/// Builds a message that cancels calls.
pub(crate) fn cancellation<'i>(ids: impl IntoIterator<Item = &'i str>) -> String {
    let ids: Value = ids.into_iter().collect();
    format!(r#"{{"toolCallCancellation":{{"ids":{ids}}}}}"#)
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
