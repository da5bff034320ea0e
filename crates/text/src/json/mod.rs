//! JSON as text: every number to its digit, every string as it was escaped, every key in its place.
//!
//! A number read into a float and written again is another number. So what a model, a person or a
//! tool has sent stays text, and the rules for such text are here, once.

mod canonical;
mod decode_error;
mod keys;
mod number;
mod place;
mod plain;
mod problem;
#[cfg(test)]
mod problem_tests;
mod raw_json;
#[cfg(feature = "schema")]
mod schema;
pub mod strict;
mod tree;
mod unreadable;
mod value;

pub use canonical::write_canonical;
pub use decode_error::DecodeError;
pub use number::Number;
pub use plain::{needs_escapes, plain_length, quote};
pub use problem::{DEPTH_MAX, JsonProblem, check, levels};
pub use raw_json::{RawJson, kind};
pub use tree::{Change, NamesNothing, Tree, changes, value_at};
pub use unreadable::Unreadable;
pub use value::Json;
