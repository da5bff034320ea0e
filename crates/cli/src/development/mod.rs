//! The commands for the development of an agent: checked policies, played fixtures, a simulated
//! service.
//!
//! None of them needs a journal that is in use, or a connection to a model.
//!
//! Read `policy` first, then `simulate`, then `fixture`.

pub(super) mod fixture;
pub(super) mod policy;
pub(super) mod simulate;
