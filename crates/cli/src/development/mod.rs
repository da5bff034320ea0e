//! The commands for the development of an agent: policy files, fixtures, a simulated service.
//!
//! None of them needs a running service or a connection to a model.
//!
//! Read `policy` first, then `simulate`, then `fixture`.

mod fixture;
mod policy;
mod simulate;

pub(crate) use fixture::Fixtures;
pub(crate) use policy::Policy;
pub(crate) use simulate::Simulate;
