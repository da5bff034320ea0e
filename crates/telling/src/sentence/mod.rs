//! One event as one sentence, the same in every command.
//!
//! A sentence needs the event and the names of earlier calls, and nothing else of the session.
//!
//! Read `event` first; `session`, `call`, `person`, `conversation` and `decision` have the
//! sentences by subject. `names` has the names of calls, `phrases` the parts of sentences.

mod call;
mod claim;
mod conversation;
mod decision;
mod event;
mod names;
mod person;
mod phrases;
mod session;

pub use event::{Sentence, sentence};
pub use names::Names;
pub use phrases::{clause, ending};
