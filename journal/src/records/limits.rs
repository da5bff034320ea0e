//! The limits of a record, an object and an append.

/// The maximum nesting of objects and arrays in the fields of a body. The braces of the line and of
/// the body itself do not count, so a tool's arguments may use all levels:
/// `{…,"body":{"args":[[…]]},…}`.
pub const DEPTH_LIMIT: usize = 64;
/// The maximum number of nested brackets in a body.
pub(crate) const BODY_DEPTH: usize = DEPTH_LIMIT + 1;
/// The maximum number of nested brackets in a line.
pub(super) const LINE_DEPTH: usize = BODY_DEPTH + 1;
/// The maximum size of a record, in bytes.
pub const RECORD_LIMIT: usize = 4 << 20;
/// The maximum size of an object, in bytes.
pub const OBJECT_LIMIT: usize = 64 << 20;
/// The maximum size of an append with all its parts, in bytes.
pub const APPEND_LIMIT: usize = 128 << 20;
