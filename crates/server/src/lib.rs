//! The HTTP API of Recount: a router over an engine, for any program and any language.

// Tests stop where they meet the impossible.
#![cfg_attr(
    test,
    expect(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a test that meets the impossible must stop"
    )
)]

mod access;
mod catalogue;
mod driving;
mod metrics;
mod on_record;
mod openapi;
mod pages;
mod problems;
mod reading;
mod requests;
mod router;
mod routes;
mod service;
mod streams;

pub use access::{
    Access, AgentScope, Authenticator, Grant, NewToken, NoRandomness, NotARole, NotAUrl, Peer,
    Principal, ProxyHeaders, Rates, Role, RoleMapping, Secret, TokenError, TokenInfo, TokenStore,
    UnfitIssuer, UnfitProxy, bearer,
};
#[cfg(feature = "jwt")]
pub use access::{
    Jwt, JwtAlgorithm, KeyFile, KeySource, KeySourceError, KeyUrl, NotAnAlgorithm, UnfitKeyUrl,
};
pub use problems::{Code, Problem};
pub use router::router;
pub use service::Service;
