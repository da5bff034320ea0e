//! One event as one sentence, the same wherever it is told.
//!
//! A sentence needs the event and the names of the calls before it, and nothing else of the
//! session.
//!
//! Read `event` first; `session`, `call`, `person`, `conversation` and `decision` have the
//! sentences by what they are about. `names` are the names of calls, `phrases` the parts of
//! sentences.

mod call;
mod conversation;
mod decision;
mod event;
mod names;
mod person;
mod phrases;
mod session;

pub(crate) use event::sentence;
pub(crate) use names::Names;
pub(crate) use phrases::clause;
