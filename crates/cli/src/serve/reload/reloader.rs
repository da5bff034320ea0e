//! The parts of a running service that are read anew, each taken whole or left as it was.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;

use super::next_start;
use super::outcome::wrong;
use crate::config::{self, Config, Mistake, Settings, TlsSettings};
use crate::serve::listening::Certificate;
use crate::serve::notify::Notifications;
use crate::serve::options::Options;
use recount::control::Reloaded;
use recount::engine::{Clock, Engine, Error, SystemClock};
use recount_server::{Access, TokenStore};

/// The parts of a running service that are read anew.
pub(in crate::serve) struct Reloader {
    pub(in crate::serve) options: Options,
    /// The settings of the start.
    pub(in crate::serve) started: Settings,
    /// Locked while the configuration is read and taken, so that an older one never comes last.
    pub(in crate::serve) reloading: Mutex<()>,
    pub(in crate::serve) tokens: Arc<TokenStore>,
    /// The file of the tokens.
    pub(in crate::serve) tokens_file: PathBuf,
    /// True once the file of the tokens was there.
    pub(in crate::serve) had_tokens: AtomicBool,
    pub(in crate::serve) access: Access,
    pub(in crate::serve) certificate: Option<Arc<Certificate>>,
    /// The certificate of the gateway, which may be that of the service.
    pub(in crate::serve) gateway_certificate: Option<Arc<Certificate>>,
    /// The notifications, once they have started.
    pub(in crate::serve) notifications: OnceLock<Notifications>,
}

impl Reloader {
    /// Reads every part anew.
    pub(in crate::serve) async fn reload(&self, engine: &Engine) -> Reloaded {
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
        self.reload_gateway_certificate(&config, &mut outcome);
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

    fn reload_gateway_certificate(&self, config: &Config, outcome: &mut Reloaded) {
        let own = config.settings.gateway.as_ref().map(|it| &it.tls);
        let started = self.started.gateway.as_ref().map(|it| &it.tls);
        let is_own = |it: Option<&TlsSettings>| it.is_some_and(TlsSettings::is_given);
        match (&self.gateway_certificate, own) {
            (Some(certificate), Some(own)) if is_own(started) && own.is_given() => {
                match certificate.reload(own) {
                    Ok(()) => outcome
                        .reloaded
                        .push("certificate of the gateway".to_owned()),
                    Err(mistakes) => outcome.mistakes.extend(in_words(&mistakes)),
                }
            }
            _ if is_own(started) != is_own(own) => {
                let what = "gateway.tls: the change is read with the next start";
                outcome.mistakes.push(what.to_owned());
            }
            _ => {}
        }
    }

    async fn reload_sinks(&self, config: &Config, outcome: &mut Reloaded) {
        let Some(notifications) = self.notifications.get() else {
            return;
        };
        match notifications.reload(config).await {
            Ok(removed) if removed.is_empty() && config.settings.sinks.is_empty() => {}
            Ok(removed) => {
                outcome.reloaded.push("sinks".to_owned());
                outcome.reloaded.extend(removed);
            }
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
    pub(in crate::serve) async fn at_hang_ups(
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
