//! The options of `recount gateway` that override `[gateway]`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::config::{Given, Settings};

/// The settings of a gateway on the command line.
#[derive(Args, Clone, Debug)]
pub(in crate::serve) struct Overrides {
    /// The address for clients; port 0 means any free port.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// An address for encrypted clients alone; it needs a certificate.
    #[arg(long, value_name = "ADDR")]
    tls_listen: Option<SocketAddr>,
    /// The certificate, in PEM. With it, --listen takes encrypted clients, too.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// The URL of the service behind the gateway; default: the vendor, by the path of the request.
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// The agent of clients that name none; default: gateway.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The file of policies of that agent.
    #[arg(long, value_name = "FILE")]
    policies: Option<PathBuf>,
    /// Holds nothing, and records what would have been held.
    #[arg(long)]
    dry_run: bool,
}

impl Overrides {
    /// Sets what is given. The settings then have a gateway.
    pub(in crate::serve) fn apply(&self, settings: &mut Settings) {
        let gateway = settings.gateway.get_or_insert_default();
        if let Some(listen) = self.listen {
            gateway.listen = Some(Given::option("--listen", listen));
        }
        if let Some(listen) = self.tls_listen {
            gateway.tls_listen = Some(Given::option("--tls-listen", listen));
        }
        if let Some(file) = &self.certificate {
            gateway.tls.certificate = Some(Given::option("--certificate", file.clone()));
        }
        if let Some(file) = &self.key {
            gateway.tls.key = Some(Given::option("--key", file.clone()));
        }
        if let Some(url) = &self.upstream {
            gateway.upstream = Some(Given::option("--upstream", url.clone()));
        }
        if self.dry_run {
            gateway.dry_run = Some(Given::option("--dry-run", true));
        }
        if let Some(agent) = &self.agent {
            settings.name_gateway_agent(Given::option("--agent", agent.clone()));
        }
        settings.complete_gateway();
        if let Some(file) = &self.policies {
            settings.set_gateway_policies(Given::option("--policies", file.clone()));
        }
    }
}
