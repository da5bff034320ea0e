//! The settings of `[access]`: who may send requests, and how that is proven.
//!
//! `reading` reads them, `schema` describes them, and `identities` makes what they describe.

mod identities;
mod reading;
mod schema;

pub(crate) use identities::{jwt, with_identities};
pub(super) use reading::access;
#[cfg(test)]
pub(super) use reading::{ACCESS, JWT, PROXY, ROLE};
pub(super) use schema::access as access_schema;
