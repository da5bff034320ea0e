//! `recount cancel`: takes back a call that is open.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::on_record;
use crate::failures::failure::{Exit, Failure};
use crate::journal::ids;
use crate::journal::keys::Keys;
use crate::journal::source::Source;
use crate::telling::phrases::clause;
use crate::terminal::screen::Screen;
use recount::session::Seq;

/// Takes back a call that is open, whatever it waits for, also a tool that no program has any more.
///
/// A tool that runs is cut off; what it has done stays done, and what was cancelled cannot be reconciled. Of a call in doubt
/// `settle` and `deny` say more. The model is told that the call was cancelled: at once through the service that has the
/// journal open, otherwise when the session is next served.
#[derive(Args)]
pub(crate) struct Cancel {
    /// The directory of the journal.
    path: PathBuf,
    /// The session's id, or a unique beginning of it.
    session: String,
    /// The seq of the call's record, as `recount log` shows it.
    call: u64,
    /// Why, for the record.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    keys: Keys,
    /// Who says so, in place of the operating system's user; the record says that nobody checked the name.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Cancel {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut source = Source::writing(&self.path, &self.keys).await?;
        let service = source.service();
        let outcome = match ids::session_at(&mut source, &self.session).await {
            Ok(session) => {
                let (call, reason) = (Seq(self.call), self.reason.clone());
                source.cancel(session, call, reason, self.name).await
            }
            Err(failure) => Err(failure),
        };
        let closed = source.close().await;
        let on_record = outcome?;
        closed.map_err(|failure| failure.behind_record(&on_record))?;
        let json = self.json.then(|| {
            json!({
                "session": on_record.session,
                "call": self.call,
                "seq": on_record.seq,
                "tool": on_record.tool,
                "by": on_record.by,
                "attempts": on_record.attempts,
                "service": service,
            })
        });
        let begun = match on_record.attempts {
            0 => "",
            _ => "; it had been started, and what it has done stays done",
        };
        let text = format!(
            "{} cancelled by {}, on record at seq {}{begun}{}",
            on_record.tool,
            on_record.by,
            on_record.seq,
            clause(self.reason.as_deref())
        );
        on_record::show(&on_record, json, &text, service, screen)?;
        Ok(Exit::Ok)
    }
}
