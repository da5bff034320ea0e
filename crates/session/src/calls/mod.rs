//! Calls: where each one stands, and what remains of it while it is answered and after.
//!
//! It knows no session around a call, and no rule by which one moves. Read `call`.

pub(super) mod call;
pub(super) mod deliveries;
pub(super) mod open_calls;
