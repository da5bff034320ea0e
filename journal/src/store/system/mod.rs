//! The system stream: the records of the journal about itself.
//!
//! It does not know how a journal is opened, closed or repaired; it is given the outcome.
//!
//! Read `opened` first (the state in which an opening found the journal), then `stream`.

mod opened;
mod stream;

pub use opened::{After, IndexState, Opened};
pub use stream::own_append;
pub(crate) use stream::{CLOSED, closed, head_of, opened, repaired};
