//! `recount erase`: takes the key of a session away, so that what is sealed of it opens no more.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::journal::{Keys, ids, opening, os_user};
use crate::terminal::{Screen, prompt};
use crate::text::one_line;
use recount::engine::{Desk, SystemClock};
use recount::ledger::EraseError;

/// Erases what is sealed of a session: takes its key away for good.
///
/// The records stay as they are, so the journal verifies as before; what was sealed in them opens
/// no more. Who wanted it, why and when goes on record in the journal, in clear, and
/// `recount audit decisions` tells it. Backups of the key store and exports made in clear are not
/// reached.
#[derive(Args)]
pub(crate) struct Erase {
    /// The directory of the journal.
    path: PathBuf,
    /// The session's id, or a unique beginning of it.
    session: String,
    #[command(flatten)]
    keys: Keys,
    /// Why it is erased; this goes on record in clear.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who wants it, in place of the operating system's user; the record says that nobody checked
    /// the name.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Does not ask.
    #[arg(long)]
    yes: bool,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Erase {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let by = os_user::actor(self.name)?;
        let ledger = self.keys.of(opening::writing(&self.path)?)?;
        let session = ids::session(&ledger, &self.session).await;
        let outcome = match session {
            Ok(session) if self.yes || asked(&session.to_string()).await? => {
                let desk = Desk::new(ledger.clone(), SystemClock::shared());
                let erased = desk.erase(session, &self.reason, by).await;
                erased.map(|it| Some((session, it))).map_err(Failure::from)
            }
            Ok(_) => Ok(None),
            Err(failure) => Err(failure),
        };
        ledger.journal().close().await?;
        let Some((session, erasure)) = outcome? else {
            screen.line("Nothing was erased")?;
            return Ok(Exit::Failed);
        };
        if self.json {
            screen.json(&json!({"session": session, "erasure": erasure}))?;
        } else {
            screen.line(&format!(
                "Session {session} is erased: {} wanted it, because {}",
                erasure.by,
                one_line(&erasure.reason)
            ))?;
        }
        Ok(Exit::Ok)
    }
}

async fn asked(session: &str) -> Result<bool, Failure> {
    if !prompt::is_interactive() {
        let what = "expected --yes or somebody at a terminal to be asked, found neither";
        return Err(Failure::new("not-asked", what).exit(Exit::Usage));
    }
    prompt::yes_or_no(&format!(
        "Erase session {session}? What is sealed of it never opens again."
    ))
    .await
}

impl From<EraseError> for Failure {
    fn from(error: EraseError) -> Failure {
        let what = error.to_string();
        match error {
            EraseError::Ledger(error) => error.into(),
            EraseError::NoKeyStore { .. } => {
                Failure::new("no-key-store", what).exit(Exit::Usage).advice("name it with --keys DIR")
            }
            EraseError::InClear { .. } => Failure::new("in-clear", what)
                .exit(Exit::Refused)
                .advice("only sealed sessions can be erased: `recount run --keys DIR`, `Agent::sealed`"),
            EraseError::NoReason => Failure::new("no-reason", what).exit(Exit::Usage),
            EraseError::NoKey { .. } => Failure::new("no-key", what).exit(Exit::Sealed),
            EraseError::WorkOpen { .. } => Failure::new("work-open", what)
                .exit(Exit::Refused)
                .advice("`recount pending PATH` lists what waits for a person; answer it, and let the service settle the rest, then try again"),
            _ => Failure::new("work-open", what).exit(Exit::Refused),
        }
    }
}
