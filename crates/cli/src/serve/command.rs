//! The command `recount serve`.

use clap::Args;

use super::options::Options;
use super::service;
use crate::failures::{Exit, Failure};
use crate::terminal::Screen;

/// Serves the HTTP API over a journal, until Ctrl-C or SIGTERM.
///
/// Without a configuration it uses the journal in ./recount-journal, listens on 127.0.0.1:7878, and
/// prints a link with which you log in once. It reads recount.toml if there is one; `recount init`
/// writes it, and docs/serve.md describes it. Variables such as RECOUNT_SERVE_LISTEN override the
/// file, and these options override both.
///
/// At the end, requests and running tools may finish within the grace period. SIGHUP makes it read
/// policies, tokens, the issuer of JWTs, the certificate and the sinks of notifications anew, as
/// `recount reload` does.
#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    options: Options,
    /// Prints one line of JSON when the service is ready.
    #[arg(long)]
    json: bool,
}

impl Serve {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        service::run(self.options, self.json, screen).await
    }
}
