//! The configuration of `recount serve`: `recount.toml`, the environment, and their mistakes.
//!
//! Everything is read strictly: an unknown key is a mistake, and every mistake has its line and
//! column. This room starts nothing.
//!
//! Read `settings` first, what there is to set; then `loading`, the file with the environment over
//! it. `document` and `section` read TOML with places, `reading` and `agent_reading` the settings,
//! `environment` the variables. `agents` and `tool_files` read the files that agents name, `checks`
//! what refers to what. `schema` is the JSON Schema.

mod agent_reading;
mod agents;
mod checks;
mod document;
mod environment;
mod loading;
mod mistake;
mod reading;
mod schema;
mod section;
mod settings;
mod tool_files;

pub(crate) use agents::{LoadedAgent, load};
pub(crate) use checks::{approvers, programs, registered};
pub(crate) use loading::{Config, FILE};
pub(crate) use mistake::{Mistake, wrong};
pub(crate) use schema::schema;
pub(crate) use section::Given;
pub(crate) use settings::{AgentSettings, KeySettings, McpSettings, Settings, TlsSettings};
