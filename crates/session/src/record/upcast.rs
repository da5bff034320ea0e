//! Conversion of bodies of older versions. It happens only here.
//!
//! The schema of an event never loses or renames a field. (The one exception, `call` and `contract`
//! in place of `question` in `confirmation_reopened`, is older than the first kept journal and on
//! no record.) An added field may be absent. Its absence usually means the field's default, and
//! such a body is parsed as it is. For each change where absence meant something else, a function
//! here converts the body. The journal keeps the body as it was written.

use std::borrow::Cow;

use serde_json::Value;

/// Returns the body as the current version would have written it.
pub(super) fn upcast<'b>(kind: &str, body: &'b str) -> Cow<'b, str> {
    match kind {
        "connected" => {
            connected_without_initial_history(body).map_or(Cow::Borrowed(body), Cow::Owned)
        }
        _ => Cow::Borrowed(body),
    }
}

/// Adds `initial_history: false`. Older versions never announced a history, but today an absent
/// capability counts as present.
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

    /// A body from `fixtures/journals/rules-1/answered_by_the_program_and_heard.jsonl`.
    const WITHOUT_INITIAL_HISTORY: &str = concat!(
        r#"{"model":"models/m","endpoint":"scripted","#,
        r#""capabilities":{"default_behavior":"blocking","async_tools":true,"#,
        r#""blocking_tools":true,"scheduling":true,"will_continue":true,"#,
        r#""client_content":true,"json_schema":true,"context_update":false,"#,
        r#""google_search":true,"code_execution":true,"url_context":true}}"#
    );

    fn capabilities(body: &str) -> Option<Capabilities> {
        let event = Event::decode("connected", body).unwrap();
        if let Event::Observed(Observation::Connected(it)) = event {
            it.capabilities
        } else {
            None
        }
    }

    #[test]
    fn old_connected_body_has_no_initial_history() {
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
