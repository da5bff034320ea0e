//! JSON as text: every number to its digit, every string as it was escaped, every key in its place.
//!
//! A number read into a float and written again is another number. So what a model, a person or a
//! tool has sent stays text, and the rules for such text are here, once.

mod decode_error;
mod number;
mod place;
mod raw_json;
#[cfg(feature = "schema")]
mod schema;
pub mod strict;
mod tree;
mod unreadable;
mod value;

pub use decode_error::DecodeError;
pub use number::Number;
pub use raw_json::{RawJson, kind};
pub use tree::{Change, NamesNothing, Tree, changes, value_at};
pub use unreadable::Unreadable;
pub use value::{DEPTH_MAX, Json, JsonProblem, check, levels, write_canonical};
