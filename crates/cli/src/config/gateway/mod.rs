//! `[gateway]`: `gateway_section` has its keys, and `variables` those of the environment.

mod gateway_section;
mod variables;

#[cfg(test)]
pub(super) use gateway_section::GATEWAY;
pub(crate) use gateway_section::{CredentialsGiven, GatewaySettings, OnExpiryGiven};
pub(super) use gateway_section::{HeldTerms, gateway, schema};
pub(super) use variables::VARIABLES;
