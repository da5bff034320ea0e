//! The key of a policy file for the effect of a question that no person answers in time.

use recount_session::OnExpiry;
use serde_json::json;

use super::keys::{Key, Misread, unless_false};

pub(super) const CONFIRM_ON_EXPIRY: Key = Key {
    name: "confirm_on_expiry",
    expected: "\"deny\", \"allow\" or false",
    about: "What becomes of a call whose question expires; it needs a time. deny: the call counts \
            as denied. allow: it runs although no person allowed it, so the gate fails open. \
            false: as the agent says, or else deny.",
    schema: || json!({"enum": ["deny", "allow", false]}),
    read: |value, to| {
        to.confirm_on_expiry = Some(unless_false(value, |it| match it.as_str() {
            Some("deny") => Ok(OnExpiry::Deny),
            Some("allow") => Ok(OnExpiry::Allow),
            Some(_) | None => Err(Misread::Other),
        })?);
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy_file::keys;

    #[test]
    fn effect_of_an_expiry_is_one_of_two_words() {
        let read = |value: serde_json::Value| {
            let fields = json!({"confirm_on_expiry": value});
            keys::read(&fields.as_object().cloned().unwrap_or_default())
        };
        let known = [
            (json!("deny"), Some(OnExpiry::Deny)),
            (json!("allow"), Some(OnExpiry::Allow)),
            (json!(false), None),
        ];
        for (value, expected) in known {
            let (changes, mistakes) = read(value);
            assert_eq!(changes.confirm_on_expiry, Some(expected));
            assert!(mistakes.is_empty());
        }
        for value in [json!("run"), json!(true), json!(1)] {
            assert_eq!(read(value).1.len(), 1);
        }
    }
}
