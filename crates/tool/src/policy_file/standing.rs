//! The key of a policy file under which an approval may allow later calls.

use serde_json::json;

use super::keys::{FLAG, Key, Misread};

pub(super) const MAY_ALLOW_FOR_SESSION: Key = Key {
    name: "may_allow_for_session",
    expected: FLAG,
    about: "An approval may also allow later calls of the tool in the session, up to a time or a \
            number of calls.",
    schema: || json!({"type": "boolean"}),
    read: |value, to| {
        to.may_allow_for_session = Some(value.as_bool().ok_or(Misread::Other)?);
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::policy_file::keys;

    #[test]
    fn leave_key_is_a_flag() {
        for (value, read) in [(json!(true), Some(true)), (json!(false), Some(false))] {
            let fields = json!({"may_allow_for_session": value});
            let fields = fields.as_object().cloned().unwrap_or_default();
            let (changes, mistakes) = keys::read(&fields);
            assert_eq!(changes.may_allow_for_session, read);
            assert!(mistakes.is_empty());
        }
        let fields = json!({"may_allow_for_session": "yes"});
        let fields = fields.as_object().cloned().unwrap_or_default();
        assert_eq!(keys::read(&fields).1.len(), 1);
    }
}
