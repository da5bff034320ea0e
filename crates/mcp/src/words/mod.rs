//! Labels, messages and error texts of MCP servers, and the removal of secrets from them.
//!
//! These modules do not depend on connections or tools. Read `secrets`, then `label`, `redacted`
//! and `causes`.

pub(super) mod causes;
pub(super) mod label;
pub(super) mod redacted;
pub(super) mod secrets;
