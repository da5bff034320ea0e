//! `recount policy`: checks policy files, and prints their schema.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::files::policies;
use crate::terminal::{Screen, Tone};
use recount::tool::policy_file::{self, PolicyMistake};
use recount_telling::one_line;

/// Checks a policy file, or prints the schema of such files.
#[derive(Args)]
pub(crate) struct Policy {
    #[command(subcommand)]
    doing: Doing,
}

#[derive(Subcommand)]
enum Doing {
    /// Checks a file and lists all mistakes.
    Check {
        /// The file, in TOML or JSON.
        file: PathBuf,
        /// Prints one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Prints the JSON Schema of policy files.
    Schema,
}

impl Policy {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        match self.doing {
            Doing::Check { file, json } => check(&file, json, screen),
            Doing::Schema => {
                let text = serde_json::to_string_pretty(&policy_file::schema());
                let text = text.map_err(|error| {
                    Failure::new("broken", format!("failed to write JSON: {error}"))
                })?;
                screen.line(&text)?;
                Ok(Exit::Ok)
            }
        }
    }
}

fn check(file: &Path, as_json: bool, screen: &mut Screen) -> Result<Exit, Failure> {
    let text = policies::text_of(file)?;
    let mistakes = policy_file::parse(&text).map_or_else(|it| it.mistakes, |_| Vec::new());
    if as_json {
        let mistake =
            |it: &PolicyMistake| json!({"line": it.line, "field": it.field, "what": it.what});
        screen.json(&json!({
            "file": file.display().to_string(),
            "sound": mistakes.is_empty(),
            "mistakes": mistakes.iter().map(mistake).collect::<Vec<_>>(),
        }))?;
    } else if mistakes.is_empty() {
        let file = file.display().to_string();
        screen.toned(Tone::Good, &format!("No mistakes: {}", one_line(&file)))?;
    } else {
        return Err(policies::wrong(file, &mistakes));
    }
    Ok(if mistakes.is_empty() {
        Exit::Ok
    } else {
        Exit::Usage
    })
}
