//! A person decides: who is asked what, by which door the answer comes, and what the model hears meanwhile.
#![cfg(all(feature = "testing", feature = "live"))]

#[path = "approvals/asking.rs"]
mod asking;
#[path = "approvals/desk.rs"]
mod desk;
#[path = "approvals/gates.rs"]
mod gates;
#[path = "approvals/withholding.rs"]
mod withholding;
