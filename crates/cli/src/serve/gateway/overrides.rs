//! The options of `recount gateway` that override `[gateway]`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::config::{CredentialsGiven, Given, OnExpiryGiven, Settings};
use recount_telling::duration;

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
    /// The credentials of clients: pass_through, those of the vendor, which is the default; or
    /// tokens, those of `recount token create` and JWTs. They need a vendor's key.
    #[arg(long, value_name = "KIND")]
    credentials: Option<CredentialsGiven>,
    /// The variable with the vendor's key, for --credentials tokens.
    #[arg(long, value_name = "NAME", conflicts_with = "vendor_key_file")]
    vendor_key_env: Option<String>,
    /// The file with the vendor's key, for --credentials tokens.
    #[arg(long, value_name = "FILE")]
    vendor_key_file: Option<PathBuf>,
    /// The time for which a held call may block the model; default: 10s.
    #[arg(long, value_name = "TIME", value_parser = time)]
    hold_inline: Option<Duration>,
    /// The time after which a held call expires; default: that of its policy.
    #[arg(long, value_name = "TIME", value_parser = time)]
    max_hold: Option<Duration>,
    /// The fate of a call that no person answers within --max-hold: deny, the default, or allow: it
    /// runs, so the gateway fails open.
    #[arg(long, value_name = "CHOICE")]
    on_expiry: Option<OnExpiryGiven>,
    /// Lets calls without a policy pass while the journal cannot be written.
    #[arg(long)]
    pass_observed: bool,
    /// Holds nothing, and records what would have been held.
    #[arg(long)]
    dry_run: bool,
    /// The maximum number of clients at the same time; default: 512.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,
    /// The time for which a session without a client stays open; default: 2h.
    #[arg(long, value_name = "TIME", value_parser = time)]
    keep: Option<Duration>,
}

/// Reads a time longer than 0.
fn time(text: &str) -> Result<Duration, String> {
    let read = duration::read(text).filter(|it| !it.is_zero());
    read.ok_or_else(|| format!("expected {}, longer than 0", duration::EXPECTED))
}

impl Overrides {
    /// Sets what is given. The settings then have a gateway.
    pub(in crate::serve) fn apply(&self, settings: &mut Settings) {
        let gateway = settings.gateway.get_or_insert_default();
        set(&mut gateway.listen, "--listen", &self.listen);
        set(&mut gateway.tls_listen, "--tls-listen", &self.tls_listen);
        set(
            &mut gateway.tls.certificate,
            "--certificate",
            &self.certificate,
        );
        set(&mut gateway.tls.key, "--key", &self.key);
        set(&mut gateway.upstream, "--upstream", &self.upstream);
        set(&mut gateway.credentials, "--credentials", &self.credentials);
        if self.vendor_key_env.is_some() || self.vendor_key_file.is_some() {
            // The key of the file or of the environment may be at the other kind of place.
            (gateway.vendor_key_env, gateway.vendor_key_file) = (None, None);
        }
        set(
            &mut gateway.vendor_key_env,
            "--vendor-key-env",
            &self.vendor_key_env,
        );
        set(
            &mut gateway.vendor_key_file,
            "--vendor-key-file",
            &self.vendor_key_file,
        );
        set(&mut gateway.hold_inline, "--hold-inline", &self.hold_inline);
        set(&mut gateway.max_hold, "--max-hold", &self.max_hold);
        set(&mut gateway.on_expiry, "--on-expiry", &self.on_expiry);
        let flag = |is_given: bool| is_given.then_some(true);
        set(
            &mut gateway.pass_observed,
            "--pass-observed",
            &flag(self.pass_observed),
        );
        set(&mut gateway.dry_run, "--dry-run", &flag(self.dry_run));
        set(&mut gateway.connections, "--connections", &self.connections);
        set(&mut gateway.keep, "--keep", &self.keep);
        if let Some(agent) = &self.agent {
            settings.name_gateway_agent(Given::option("--agent", agent.clone()));
        }
        settings.complete_gateway();
        if let Some(file) = &self.policies {
            settings.set_gateway_policies(Given::option("--policies", file.clone()));
        }
    }
}

/// Sets what an option gives.
fn set<T: Clone>(to: &mut Option<Given<T>>, option: &str, given: &Option<T>) {
    if let Some(value) = given {
        *to = Some(Given::option(option, value.clone()));
    }
}
