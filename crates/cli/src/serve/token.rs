//! The commands on tokens: `recount token create`, `list` and `revoke`.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::token_file;
use crate::config::{Config, Given};
use crate::failures::{Exit, Failure};
use crate::terminal::{Screen, Tone};
use recount::engine::{Clock, SystemClock};
use recount::session::Timestamp;
use recount_server::{AgentScope, Grant, NewToken, Role, TokenInfo, TokenStore};
use recount_telling::{age, duration, one_line};

/// Creates, lists and revokes the tokens of the HTTP API.
///
/// A running service takes every change with its next request. The file holds no token, only
/// hashes.
#[derive(Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    doing: Doing,
}

#[derive(Subcommand)]
enum Doing {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

/// The file of the tokens.
#[derive(Args)]
struct Place {
    /// The file of the tokens; default: that of the configuration, or recount-tokens.json.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// The configuration; default: recount.toml, if there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Creates a token and prints it. It is never shown again.
#[derive(Args)]
struct Create {
    /// The person or program that gets it, as records name it.
    name: String,
    /// The role: client for a program, or viewer, approver, operator or admin, of which each has
    /// the rights of those before it.
    #[arg(long, value_name = "ROLE")]
    role: Role,
    /// An agent whose sessions it is for; may be given several times; default: any.
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
    /// A label that the sessions must have; may be given several times.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// The only tool that the token may call and claim; may be given several times.
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// The only model that the token may use at the gateway; may be given several times.
    #[arg(long = "model", value_name = "NAME")]
    models: Vec<String>,
    /// A group of the person, as `approvers` of a tool name it; may be given several times.
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// A role of the person, as `approvers` of a tool name it; may be given several times.
    #[arg(long = "approver-role", value_name = "ROLE")]
    approver_roles: Vec<String>,
    /// The time from now for which it is valid, such as 12h or 30d, or never.
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = life)]
    expires: Life,
    #[command(flatten)]
    place: Place,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

/// Lists the tokens, also expired and revoked ones.
#[derive(Args)]
struct List {
    #[command(flatten)]
    place: Place,
    /// Prints one JSON document a line.
    #[arg(long)]
    json: bool,
}

/// Revokes a token. A running service refuses it from its next request on.
#[derive(Args)]
struct Revoke {
    /// The id of the token, as `recount token list` shows it.
    id: String,
    #[command(flatten)]
    place: Place,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

/// The time for which a token is valid.
#[derive(Clone, Copy, Debug)]
enum Life {
    For(Duration),
    Never,
}

/// Reads the time for which a token is valid.
fn life(text: &str) -> Result<Life, String> {
    if text == "never" {
        return Ok(Life::Never);
    }
    let read = duration::read(text).filter(|it| !it.is_zero());
    let read = read.ok_or_else(|| format!("expected {} or never", duration::EXPECTED))?;
    Ok(Life::For(read))
}

/// Reads a label: `key=value`.
fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err("expected KEY=VALUE".to_owned()),
    }
}

impl Place {
    fn opened(&self) -> Result<TokenStore, Failure> {
        let mut config = Config::read(self.config.as_deref())?;
        match &self.tokens {
            Some(tokens) => {
                config.settings.access.tokens = Some(Given::option("--tokens", tokens.clone()));
            }
            // A file with mistakes may name another file of tokens.
            None => config.sound(Vec::new())?,
        }
        token_file::open(&config)
    }
}

impl Token {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        match self.doing {
            Doing::Create(it) => it.run(screen),
            Doing::List(it) => it.run(screen),
            Doing::Revoke(it) => it.run(screen),
        }
    }
}

/// A new token in JSON.
#[derive(Serialize)]
struct Created<'t> {
    token: &'t str,
    #[serde(flatten)]
    info: &'t TokenInfo,
}

impl Create {
    fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        // Records and screens would show such a name as that of another person.
        if one_line(&self.name) != self.name {
            let what = format!(
                "expected a name of characters that are seen, found {}",
                one_line(&self.name)
            );
            return Err(Failure::new("bad-request", what).exit(Exit::Usage));
        }
        let now = SystemClock.now();
        let mut grant = Grant::everywhere(self.role);
        for agent in &self.agents {
            grant = grant.of_agent(agent);
        }
        for (key, value) in &self.labels {
            grant = grant.with_label(key, value);
        }
        grant = self.tools.iter().fold(grant, Grant::of_tool);
        // The vendors write `models/NAME`, and more collections in front of it.
        let models = self.models.iter().filter_map(|it| it.rsplit('/').next());
        grant = models.fold(grant, Grant::of_model);
        let mut new = NewToken::new(self.name).grant(grant);
        new = self.groups.into_iter().fold(new, NewToken::group);
        new = self.approver_roles.into_iter().fold(new, NewToken::role);
        if let Life::For(time) = self.expires {
            new = new.expires_at(now.after(time));
        }
        let (token, info) = self
            .place
            .opened()?
            .create(new, now)
            .map_err(token_file::failed)?;
        let token = token.expose();
        if self.json {
            let info = &info;
            screen.json(&Created { token, info })?;
            return Ok(Exit::Ok);
        }
        screen.line(token)?;
        screen.flush()?;
        // The standard output is the token alone, for `$(recount token create …)`. Without a
        // standard error there is no place for the note.
        let id = &info.id;
        let _ = writeln!(
            std::io::stderr(),
            "Keep it now: it is never shown again. Its id is {id}."
        );
        Ok(Exit::Ok)
    }
}

impl List {
    fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let tokens = self.place.opened()?.list().map_err(token_file::failed)?;
        let now = SystemClock.now();
        for info in &tokens {
            if self.json {
                screen.json(info)?;
            } else {
                show(info, now, screen)?;
            }
        }
        if tokens.is_empty() && !self.json {
            screen.line("There are no tokens.")?;
        }
        Ok(Exit::Ok)
    }
}

impl Revoke {
    fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let store = self.place.opened()?;
        let now = SystemClock.now();
        let info = store.revoke(&self.id, now).map_err(token_file::failed)?;
        if self.json {
            screen.json(&info)?;
        } else {
            let line = format!("{} of {} is revoked.", info.id, info.name);
            screen.toned(Tone::Good, &one_line(&line))?;
        }
        Ok(Exit::Ok)
    }
}

fn show(info: &TokenInfo, now: Timestamp, screen: &mut Screen) -> Result<(), Failure> {
    let state = match (info.revoked_at, info.expires_at) {
        (Some(at), _) => format!("revoked {}", age::moment(at)),
        (None, Some(at)) if at <= now => format!("expired {}", age::moment(at)),
        (None, Some(at)) => format!("until {}", age::moment(at)),
        (None, None) => "never expires".to_owned(),
    };
    let tone = match info.is_valid(now) {
        true => Tone::Plain,
        false => Tone::Quiet,
    };
    let grants: Vec<String> = info.grants.iter().map(in_words).collect();
    let line = format!("{}  {}: {}; {state}", info.id, info.name, grants.join(", "));
    screen.toned(tone, &one_line(&line))?;
    let belongs = [("role", &info.roles), ("group", &info.groups)];
    let belongs = belongs
        .iter()
        .flat_map(|(what, names)| names.iter().map(move |name| format!("{what} {name}")));
    let belongs: Vec<String> = belongs.collect();
    if !belongs.is_empty() {
        let line = format!("  {}", belongs.join(", "));
        screen.toned(Tone::Quiet, &one_line(&line))?;
    }
    Ok(())
}

/// A grant in words, such as `approver of support where tenant=acme`.
fn in_words(grant: &Grant) -> String {
    let mut text = grant.role.to_string();
    if let AgentScope::Only(agents) = &grant.agents {
        let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
        text.push_str(&format!(" of {}", agents.join(" and ")));
    }
    let labels: Vec<String> = grant
        .labels
        .iter()
        .map(|(key, it)| format!("{key}={it}"))
        .collect();
    if !labels.is_empty() {
        text.push_str(&format!(" where {}", labels.join(" and ")));
    }
    if let Some(tools) = &grant.tools {
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        text.push_str(&format!(" for the tools {}", tools.join(" and ")));
    }
    if let Some(models) = &grant.models {
        let models: Vec<&str> = models.iter().map(String::as_str).collect();
        text.push_str(&format!(" with the models {}", models.join(" and ")));
    }
    text
}
