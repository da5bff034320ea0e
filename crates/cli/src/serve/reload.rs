//! The configuration read anew while the service runs: by SIGHUP, and by `recount reload`.
//!
//! Policies, tokens, the issuer of JWTs, the certificate and the sinks of notifications are taken
//! anew. A part with a mistake stays as it was.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use clap::Args;
use tokio::sync::Mutex;

use super::next_start;
use super::notify::Notifications;
use super::options::Options;
use super::tls::Certificate;
use crate::config::{self, Config, Mistake, Settings};
use crate::failures::{Exit, Failure, unanswered};
use crate::terminal::{Screen, Tone};
use recount::control::{Client, ConnectError, Reloaded, Request, read};
use recount::engine::{Clock, Engine, Error, SystemClock};
use recount_server::{Access, TokenStore};
use recount_telling::{one_line, shown};

/// The parts of a running service that are read anew.
pub(super) struct Reloader {
    pub(super) options: Options,
    /// The settings of the start.
    pub(super) started: Settings,
    /// Locked while the configuration is read and taken, so that an older one never comes last.
    pub(super) reloading: Mutex<()>,
    pub(super) tokens: Arc<TokenStore>,
    /// The file of the tokens.
    pub(super) tokens_file: PathBuf,
    /// True once the file of the tokens was there.
    pub(super) had_tokens: AtomicBool,
    pub(super) access: Access,
    pub(super) certificate: Option<Arc<Certificate>>,
    /// The notifications, once they have started.
    pub(super) notifications: OnceLock<Notifications>,
}

impl Reloader {
    /// Reads every part anew.
    pub(super) async fn reload(&self, engine: &Engine) -> Reloaded {
        let _alone = self.reloading.lock().await;
        let mut outcome = Reloaded::default();
        let config = match self.options.configured() {
            Ok(config) => config,
            Err(failure) => {
                outcome.mistakes.push(failure.what);
                return outcome;
            }
        };
        // A file that cannot be read as a whole says nothing reliable about a part.
        if !config.mistakes.is_empty() {
            outcome.mistakes = in_words(&config.mistakes);
            return outcome;
        }
        outcome.mistakes = next_start::changed(&self.started, &config.settings);
        self.reload_tokens(&config, &mut outcome);
        self.reload_jwt(&config.settings, &mut outcome).await;
        self.reload_certificate(&config, &mut outcome);
        self.reload_sinks(&config, &mut outcome).await;
        self.reload_policies(&config.settings, engine, &mut outcome)
            .await;
        outcome
    }

    fn reload_tokens(&self, config: &Config, outcome: &mut Reloaded) {
        if config.tokens() != self.tokens_file {
            let what = "access.tokens: another file is read with the next start";
            outcome.mistakes.push(what.to_owned());
        }
        let (file, had_tokens) = (&self.tokens_file, &self.had_tokens);
        match self.tokens.reload() {
            Ok(()) if file.exists() => {
                had_tokens.store(true, Ordering::Relaxed);
                outcome.reloaded.push("tokens".to_owned());
            }
            Ok(()) if had_tokens.load(Ordering::Relaxed) => {
                let what = format!("{} is gone, so no token is valid", file.display());
                outcome.mistakes.push(what);
            }
            // There are no tokens yet.
            Ok(()) => {}
            Err(error) => outcome.mistakes.push(error.to_string()),
        }
    }

    /// Takes the issuer of JWTs anew. If its keys cannot be fetched, the earlier one stays.
    async fn reload_jwt(&self, settings: &Settings, outcome: &mut Reloaded) {
        let jwt = match config::jwt(&settings.access) {
            Ok(jwt) => jwt,
            Err(mistake) => return outcome.mistakes.push(mistake.to_string()),
        };
        if let (Some(jwt), Some(given)) = (&jwt, &settings.access.jwt)
            && let Err(error) = jwt.fetch_keys(SystemClock.now()).await
        {
            let mistake = given.issuer.mistake(error.to_string());
            return outcome.mistakes.push(mistake.to_string());
        }
        if jwt.is_some() || self.access.jwt_issuers() > 0 {
            self.access.replace_jwts(jwt);
            outcome.reloaded.push("access.jwt".to_owned());
        }
    }

    fn reload_certificate(&self, config: &Config, outcome: &mut Reloaded) {
        let what = match (&self.certificate, config.has_tls()) {
            (None, false) => return,
            (None, true) => "tls: connections are encrypted from the next start on",
            (Some(_), false) => "tls: the certificate stays until the next start",
            (Some(certificate), true) => match certificate.reload(&config.settings.tls) {
                Ok(()) => return outcome.reloaded.push("certificate".to_owned()),
                Err(mistakes) => return outcome.mistakes.extend(in_words(&mistakes)),
            },
        };
        outcome.mistakes.push(what.to_owned());
    }

    async fn reload_sinks(&self, config: &Config, outcome: &mut Reloaded) {
        let Some(notifications) = self.notifications.get() else {
            return;
        };
        match notifications.reload(config).await {
            Ok(()) if config.settings.sinks.is_empty() => {}
            Ok(()) => outcome.reloaded.push("sinks".to_owned()),
            Err(mistakes) => outcome.mistakes.extend(mistakes),
        }
    }

    async fn reload_policies(&self, settings: &Settings, engine: &Engine, outcome: &mut Reloaded) {
        let (agents, mistakes) = config::load(settings);
        if !mistakes.is_empty() {
            outcome.mistakes.extend(in_words(&mistakes));
            return;
        }
        let known = |name: &str| self.started.agents.contains_key(name);
        for loaded in agents.into_iter().filter(|it| known(&it.name)) {
            let name = &loaded.name;
            match engine.change_policies(name, loaded.policies()).await {
                Ok(()) => outcome.reloaded.push(format!("policies of {name}")),
                Err(Error::Configuration { mistakes }) => outcome.mistakes.extend(mistakes),
                Err(error) => outcome.mistakes.push(error.to_string()),
            }
        }
    }

    /// Reads everything anew at every SIGHUP, and reports it on standard error.
    #[cfg(unix)]
    pub(super) async fn at_hang_ups(
        self: Arc<Self>,
        mut signals: tokio::signal::unix::Signal,
        engine: Engine,
    ) {
        while signals.recv().await.is_some() {
            let text = match self.reload(&engine).await {
                outcome if outcome.mistakes.is_empty() => {
                    format!("reloaded: {}\n", outcome.reloaded.join(", "))
                }
                outcome => wrong(&outcome).message(),
            };
            // Without standard error there is no place for the report.
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }
}

fn in_words(mistakes: &[Mistake]) -> Vec<String> {
    mistakes.iter().map(Mistake::to_string).collect()
}

/// The failure of a configuration that was not taken as a whole.
fn wrong(outcome: &Reloaded) -> Failure {
    let listed = outcome.mistakes.iter();
    let listed: String = listed.map(|it| format!("\n  - {}", one_line(it))).collect();
    let taken = match outcome.reloaded.as_slice() {
        [] => String::new(),
        taken => format!("; taken anew: {}", taken.join(", ")),
    };
    let what = format!("some parts stay as they were{taken}:{listed}");
    Failure::new("config-file", one_line_each(&what))
        .exit(Exit::Usage)
        .advice(
            "`recount check` lists mistakes with their lines; a restart takes what is read with the \
             next start",
        )
}

fn one_line_each(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(one_line).collect();
    lines.join("\n")
}

/// Makes a running service read its policies, tokens, issuer of JWTs, certificate and sinks anew.
///
/// A part with a mistake stays as it was, and the mistake is listed. Other changed settings are
/// listed, too: they are read with the next start. SIGHUP does the same.
#[derive(Args)]
pub(crate) struct Reload {
    /// The directory of the journal of the service; default: that of the configuration.
    path: Option<PathBuf>,
    /// The configuration that names the journal; default: recount.toml, if there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Reload {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let path = match self.path {
            Some(path) => path,
            None => Config::read(self.config.as_deref())?.journal(),
        };
        let mut service = Client::connect(&path).await.map_err(|error| {
            let what = match error {
                ConnectError::NotOffered => format!("no service has {} open", shown(&path)),
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
