//! The settings of `[[sinks]]` and `[[routes]]`: notifications.
//!
//! Read `settings` first. `reading` reads the tables, `checks` finds routes that send nothing,
//! `schema` is their JSON Schema.

mod checks;
mod reading;
mod schema;
mod settings;

pub(crate) use checks::silent_routes;
pub(crate) use reading::RouteSettings;
#[cfg(test)]
pub(super) use reading::{ROUTE, SINK};
pub(super) use reading::{routes, sinks, unknown_sinks};
pub(super) use schema::{routes as routes_schema, sinks as sinks_schema};
pub(crate) use settings::{Hidden, SinkKind, SinkSettings};
