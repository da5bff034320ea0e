//! The limits of a record, an object and an append.

/// How deep what a record says may nest: objects and arrays within each other, those of the line
/// and of its body itself not counted. So a tool's arguments may use all of it:
/// `{…,"body":{"args":[[…]]},…}`.
pub const DEPTH_LIMIT: usize = 64;
/// The brackets that may stand within each other in a body and in a line.
pub(crate) const BODY_DEPTH: usize = DEPTH_LIMIT + 1;
pub(super) const LINE_DEPTH: usize = BODY_DEPTH + 1;
/// The largest record, in bytes.
pub const RECORD_LIMIT: usize = 4 << 20;
/// The largest object, in bytes.
pub const OBJECT_LIMIT: usize = 64 << 20;
/// The largest append, all its parts together, in bytes.
pub const APPEND_LIMIT: usize = 128 << 20;
