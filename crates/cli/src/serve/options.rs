//! The options of `recount serve` and `recount gateway`: the configuration, and what overrides it.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::gateway::Overrides;
use super::named_journal;
use crate::config::{Config, Given};
use crate::failures::Failure;
use crate::journal::Location;

/// The configuration of a service, with settings that override it.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The configuration; default: recount.toml, if there is one.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// The address to listen on; port 0 means any free port.
    #[arg(long, value_name = "ADDR")]
    pub(super) listen: Option<SocketAddr>,
    /// The journal: a directory, created if there is none, or postgres://… of a database.
    #[arg(long, value_name = "JOURNAL")]
    pub(super) journal: Option<Location>,
    /// The options of `recount gateway`.
    #[arg(skip)]
    pub(super) gateway: Option<Overrides>,
}

impl Options {
    /// The configuration with these options over it.
    pub(super) fn configured(&self) -> Result<Config, Failure> {
        let mut config = Config::read(self.config.as_deref())?;
        if let Some(listen) = self.listen {
            config.settings.listen = Some(Given::option("--listen", listen));
        }
        if let Some(journal) = &self.journal {
            config.settings.journal = Some(Given::option("--journal", journal.clone()));
        }
        if let Some(overrides) = &self.gateway {
            overrides.apply(&mut config.settings);
        }
        named_journal::resolve(&mut config);
        Ok(config)
    }
}
