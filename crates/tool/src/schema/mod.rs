//! The check of arguments against the schema that a tool declares, and its cost limit.
//!
//! This module knows JSON Schema and no tool. Read `arguments`; `schema_work` limits the cost of a
//! check, and every other file is one part of the standard.

pub(super) mod arguments;
mod ecma;
mod schema_anchors;
mod schema_patterns;
mod schema_work;
