//! `recount approve` and `recount deny`: an answer on record. The command itself starts nothing.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::failure::{Exit, Failure};
use super::ids;
use super::keys::Keys;
use super::one_line::one_line;
use super::phrases::who;
use super::screen::Screen;
use super::source::{Said, Source};
use super::style::Tone;
use crate::control::OnRecord;

/// Records the answer to a confirmation request, through the service that has the journal open if one does.
#[derive(Args)]
pub(super) struct Answer {
    /// The directory of the journal.
    path: PathBuf,
    /// The id of the request, or a unique beginning of it.
    request: String,
    #[command(flatten)]
    keys: Keys,
    /// Why; of a denial the model is told.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Who answers, in place of the operating system's user; the record says that nobody checked the name.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Answer {
    pub(super) async fn run(self, confirmed: bool, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut source = Source::writing(&self.path, &self.keys).await?;
        let service = source.service();
        let reason = self.reason;
        let said = Said::Answer { confirmed, reason };
        let outcome = match ids::request(&mut source, &self.request).await {
            Ok(request) => {
                let answered = source.answer(request, said, self.name).await;
                answered.map(|on_record| (request, on_record))
            }
            Err(failure) => Err(failure),
        };
        source.close().await?;
        let (request, on_record) = outcome?;
        let OnRecord {
            session,
            seq,
            tool,
            by,
        } = on_record;
        if self.json {
            screen.json(&json!({
                "request": request,
                "session": session,
                "seq": seq,
                "tool": tool,
                "confirmed": confirmed,
                "by": by,
                "service": service,
            }))?;
            return Ok(Exit::Ok);
        }
        let (what, tone) = if confirmed {
            ("approved", Tone::Good)
        } else {
            ("denied", Tone::Bad)
        };
        let text = format!("{tool} {what} by {}, on record at seq {seq}", who(&by));
        screen.toned(tone, &one_line(&text))?;
        let next = match (service, confirmed) {
            (Some(pid), _) => format!("Answered through the running service (pid {pid})."),
            (None, true) => {
                "The call starts with the next process that serves the session.".to_owned()
            }
            (None, false) => "The model is told when the session is next served.".to_owned(),
        };
        screen.line(&next)?;
        Ok(Exit::Ok)
    }
}
