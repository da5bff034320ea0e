//! Other arguments for a call: a form from the tool's schema, the difference, then the yes.
//!
//! Read `fields` first, the fields of the form and the arguments that they make; then `draw`, the
//! pages, and `change`, the steps between them.

mod change;
mod draw;
mod fields;

pub(crate) use change::{change, form};
