//! `recount cancel`: takes back a call that is open.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::named::NamedCall;
use super::on_record;
use crate::failures::{Exit, Failure};
use crate::journal::Keys;
use crate::telling::clause;
use crate::terminal::Screen;
use recount::control::OnRecord;

/// Takes back a call that is open, whatever it waits for, also a tool that no program has any more.
///
/// A tool that runs is cut off; what it has done stays done, and what was cancelled cannot be
/// reconciled. Of a call in doubt `settle` and `deny` say more. The model is told that the call was
/// cancelled: at once through the service that has the journal open, otherwise when the session is
/// next served.
#[derive(Args)]
pub(crate) struct Cancel {
    /// The directory of the journal.
    path: PathBuf,
    #[command(flatten)]
    call: NamedCall,
    /// Why, for the record.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    keys: Keys,
    /// Who says so, in place of the operating system's user; the record says that nobody checked
    /// the name.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Cancel {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let recorded = on_record::record(&self.path, &self.keys, async |source| {
            let (session, call) = self.call.find(source).await?;
            let reason = self.reason.clone();
            let cancelled = source.cancel(session, call, reason, self.name);
            Ok((call, cancelled.await?))
        });
        let recorded = recorded.await?;
        let OnRecord {
            session: _,
            seq,
            tool,
            by,
            attempts,
        } = &recorded.on_record;
        let json = || recorded.json(json!({"call": recorded.about, "attempts": attempts}));
        let begun = match attempts {
            0 => "",
            _ => "; it had been started, and what it has done stays done",
        };
        let why = clause(self.reason.as_deref());
        let text = format!("{tool} cancelled by {by}, on record at seq {seq}{begun}{why}");
        recorded.show(self.json.then(json), &text, screen)?;
        Ok(Exit::Ok)
    }
}
