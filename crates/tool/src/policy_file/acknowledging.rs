//! The keys of a policy file about what the model receives while a call waits.

use serde_json::{Value, json};

use super::keys::{Key, Misread, TIME, or_false, some_time, time_schema, unless_false};

pub(super) const ACKNOWLEDGE: Key = Key {
    name: "acknowledge",
    expected: "a text or a table, or false",
    about: "The words that the model is given while a person decides. false: those of every other \
            tool.",
    schema: || or_false(json!({"type": ["object", "string"]})),
    read: |value, to| {
        to.acknowledge = Some(unless_false(value, |it| match it {
            Value::Object(_) | Value::String(_) => Ok(it.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                Err(Misread::Other)
            }
        })?);
        Ok(())
    },
};

pub(super) const ACKNOWLEDGE_AFTER: Key = Key {
    name: "acknowledge_after",
    expected: TIME,
    about: "How long a call waits before the model is told that it waits; a call that is decided \
            before only gets its result. false: as the agent says.",
    schema: || or_false(time_schema()),
    read: |value, to| {
        to.acknowledge_after = Some(unless_false(value, some_time)?);
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use crate::policy_file::keys;

    fn read(value: Value) -> (Option<Option<Duration>>, usize) {
        let fields = json!({"acknowledge_after": value});
        let fields = fields.as_object().cloned().unwrap_or_default();
        let (changes, mistakes) = keys::read(&fields);
        (changes.acknowledge_after, mistakes.len())
    }

    #[test]
    fn acknowledge_after_is_a_time_or_false() {
        let ten = Some(Some(Duration::from_secs(10)));
        assert_eq!(read(json!("10s")), (ten, 0));
        assert_eq!(read(json!(false)), (Some(None), 0));
        for wrong in [json!("0s"), json!(10), json!(true), json!("soon")] {
            assert_eq!(read(wrong.clone()), (None, 1), "{wrong}");
        }
    }
}
