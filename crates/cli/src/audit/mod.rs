//! `recount audit`: who decided what, when and on which arguments, over all sessions of a journal.
//!
//! This room decides nothing: the library's `audit` has the calls, and `proof` runs a replay. The
//! only fact about the terminal that it knows is the width.
//!
//! Read `decisions` first, the command; `asked` is its filter. `table`, `csv` and `html` are the
//! formats; `html_call` is one call of the report, `timelines` its pictures, `proof` its verdict.
//! `clock` is the command about the clocks behind the times of the records, `reads` the one about
//! who read sessions, `evidence` the one that writes a bundle.

mod asked;
mod clock;
mod csv;
mod decisions;
mod evidence;
mod html;
mod html_call;
mod proof;
mod reads;
mod stated;
mod table;
mod timelines;

pub(crate) use decisions::Audit;
pub(crate) use evidence::Evidence;
pub(crate) use reads::Reads;
