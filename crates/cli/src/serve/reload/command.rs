//! The command `recount reload`.

use std::path::PathBuf;

use clap::Args;

use super::outcome::wrong;
use crate::config::Config;
use crate::failures::{Exit, Failure, unanswered};
use crate::journal::Location;
use crate::serve::named_journal;
use crate::terminal::{Screen, Tone};
use recount::control::{Client, ConnectError, Reloaded, Request, read};
use recount_telling::{one_line, shown};

/// Makes a running service read its policies, tokens, issuer of JWTs, certificate and sinks anew.
///
/// A part with a mistake stays as it was, and the mistake is listed. Other changed settings are
/// listed, too: they are read with the next start. SIGHUP does the same.
#[derive(Args)]
pub(crate) struct Reload {
    /// The directory of the journal of the service; default: that of the configuration.
    path: Option<Location>,
    /// The configuration that names the journal; default: recount.toml, if there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Reload {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let at = match self.path {
            Some(at) => at,
            None => {
                let mut config = Config::read(self.config.as_deref())?;
                named_journal::resolve(&mut config);
                config.journal()
            }
        };
        let path = at.files("reload", "send SIGHUP to the process of the service")?;
        let mut service = Client::connect(path).await.map_err(|error| {
            let what = match error {
                ConnectError::NotOffered => format!("no service has {} open", shown(path)),
                error => one_line(&error.to_string()).into_owned(),
            };
            Failure::new("no-service", what).advice("`recount serve` starts one")
        })?;
        let pid = service.pid();
        let answer = service.done(&Request::Reload {}).await;
        let answer = answer.map_err(|error| unanswered(pid, error))?;
        let outcome: Reloaded = read(&answer).map_err(|error| unanswered(pid, error))?;
        if self.json {
            screen.json(&outcome)?;
            return Ok(match outcome.mistakes.is_empty() {
                true => Exit::Ok,
                false => Exit::Usage,
            });
        }
        if !outcome.mistakes.is_empty() {
            return Err(wrong(&outcome));
        }
        let line = format!("Reloaded: {}", outcome.reloaded.join(", "));
        screen.toned(Tone::Good, &one_line(&line))?;
        Ok(Exit::Ok)
    }
}
