//! The command `recount gateway`: the gateway, with the service that has its approvals.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::dev_certificate::DevCertificate;
use super::overrides::Overrides;
use crate::failures::{Exit, Failure};
use crate::journal::Location;
use crate::serve::options::Options;
use crate::serve::service;
use crate::terminal::Screen;

/// Relays clients of live models, and holds the calls of the model that policies gate.
///
/// A client connects to the gateway in place of the vendor, and nothing else of it changes. Every
/// call of the model is recorded. A call whose tool has a policy with a gate waits for an approval
/// before the client sees it.
///
/// Without a configuration it uses the journal in ./recount-journal, listens on 127.0.0.1:7879, and
/// has the agent "gateway". Approvals are given in the pages and the HTTP API of `recount serve`,
/// which this command serves, too: it prints a link with which you log in once. It reads
/// recount.toml, of which [gateway] has its settings; these options override them. docs/gateway.md
/// describes it.
///
/// At the end, new clients are refused, and the others may leave within half of the grace period.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Gateway {
    #[command(subcommand)]
    doing: Option<Doing>,
    /// The configuration; default: recount.toml, if there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    overrides: Overrides,
    /// The address of the pages and the HTTP API; port 0 means any free port.
    #[arg(long, value_name = "ADDR")]
    api_listen: Option<SocketAddr>,
    /// The journal: a directory, created if there is none, or postgres://… of a database.
    #[arg(long, value_name = "JOURNAL")]
    journal: Option<Location>,
    /// Prints one line of JSON when the gateway is ready.
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Doing {
    DevCertificate(DevCertificate),
}

impl Gateway {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        match self.doing {
            Some(Doing::DevCertificate(it)) => it.run(screen).await,
            None => {
                let options = Options {
                    config: self.config,
                    listen: self.api_listen,
                    journal: self.journal,
                    gateway: Some(self.overrides),
                };
                service::run(options, self.json, screen).await
            }
        }
    }
}
