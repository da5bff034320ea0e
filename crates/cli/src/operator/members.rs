//! JSON objects of the operator's commands, as a service reads them and `pending` prints them.

use std::collections::BTreeMap;

use recount::session::Json;

/// The members of a JSON object, sorted by name.
///
/// Each value keeps its text, because parsing may change a number.
pub(super) type Members = BTreeMap<&'static str, Json>;

/// Makes [`Members`] of a literal, as `json!` does for values.
macro_rules! members {
    ({ $($name:literal: $value:expr,)+ }) => {
        $crate::operator::members::Members::from(
            [$(($name, recount::session::Json::of_serialized(&$value)),)+]
        )
    };
}

pub(super) use members;
