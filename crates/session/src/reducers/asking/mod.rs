//! Questions about a call: to a person, and to the embedding program.
//!
//! It does not know when they are due: dispatcher and tracker do. Read `confirmation`, then
//! `hooks`; `verdict_inputs` are the numbers and values that a verdict rests on.

pub(crate) mod confirmation;
pub(crate) mod hooks;
pub(crate) mod verdict_inputs;
