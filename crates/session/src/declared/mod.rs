//! Declarations: the tools and agents that a runner has, and what a model can do.
//!
//! Declarations contain no code of a tool. Read `catalog`. `schema` walks the schemas in it, and
//! `models` has the `capabilities` of the known models.

pub(super) mod capabilities;
pub mod catalog;
mod models;
pub(super) mod platform;
#[doc(hidden)]
pub mod schema;
