//! The settings of all sinks.

use std::path::PathBuf;

use crate::routing::Route;
use crate::sending::Sink;

/// The settings of all sinks.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The sinks. Each has a name of its own.
    pub sinks: Vec<Sink>,
    /// The routes to them.
    pub routes: Vec<Route>,
    /// The URL by which people reach the service, for the links in messages. `None`: no links.
    pub links: Option<String>,
    /// The directory of the files with the places of the sinks, outside of the journal. It is
    /// created if there is none.
    pub directory: PathBuf,
}
