//! `recount policy`: files of policies, whether they are sound, and their schema.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use crate::failures::failure::{Exit, Failure};
use crate::terminal::screen::Screen;
use crate::terminal::style::Tone;
use crate::text::count::count;
use crate::text::one_line::one_line;
use recount::session::PolicyChanges;
use recount::tool::policy_file::{self, PolicyMistake};
use recount_files::given_file;

/// The maximum length of a file of policies, in bytes.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// How many mistakes are told in words; `--json` has all.
const LISTED_MAX: usize = 100;

/// Files of policies: whether one is sound, and what may stand in one.
#[derive(Args)]
pub(crate) struct Policy {
    #[command(subcommand)]
    doing: Doing,
}

#[derive(Subcommand)]
enum Doing {
    /// Says whether a file is sound, or everything that is wrong with it.
    Check {
        /// The file, in TOML or JSON.
        file: PathBuf,
        /// Prints one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Prints the JSON Schema of such files.
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
    let text = text_of(file)?;
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
        screen.toned(Tone::Good, &format!("Sound: {}", one_line(&file)))?;
    } else {
        return Err(wrong(file, &mistakes));
    }
    Ok(if mistakes.is_empty() {
        Exit::Ok
    } else {
        Exit::Usage
    })
}

/// What a file says.
pub(crate) fn read(file: &Path) -> Result<PolicyChanges, Failure> {
    policy_file::parse(&text_of(file)?).map_err(|error| wrong(file, &error.mistakes))
}

fn text_of(file: &Path) -> Result<String, Failure> {
    let name = file.display().to_string();
    given_file::text(file, FILE_BYTES_MAX)
        .map_err(|error| Failure::io(format!("read the policies in {}", one_line(&name)), &error))
}

fn wrong(file: &Path, mistakes: &[PolicyMistake]) -> Failure {
    let name = file.display().to_string();
    let mut listed: String = mistakes
        .iter()
        .take(LISTED_MAX)
        .map(|it| format!("\n  - {}", one_line(&it.to_string())))
        .collect();
    if mistakes.len() > LISTED_MAX {
        let more = mistakes.len() - LISTED_MAX;
        listed.push_str(&format!("\n  and {more} more"));
    }
    let mistakes = count(mistakes.len(), "mistake");
    let what = format!("{} has {mistakes}:{listed}", one_line(&name));
    Failure::new("policy-file", what)
        .exit(Exit::Usage)
        .advice("`recount policy schema` prints what may stand there")
}
