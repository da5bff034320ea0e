//! The command `recount notify`: a test of a sink.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::sinks;
use crate::config::{self, Config};
use crate::failures::{Exit, Failure};
use crate::terminal::{Screen, Tone};
use recount::engine::SystemClock;
use recount_telling::{one_line, shown};

/// Tries the sinks of notifications.
#[derive(Args)]
pub(crate) struct Notify {
    #[command(subcommand)]
    doing: Doing,
}

#[derive(Subcommand)]
enum Doing {
    Test(Test),
}

/// Sends one test message to a sink of the configuration.
///
/// Nothing is tried again. No journal is opened, so it also works while the service runs.
#[derive(Args)]
struct Test {
    /// The name of the sink.
    sink: String,
    /// The configuration; default: recount.toml, if there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Notify {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        match self.doing {
            Doing::Test(it) => it.run(screen).await,
        }
    }
}

impl Test {
    async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let config = Config::read(self.config.as_deref())?;
        config.sound(Vec::new())?;
        let known = &config.settings.sinks;
        let found = known.iter().find(|it| it.name.value.as_str() == self.sink);
        let Some(given) = found else {
            let names: Vec<&str> = known.iter().map(|it| it.name.value.as_str()).collect();
            let names = match names.as_slice() {
                [] => "it has none".to_owned(),
                names => format!("it has {}", names.join(", ")),
            };
            let (sink, file) = (one_line(&self.sink), shown(config.name()));
            let what = format!("there is no sink {sink} in {file}; {names}");
            return Err(Failure::new("unknown-sink", what).exit(Exit::Usage));
        };
        let sink =
            sinks::sink(given).map_err(|mistake| config::wrong(config.name(), &[mistake]))?;
        let sent = recount_notify::send_test(&sink, &SystemClock).await;
        if self.json {
            let error = sent.as_ref().err().map(ToString::to_string);
            screen.json(&json!({
                "sink": self.sink,
                "kind": sink.target.kind(),
                "delivered": sent.is_ok(),
                "error": error,
            }))?;
            return Ok(match sent {
                Ok(()) => Exit::Ok,
                Err(_) => Exit::Failed,
            });
        }
        sent.map_err(|error| {
            let what = format!("{} took no message: {error}", self.sink);
            Failure::new("not-delivered", one_line(&what).into_owned())
        })?;
        let line = format!("Delivered: a test message to {}", self.sink);
        screen.toned(Tone::Good, &one_line(&line))?;
        Ok(Exit::Ok)
    }
}
