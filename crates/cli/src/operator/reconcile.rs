//! `recount reconcile`: what became of a call whose outcome was unknown, found out later.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::found::Found;
use super::on_record;
use crate::failures::failure::{Exit, Failure};
use crate::journal::ids;
use crate::journal::keys::Keys;
use crate::journal::source::Source;
use crate::terminal::screen::Screen;
use recount::session::Seq;

/// Says what became of a call that ended as unknown or timed out.
///
/// The call keeps that outcome on record; the model is told what was found as a word of the conversation: at once through the service
/// that has the journal open, otherwise when the session is next served.
#[derive(Args)]
pub(crate) struct Reconcile {
    /// The directory of the journal.
    path: PathBuf,
    /// The session's id, or a unique beginning of it.
    session: String,
    /// The seq of the call's record, as `recount log` shows it.
    call: u64,
    #[command(flatten)]
    found: Found,
    #[command(flatten)]
    keys: Keys,
    /// Who says so, in place of the operating system's user; the record says that nobody checked the name.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Reconcile {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let found = self.found.finding()?;
        let found_as = found.found_as();
        let mut source = Source::writing(&self.path, &self.keys).await?;
        let service = source.service();
        let outcome = match ids::session_at(&mut source, &self.session).await {
            Ok(session) => {
                let call = Seq(self.call);
                source.reconcile(session, call, found, self.name).await
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
                "found": found_as,
                "by": on_record.by,
                "service": service,
            })
        });
        let text = format!(
            "{} found {} by {}, on record at seq {}",
            on_record.tool,
            found_as.as_str(),
            on_record.by,
            on_record.seq
        );
        on_record::show(&on_record, json, &text, service, screen)?;
        Ok(Exit::Ok)
    }
}
