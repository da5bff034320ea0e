//! JSON as text, which keeps all digits of numbers, the escapes of strings and the order of keys.
//!
//! A number that is parsed as a float and written again may change. So input from models, people
//! and tools stays text, and this module has all rules for such text.

mod canonical;
mod changes;
mod decode_error;
mod keys;
mod number;
mod place;
mod plain;
mod pointer;
mod problem;
#[cfg(test)]
mod problem_tests;
mod raw_json;
#[cfg(feature = "schema")]
mod schema;
pub mod strict;
#[cfg(test)]
mod strict_tests;
mod tree;
mod unreadable;
mod value;

pub use canonical::{canonical_json, write_canonical};
pub use changes::{Change, IsSet, changes};
pub use decode_error::DecodeError;
pub use number::Number;
pub use plain::{needs_escapes, plain_length, quote};
pub use pointer::{NamesNothing, escaped, is_within, steps, unescaped, value_at};
pub use problem::{DEPTH_MAX, JsonProblem, check, levels};
pub use raw_json::{RawJson, kind};
pub use tree::{Member, Tree, members};
pub use unreadable::Unreadable;
pub use value::Json;
