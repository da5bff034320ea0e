//! JSON objects of the operator's commands, as the control door reads and `pending` prints them.

use std::collections::BTreeMap;

use recount::session::Json;

/// The members of a JSON object, sorted by name. Each value keeps its text, because a parsed number
/// may be another one.
pub(super) type Members = BTreeMap<&'static str, Json>;

/// [`Members`] from a literal, as `json!` has it for values.
macro_rules! members {
    ({ $($name:literal: $value:expr,)+ }) => {
        $crate::operator::members::Members::from(
            [$(($name, recount::session::Json::of_serialized(&$value)),)+]
        )
    };
}

pub(super) use members;
