//! The command `recount check`: every mistake of a configuration, without starting anything.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::behind::{checkpoints, traces};
use super::listening::{Certificate, proxy_mistake};
use super::{gateway, key_store, named_journal, notify, token_file};
use crate::config::{self, Config, Mistake};
use crate::failures::{Exit, Failure};
use crate::terminal::{Screen, Tone};
use recount::engine::{Clock, SystemClock};
use recount_server::Access;
use recount_telling::shown;

/// Checks recount.toml and the files that it names, and lists every mistake with its line.
///
/// It also checks what refers to what: a tool without a program, approvers that no valid token
/// gives, policies and roles for a tool that an agent does not have. Nothing is started, and no
/// server of MCP is asked, so any tool may be named for an agent with MCP servers.
#[derive(Args)]
pub(crate) struct Check {
    /// The configuration; default: recount.toml, if there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Prints the JSON Schema of the configuration, and checks nothing.
    #[arg(long, conflicts_with_all = ["config", "json"])]
    schema: bool,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        if self.schema {
            let text = serde_json::to_string_pretty(&config::schema());
            let text = text.map_err(|error| {
                Failure::new("broken", format!("failed to write JSON: {error}"))
            })?;
            screen.line(&text)?;
            return Ok(Exit::Ok);
        }
        let mut config = Config::read(self.config.as_deref())?;
        named_journal::resolve(&mut config);
        let mut mistakes = config.mistakes.clone();
        mistakes.extend(all(&config).await);
        mistakes.sort();
        mistakes.dedup();
        if self.json {
            screen.json(&json!({
                "config": config.file.as_ref().map(|it| it.display().to_string()),
                "sound": mistakes.is_empty(),
                "agents": config.settings.agents.keys().collect::<Vec<_>>(),
                "mistakes": mistakes.iter().map(Mistake::to_json).collect::<Vec<_>>(),
            }))?;
            return Ok(match mistakes.is_empty() {
                true => Exit::Ok,
                false => Exit::Usage,
            });
        }
        if !mistakes.is_empty() {
            return Err(config::wrong(config.name(), &mistakes));
        }
        let line = format!("No mistakes: {}", shown(config.name()));
        screen.toned(Tone::Good, &line)?;
        Ok(Exit::Ok)
    }
}

/// The mistakes in what the settings name.
async fn all(config: &Config) -> Vec<Mistake> {
    let settings = &config.settings;
    let (agents, mut mistakes) = config::load(settings);
    mistakes.extend(config.unreachable());
    mistakes.extend(traces::mistakes(config));
    mistakes.extend(checkpoints::mistakes(config));
    mistakes.extend(gateway::mistakes(config));
    mistakes.extend(notify::mistakes(config));
    mistakes.extend(notify::unusable_files(config));
    mistakes.extend(config::silent_routes(settings, &agents));
    let identities = config::with_identities(Access::none(), &settings.access);
    mistakes.extend(identities.err().into_iter().flatten());
    mistakes.extend(config::programs(&agents));
    mistakes.extend(config::grants(settings, &agents));
    mistakes.extend(settings.access.proxy.as_ref().and_then(proxy_mistake));
    mistakes.extend(config::registered(settings, &agents).await);
    for tls in [&settings.tls, settings.gateway_tls()] {
        mistakes.extend(Certificate::read(tls).err().into_iter().flatten());
    }
    mistakes.extend(settings.keys.as_ref().and_then(key_store::mistake));
    let tokens = token_file::open(config).and_then(|it| it.list().map_err(token_file::failed));
    match (tokens, &settings.access.tokens) {
        (Ok(tokens), _) => {
            let now = SystemClock.now();
            let access = &settings.access;
            mistakes.extend(config::approvers(access, &agents, &tokens, now));
        }
        (Err(failure), Some(given)) => mistakes.push(given.mistake(failure.what)),
        (Err(failure), None) => mistakes.push(config.mistake(failure.what)),
    }
    mistakes
}
