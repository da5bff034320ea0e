//! JSON for programs that holds what is on record: each value keeps its text, because a parsed
//! number may be another one.

use std::collections::BTreeMap;

use recount::session::Json;

/// The members of an object, sorted by name.
pub(crate) type Members = BTreeMap<&'static str, Json>;

/// [`Members`] from a literal, as `json!` has it for values.
macro_rules! members {
    ({ $($name:literal: $value:expr,)+ }) => {
        $crate::operator::members::Members::from([
            $(($name, ::recount::session::Json::of_serialized(&$value)),)+
        ])
    };
}

pub(crate) use members;
