//! The options of `recount serve` that name its configuration, or override it.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::config::{Config, Given};
use crate::failures::Failure;

/// The configuration of a service, with settings that override it.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The configuration; default: recount.toml, if there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The address to listen on; port 0 means any free port.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// The directory of the journal, created if there is none.
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
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
        Ok(config)
    }
}
