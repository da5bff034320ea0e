//! `recount erase`: deletes the key of a sealed session.

use clap::Args;
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, ids, opening, os_user};
use crate::terminal::{Screen, prompt};
use recount::engine::{Desk, SystemClock};
use recount::ledger::EraseError;
use recount_telling::{acted, one_line};

/// Erases a sealed session: deletes its key for good.
///
/// The records stay as they are, so the journal verifies as before, but their sealed parts can
/// never be read again. A session under a legal hold is not erased. The name, the reason and the
/// time are recorded in clear, and `recount audit decisions` shows them. Backups of the key store
/// and exports in clear text are not changed.
#[derive(Args)]
pub(crate) struct Erase {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    /// The id of the session, or a unique beginning of it.
    session: String,
    #[command(flatten)]
    keys: Keys,
    /// The reason; it is recorded in clear text.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The name to record, in place of the operating system's user; it is recorded as not verified.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Does not ask for a confirmation.
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
            Ok(session) if self.yes || confirmed(&session.to_string()).await? => {
                let desk = Desk::new(ledger.clone(), SystemClock::shared());
                let erased = desk.erase(session, &self.reason, by).await;
                erased.map(|it| Some((session, it))).map_err(Failure::from)
            }
            Ok(_) => Ok(None),
            Err(failure) => Err(failure),
        };
        ledger.journal().close().await?;
        let Some((session, erasure)) = outcome? else {
            screen.line("Nothing was erased.")?;
            return Ok(Exit::Failed);
        };
        if self.json {
            screen.json(&json!({"session": session, "erasure": erasure}))?;
        } else {
            screen.line(&format!(
                "Session {session} erased {}: {}",
                one_line(&acted("by", &erasure.by)),
                one_line(&erasure.reason)
            ))?;
        }
        Ok(Exit::Ok)
    }
}

fn held(what: String) -> Failure {
    Failure::new("held", one_line(&what).into_owned()).exit(Exit::Refused)
}

/// Asks for a confirmation at the terminal.
async fn confirmed(session: &str) -> Result<bool, Failure> {
    if !prompt::is_interactive() {
        let what = "expected --yes or a terminal to ask for a confirmation, found neither";
        return Err(Failure::new("not-asked", what).exit(Exit::Usage));
    }
    prompt::yes_or_no(&format!(
        "Erase session {session}? Its sealed parts can never be read again."
    ))
    .await
}

impl From<EraseError> for Failure {
    fn from(error: EraseError) -> Failure {
        let what = error.to_string();
        match error {
            EraseError::Ledger(error) => error.into(),
            EraseError::NoKeyStore { .. } => Failure::new("no-key-store", what)
                .exit(Exit::Usage)
                .advice("give it with --keys DIR"),
            EraseError::InClear { .. } => {
                Failure::new("in-clear", what).exit(Exit::Refused).advice(
                    "only sealed sessions can be erased: `recount run --keys DIR`, `Agent::sealed`",
                )
            }
            EraseError::NoReason => Failure::new("no-reason", what).exit(Exit::Usage),
            EraseError::NoKey { .. } => Failure::new("no-key", what).exit(Exit::Sealed),
            EraseError::WorkOpen { .. } => {
                Failure::new("work-open", what).exit(Exit::Refused).advice(
                    "`recount pending PATH` lists the calls that wait; answer them, let a service \
                     complete the rest, and try again",
                )
            }
            EraseError::Held { hold, .. } => {
                let advice = format!(
                    "`recount unhold PATH {} --reason TEXT` releases it",
                    hold.id
                );
                held(what).advice(advice)
            }
            EraseError::LabelsUnreadable { hold, .. } => held(what).advice(format!(
                "give the key store of the session with --keys DIR, or release the hold: `recount \
                 unhold PATH {} --reason TEXT`",
                hold.id
            )),
            _ => Failure::new("work-open", what).exit(Exit::Refused),
        }
    }
}
