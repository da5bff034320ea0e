//! Where two JSON values differ.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

/// One place at which two JSON values differ.
///
/// ```
/// use recount::compare::Change;
/// use serde_json::json;
///
/// let changes = Change::between(&json!({"order": 7, "cents": 4200}), &json!({"order": 7, "cents": 4300}));
/// let [Change { at, a, b }] = changes.as_slice() else { unreachable!() };
/// assert_eq!((at.as_str(), a, b), ("/cents", &Some(json!(4200)), &Some(json!(4300))));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// A JSON Pointer.
    pub at: String,
    /// What the first has there.
    pub a: Option<Value>,
    /// What the second has there.
    pub b: Option<Value>,
}

impl Change {
    /// Every place at which two values differ, as deep as both have objects there.
    pub fn between(a: &Value, b: &Value) -> Vec<Change> {
        let mut changes = Vec::new();
        find("", Some(a), Some(b), &mut changes);
        changes
    }
}

fn find(at: &str, a: Option<&Value>, b: Option<&Value>, changes: &mut Vec<Change>) {
    if a == b {
        return;
    }
    let (Some(Value::Object(left)), Some(Value::Object(right))) = (a, b) else {
        changes.push(Change {
            at: at.to_owned(),
            a: a.cloned(),
            b: b.cloned(),
        });
        return;
    };
    let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    for name in names {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        let at = format!("{at}/{escaped}");
        find(&at, left.get(name), right.get(name), changes);
    }
}
