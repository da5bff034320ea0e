//! The configuration of `recount serve`: `recount.toml`, the environment, and their mistakes.
//!
//! Everything is read strictly: an unknown key is a mistake, and every mistake has its line and
//! column. This room starts nothing.
//!
//! Read `settings` first, what there is to set; then `loading`, the file with the environment over
//! it. `document` and `section` read TOML with places, `reading` and `agent_reading` the settings,
//! `environment` the variables. `agents` and `tool_files` read the files that agents name, `checks`
//! finds what refers to nothing. `access`, `traces`, `checkpoints`, `gateway`, `reads`, `notify`
//! and `postgres` have the sections of their own. `schema` is the JSON Schema.

mod access;
mod agent_reading;
mod agents;
mod checkpoints;
mod checks;
mod document;
mod environment;
mod gateway;
mod loading;
mod mistake;
mod notify;
mod postgres;
mod reading;
mod reads;
mod schema;
mod section;
mod settings;
mod tool_files;
mod traces;

pub(crate) use access::{jwt, with_identities};
pub(crate) use agents::{LoadedAgent, load};
pub(crate) use checks::{approvers, grants, programs, registered};
pub(crate) use gateway::{CredentialsGiven, GatewaySettings, OnExpiryGiven};
pub(crate) use loading::{Config, FILE};
pub(crate) use mistake::{Mistake, wrong};
pub(crate) use notify::{Hidden, SinkKind, SinkSettings, silent_routes};
pub(crate) use schema::schema;
pub(crate) use section::Given;
pub(crate) use settings::{
    AgentSettings, KeySettings, McpSettings, ProxySettings, Settings, TlsSettings,
};
