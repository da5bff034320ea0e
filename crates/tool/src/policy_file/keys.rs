//! The keys of a tool's policy in a file: each with its value, its meaning, and its JSON Schema.
//!
//! One table defines all three, so that the reader and the schema have the same keys.

use std::collections::BTreeSet;
use std::time::Duration;

use recount_session::policy::{Background, Edits, InDoubt, Progress, Repeats, Retry};
use recount_session::{
    CacheChange, Condition, FunctionResponseScheduling, GateChange, S, ToolPolicyChanges,
    recorded_key,
};
use serde_json::{Map, Value, json};

use super::{acknowledging, approving, expiring, standing};
use crate::schema::arguments::check_schema;
use crate::typed::found::{expected, found};

/// One key.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(super) expected: &'static str,
    /// The description in the schema.
    pub(super) about: &'static str,
    pub(super) schema: fn() -> Value,
    pub(super) read: fn(&Value, &mut ToolPolicyChanges) -> Result<(), Misread>,
}

/// The reason why a value was rejected.
pub(super) enum Misread {
    /// The value has another form than the key needs.
    Other,
    /// The form is right, but a part of the value is invalid.
    Because(String),
}

/// All keys of a tool's policy.
pub(crate) const KEYS: [Key; 27] = [
    Key {
        name: "confirm",
        expected: "a hint, true or false",
        about: "A person must agree before the tool runs; the text is what that person is told. \
                false: no person is asked.",
        schema: || json!({"type": ["boolean", "string"]}),
        read: |value, to| {
            to.confirm = Some(gate(value).ok_or(Misread::Other)?);
            Ok(())
        },
    },
    Key {
        name: "confirm_when",
        expected: "a condition such as { compares = [\"args:cents\", \">\", 1000] }, or false",
        about: "The calls about which a person is asked. false: all, where there is a gate.",
        schema: || or_false(json!({"$ref": "#/$defs/condition"})),
        read: |value, to| {
            to.confirm_when = Some(unless_false(value, |it| condition(it, true))?);
            Ok(())
        },
    },
    Key {
        name: "confirm_expires_after",
        expected: TIME,
        about: "After how long without an answer the question expires; by default the call then \
                counts as denied. false: never.",
        schema: || or_false(time_schema()),
        read: |value, to| {
            to.confirm_expires_after = Some(unless_false(value, some_time)?);
            Ok(())
        },
    },
    expiring::CONFIRM_ON_EXPIRY,
    Key {
        name: "confirm_payload",
        expected: "a JSON Schema as a table, or false",
        about: "The JSON Schema that the data given with a yes must fit. false: there is none.",
        schema: || or_false(json!({"type": "object"})),
        read: |value, to| {
            to.confirm_payload = Some(unless_false(value, payload)?);
            Ok(())
        },
    },
    Key {
        name: "confirm_edits",
        expected: "\"allowed\", \"approved_anew\" or false",
        about: "A person may change the arguments with a yes; approved_anew: the changed call is asked about again. false: they may not.",
        schema: || json!({"enum": ["allowed", "approved_anew", false]}),
        read: |value, to| {
            to.confirm_edits = Some(unless_false(value, |it| match it.as_str() {
                Some("allowed") => Ok(Edits::Allowed),
                Some("approved_anew") => Ok(Edits::ApprovedAnew),
                Some(_) | None => Err(Misread::Other),
            })?);
            Ok(())
        },
    },
    approving::APPROVERS,
    approving::NOT_REQUESTER,
    approving::QUORUM,
    standing::MAY_ALLOW_FOR_SESSION,
    acknowledging::ACKNOWLEDGE,
    acknowledging::ACKNOWLEDGE_AFTER,
    Key {
        name: "keep_reason",
        expected: FLAG,
        about: "The reason of a no stays on record, and the model does not get it.",
        schema: || json!({"type": "boolean"}),
        read: |value, to| {
            to.keep_reason = Some(value.as_bool().ok_or(Misread::Other)?);
            Ok(())
        },
    },
    Key {
        name: "withdraw_on_cancel",
        expected: FLAG,
        about: "A cancellation by the model withdraws the question.",
        schema: || json!({"type": "boolean"}),
        read: |value, to| {
            to.withdraw_on_cancel = Some(value.as_bool().ok_or(Misread::Other)?);
            Ok(())
        },
    },
    Key {
        name: "timeout",
        expected: TIME,
        about: "How long one run may take; waiting for a person does not count. false: as the agent says.",
        schema: || or_false(time_schema()),
        read: |value, to| {
            to.timeout = Some(unless_false(value, some_time)?);
            Ok(())
        },
    },
    Key {
        name: "in_doubt",
        expected: "\"retry\", \"ask\" or \"settle_unknown\"",
        about: "What becomes of a call that was cut off between its start and its result.",
        schema: || json!({"enum": ["retry", "ask", "settle_unknown"]}),
        read: |value, to| {
            let rules = [InDoubt::Retry, InDoubt::Ask, InDoubt::SettleUnknown];
            let rule = rules
                .into_iter()
                .find(|it| value.as_str() == Some(it.as_str()));
            to.in_doubt = Some(rule.ok_or(Misread::Other)?);
            Ok(())
        },
    },
    Key {
        name: "cached",
        expected: "a time such as \"5m\", true or false",
        about: "An equal call gets the result of an earlier one: as old as this, or, with true, as old as the session.",
        schema: || json!({"anyOf": [{"type": "boolean"}, time_schema()]}),
        read: |value, to| {
            to.cached = Some(match value.as_bool() {
                Some(false) => CacheChange::Off,
                Some(true) => CacheChange::On { max_age: None },
                None => CacheChange::On {
                    max_age: Some(some_time(value)?),
                },
            });
            Ok(())
        },
    },
    Key {
        name: "background",
        expected: "\"INTERRUPT\", \"WHEN_IDLE\", \"SILENT\", true or false",
        about: "The model does not wait for the result, and takes it up like this; true is WHEN_IDLE.",
        schema: || json!({"enum": ["INTERRUPT", "WHEN_IDLE", "SILENT", true, false]}),
        read: |value, to| {
            to.background = Some(background(value).ok_or(Misread::Other)?);
            Ok(())
        },
    },
    Key {
        name: "retry",
        expected: "{ attempts = 3, backoff = \"200ms\" } with at least 2 attempts, or false",
        about: "How many runs there may be, and how long is waited before the second; only of a tool whose in_doubt is \"retry\".",
        schema: || {
            or_false(json!({
                "type": "object",
                "properties": {"attempts": {"type": "integer", "minimum": 2, "maximum": u32::MAX}, "backoff": any_time_schema()},
                "required": ["attempts", "backoff"],
                "additionalProperties": false,
            }))
        },
        read: |value, to| {
            to.retry = Some(unless_false(value, |it| retry(it).ok_or(Misread::Other))?);
            Ok(())
        },
    },
    Key {
        name: "limit_per_session",
        expected: COUNT,
        about: "How often it may be called in a session. false: any number of times.",
        schema: || or_false(count_schema()),
        read: |value, to| {
            to.limit_per_session = Some(unless_false(value, count)?);
            Ok(())
        },
    },
    Key {
        name: "limit_per_minute",
        expected: COUNT,
        about: "How often it may be called in any sixty seconds. false: any number of times.",
        schema: || or_false(count_schema()),
        read: |value, to| {
            to.limit_per_minute = Some(unless_false(value, count)?);
            Ok(())
        },
    },
    Key {
        name: "phases",
        expected: "a list of at least one name of a phase, or false",
        about: "The phases of the conversation in which it may be called. false: in all that do not leave it out.",
        schema: || or_false(json!({"type": "array", "items": {"type": "string"}, "minItems": 1})),
        read: |value, to| {
            let named = |it: &Value| {
                let names: BTreeSet<String> = names(it).ok_or(Misread::Other)?;
                if names.is_empty() {
                    return Err(Misread::Other);
                }
                Ok(names)
            };
            to.phases = Some(unless_false(value, named)?);
            Ok(())
        },
    },
    Key {
        name: "when",
        expected: "a condition such as { is_true = \"identity_verified\" }, or false",
        about: "What must hold of the state for it to be called. false: nothing.",
        schema: || or_false(json!({"$ref": "#/$defs/condition"})),
        read: |value, to| {
            to.when = Some(unless_false(value, |it| condition(it, false))?);
            Ok(())
        },
    },
    Key {
        name: "repeats",
        expected: "\"run\", \"pending_ticket\" or false",
        about: "What becomes of an equal call that comes while the first has not ended: it runs, too, or it ends at once with the ticket of the first. false: it runs.",
        schema: || json!({"enum": ["run", "pending_ticket", false]}),
        read: |value, to| {
            let rule = unless_false(value, |it| match it.as_str() {
                Some("run") => Ok(Repeats::Run),
                Some("pending_ticket") => Ok(Repeats::PendingTicket),
                Some(_) | None => Err(Misread::Other),
            })?;
            to.repeats = Some(rule.unwrap_or(Repeats::Run));
            Ok(())
        },
    },
    Key {
        name: "interim_status",
        expected: "true or false",
        about: "A result with the status pending or in_progress is news, and the call stays paused.",
        schema: || json!({"type": "boolean"}),
        read: |value, to| {
            to.interim_status = Some(value.as_bool().ok_or(Misread::Other)?);
            Ok(())
        },
    },
    Key {
        name: "progress",
        expected: "\"extends_timeout\", \"told\" or false",
        about: "The effect of the progress that an MCP server reports of a call: its time limit starts again; told: and the model is told. false: none.",
        schema: || json!({"enum": ["extends_timeout", "told", false]}),
        read: |value, to| {
            to.progress = Some(unless_false(value, |it| match it.as_str() {
                Some("extends_timeout") => Ok(Progress::ExtendsTimeout),
                Some("told") => Ok(Progress::Told),
                Some(_) | None => Err(Misread::Other),
            })?);
            Ok(())
        },
    },
    Key {
        name: "max_open_requests",
        expected: COUNT,
        about: "How many calls of the tool may wait for a person at the same time; others are \
                refused. false: any number.",
        schema: || or_false(count_schema()),
        read: |value, to| {
            to.max_open_requests = Some(unless_false(value, count)?);
            Ok(())
        },
    },
];

/// Reads the policy keys in `entry`, and returns the keys with invalid values. Other keys are
/// ignored.
pub(crate) fn read(entry: &Map<String, Value>) -> (ToolPolicyChanges, Vec<(&'static str, String)>) {
    let (mut changes, mut mistakes) = (ToolPolicyChanges::default(), Vec::new());
    for key in &KEYS {
        let Some(value) = entry.get(key.name) else {
            continue;
        };
        match (key.read)(value, &mut changes) {
            Ok(()) => {}
            Err(Misread::Other) => mistakes.push((key.name, expected(key.expected, value))),
            Err(Misread::Because(why)) => mistakes.push((key.name, why)),
        }
    }
    (changes, mistakes)
}

/// Returns the names of the keys.
pub(crate) fn names_of_keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}

/// Returns the JSON Schema of an object with these keys.
pub(super) fn schema() -> Value {
    let property = |key: &Key| {
        let mut schema = (key.schema)();
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("description".to_owned(), key.about.into());
        }
        (key.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = KEYS.iter().map(property).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

pub(super) fn or_false(schema: Value) -> Value {
    json!({"anyOf": [schema, {"const": false}]})
}

/// Reads `false` as "none", and any other value with the given reader.
pub(super) fn unless_false<V>(
    value: &Value,
    read: impl Fn(&Value) -> Result<V, Misread>,
) -> Result<Option<V>, Misread> {
    if value == &Value::Bool(false) {
        return Ok(None);
    }
    read(value).map(Some)
}

fn gate(value: &Value) -> Option<GateChange> {
    Some(match value {
        Value::Bool(false) => GateChange::Open,
        Value::Bool(true) => GateChange::Closed { hint: None },
        Value::String(hint) => GateChange::Closed {
            hint: Some(hint.clone()).filter(|hint| !hint.is_empty()),
        },
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
    })
}

/// Reads a condition whose keys can be recorded: on the state and, for a gate, on the arguments.
pub(super) fn condition(value: &Value, of_gate: bool) -> Result<Condition, Misread> {
    if !value.is_object() {
        return Err(Misread::Other);
    }
    let read: Result<Condition, _> = serde_json::from_value(value.clone());
    let condition = read.map_err(|error| {
        Misread::Because(format!(
            "expected a condition, found {}: {error}",
            found(value)
        ))
    })?;
    let argument = S::arg("");
    for key in condition.keys() {
        match (key.starts_with(&argument), of_gate) {
            (true, true) => {}
            (true, false) => {
                return Err(Misread::Because(format!(
                    "expected keys of the state, found the argument {key:?}, which only a gate may read"
                )));
            }
            (false, _) => {
                recorded_key(key).map_err(|unfit| Misread::Because(unfit.to_string()))?;
            }
        }
    }
    Ok(condition)
}

/// Reads a payload schema, with the same check as at the registration of a tool.
fn payload(value: &Value) -> Result<Value, Misread> {
    if !value.is_object() {
        return Err(Misread::Other);
    }
    match check_schema(value) {
        Ok(()) => Ok(value.clone()),
        Err(problem) => Err(Misread::Because(format!(
            "expected a JSON Schema: {problem}"
        ))),
    }
}

fn background(value: &Value) -> Option<Option<Background>> {
    match value.as_bool() {
        Some(is_on) => Some(is_on.then(Background::default)),
        None => {
            let scheduling: FunctionResponseScheduling =
                serde_json::from_value(value.as_str()?.into()).ok()?;
            Some(Some(Background { scheduling }))
        }
    }
}

fn retry(value: &Value) -> Option<Retry> {
    let table = value.as_object().filter(|table| table.len() == 2)?;
    let backoff = time(table.get("backoff")?)?;
    let attempts = u32::try_from(table.get("attempts")?.as_u64()?).ok()?;
    Some(Retry {
        attempts_max: Some(attempts).filter(|it| *it >= 2)?,
        backoff_ms: u64::try_from(backoff.as_millis()).ok()?,
    })
}

pub(super) fn count(value: &Value) -> Result<u32, Misread> {
    let number = value.as_u64().and_then(|it| u32::try_from(it).ok());
    number.filter(|it| *it > 0).ok_or(Misread::Other)
}

/// Reads a list of texts.
pub(crate) fn names<C: FromIterator<String>>(value: &Value) -> Option<C> {
    let text = |it: &Value| it.as_str().map(str::to_owned);
    value.as_array()?.iter().map(text).collect()
}

pub(super) fn some_time(value: &Value) -> Result<Duration, Misread> {
    time(value)
        .filter(|time| !time.is_zero())
        .ok_or(Misread::Other)
}

fn time(value: &Value) -> Option<Duration> {
    let text = value.as_str()?;
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let factor = match unit.trim_start() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let millis = number.parse::<u64>().ok()?.checked_mul(factor);
    millis.map(Duration::from_millis)
}

pub(super) fn time_schema() -> Value {
    json!({"type": "string", "pattern": "^0*[1-9][0-9]* *(ms|s|m|h)$"})
}

fn any_time_schema() -> Value {
    json!({"type": "string", "pattern": "^[0-9]+ *(ms|s|m|h)$"})
}

pub(super) fn count_schema() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": u32::MAX})
}

pub(super) const FLAG: &str = "true or false";
pub(super) const TIME: &str =
    "a time of at least 1 ms such as \"500ms\", \"10s\", \"2m\" or \"1h\", or false";
pub(super) const COUNT: &str = "a whole number of at least 1, or false";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_whole_number_and_a_unit() {
        let millis = |text: &str| time(&text.into()).map(|time| time.as_millis());
        for (text, expected) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("2 m", 120_000),
            ("1h", 3_600_000),
            ("0s", 0),
        ] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "10",
            "s",
            "-1s",
            "1.5s",
            "1d",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
