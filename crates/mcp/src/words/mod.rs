//! Words about a server: its label, what it says, causes, all without what may be secret.
//!
//! They know no connection and no tool. Read `secrets`, then `label`, `shown` and `causes`.

pub(super) mod causes;
pub(super) mod label;
pub(super) mod secrets;
pub(super) mod shown;
