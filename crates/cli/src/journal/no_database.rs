//! Databases in a program without the feature `postgres`: every address is refused.

use std::fmt;
use std::sync::Arc;
#[cfg(feature = "serve")]
use std::time::Duration;

use recount_journal::Journal;

use crate::failures::{Exit, Failure};

/// A journal in a database. This program has none.
#[derive(Clone, Debug)]
pub(crate) enum Database {}

/// The settings of a service for its journal in a database.
#[cfg(feature = "serve")]
#[derive(Debug, Default)]
#[expect(
    dead_code,
    reason = "a configuration has them, and no database takes them"
)]
pub(crate) struct NodeSettings {
    pub(crate) node: Option<String>,
    pub(crate) lease: Option<Duration>,
    pub(crate) allow_lossy: Vec<String>,
}

impl Database {
    /// Refuses an address, without a look at it.
    pub(crate) fn at(_: &str) -> Result<Database, Failure> {
        let what = "this recount was built without the feature `postgres`, so it opens no database";
        Err(Failure::new("no-postgres", what)
            .exit(Exit::Usage)
            .advice("`cargo install --path crates/cli --features postgres` builds one that does"))
    }

    #[cfg(feature = "serve")]
    pub(crate) fn has_password(_: &str) -> bool {
        false
    }

    pub(crate) fn reading(&self) -> Result<Arc<dyn Journal>, Failure> {
        match *self {}
    }

    pub(crate) fn verifying(&self) -> Result<Arc<dyn Journal>, Failure> {
        match *self {}
    }

    pub(crate) fn writing(&self) -> Result<Arc<dyn Journal>, Failure> {
        match *self {}
    }

    pub(crate) fn made(&self) -> Result<Arc<dyn Journal>, Failure> {
        match *self {}
    }

    #[cfg(feature = "serve")]
    pub(crate) fn serving(&self, _: NodeSettings) -> Result<Arc<dyn Journal>, Failure> {
        match *self {}
    }
}

impl fmt::Display for Database {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}
