//! JSON as text: every number to its digit, every string as it was escaped, every key in its place.
//!
//! A number read into a float and written again is another number. So what a model, a person or a
//! tool has sent stays text, and the rules for such text are here, once.

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
