//! Texts about a server without possible secrets: its label, its messages, causes of errors.
//!
//! These modules know no connection and no tool. Read `secrets`, then `label`, `shown` and
//! `causes`.

pub(super) mod causes;
pub(super) mod label;
pub(super) mod secrets;
pub(super) mod shown;
