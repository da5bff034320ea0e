//! The settings of all sinks.

use std::path::PathBuf;

use super::state::{StateFile, UnusableFile};
use crate::routing::Route;
use crate::sending::Sink;
use crate::values::SinkName;

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

impl Settings {
    /// Returns the sinks whose files cannot be used, with the reasons. Nothing is written.
    ///
    /// ```
    /// # fn example(settings: recount_notify::Settings) {
    /// for (sink, reason) in settings.unusable_files() {
    ///     eprintln!("{sink} would not run: {reason}");
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn unusable_files(&self) -> Vec<(SinkName, UnusableFile)> {
        let sinks = self.sinks.iter();
        let unusable = sinks.filter_map(|it| {
            let read = StateFile::of(&it.name, &self.directory).read();
            Some((it.name.clone(), read.err()?))
        });
        unusable.collect()
    }
}
