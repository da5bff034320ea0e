//! Bodies of older versions as bodies of today: the one place where that happens.
//!
//! Since the first journal that is kept, nothing in the schema of an event is renamed or removed;
//! before it `confirmation_reopened` once had `call` and `contract` in place of `question`, and no
//! such body is on any record. A field that is added may be absent, and mostly its absence means
//! what the field's default says; such a body is read as it is. Where an older version meant
//! something else by it, a function here says so, one for each kind and change, and the journal
//! keeps the body as it was written.

use std::borrow::Cow;

use serde_json::Value;

/// The body of an event of this kind as today's version would have written it.
pub(super) fn upcast<'b>(kind: &str, body: &'b str) -> Cow<'b, str> {
    match kind {
        "connected" => {
            connected_without_initial_history(body).map_or(Cow::Borrowed(body), Cow::Owned)
        }
        _ => Cow::Borrowed(body),
    }
}

/// Before a history could be announced, none was, whatever the model would have taken; today a
/// capability that is not named is one that it has.
fn connected_without_initial_history(body: &str) -> Option<String> {
    const NAME: &str = "initial_history";
    if body.contains(NAME) {
        return None;
    }
    let mut connected: Value = serde_json::from_str(body).ok()?;
    let capabilities = connected.get_mut("capabilities")?.as_object_mut()?;
    capabilities.insert(NAME.to_owned(), Value::Bool(false));
    Some(connected.to_string())
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;
    use crate::{Capabilities, Event, Observation};

    /// As it stands in `fixtures/journals/rules-1/answered_by_the_program_and_heard.jsonl`.
    const WITHOUT_INITIAL_HISTORY: &str = r#"{"model":"models/m","endpoint":"scripted","capabilities":{"default_behavior":"blocking","async_tools":true,"blocking_tools":true,"scheduling":true,"will_continue":true,"client_content":true,"json_schema":true,"context_update":false,"google_search":true,"code_execution":true,"url_context":true}}"#;

    fn capabilities(body: &str) -> Option<Capabilities> {
        let event = Event::decode("connected", body).unwrap();
        if let Event::Observed(Observation::Connected(it)) = event {
            it.capabilities
        } else {
            None
        }
    }

    #[test]
    fn a_model_that_was_never_asked_to_take_a_history_is_not_said_to_have_taken_one() {
        let of_before = capabilities(WITHOUT_INITIAL_HISTORY).unwrap();
        let expected = Capabilities {
            initial_history: false,
            context_update: false,
            ..Capabilities::default()
        };
        assert_eq!(of_before, expected);
    }

    #[test]
    fn a_body_of_today_is_read_as_it_stands() {
        let body = r#"{"model":"m","endpoint":"e","capabilities":{"initial_history":true}}"#;
        assert!(capabilities(body).unwrap().initial_history);
        for body in [body, r#"{"model":"m","endpoint":"e"}"#, "no JSON"] {
            assert!(
                matches!(upcast("connected", body), Cow::Borrowed(_)),
                "{body}"
            );
        }
        assert!(matches!(
            upcast("disconnected", WITHOUT_INITIAL_HISTORY),
            Cow::Borrowed(_)
        ));
    }
}
