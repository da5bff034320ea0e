//! The sections about calls: their number, who allowed them, and what became of them.

mod approval;
mod approvals;
mod doubts;
mod leaves;
mod not_allowed;
mod population;
mod unasked;

pub(super) use approvals::approvals;
pub(super) use doubts::doubts;
pub(super) use leaves::leaves;
pub(super) use not_allowed::not_allowed;
pub(super) use population::population;
pub(super) use unasked::unasked;
