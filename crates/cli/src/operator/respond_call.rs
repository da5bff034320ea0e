//! `recount respond-call`: the result of a call that waits for it from outside, on record.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::named::NamedPausedCall;
use super::on_record;
use crate::failures::{Exit, Failure};
use crate::files::given_json;
use crate::journal::Keys;
use crate::terminal::Screen;
use recount::control::OnRecord;

/// Gives the result of a long-running call that waits for it.
///
/// Where a service has the journal open, the service takes it and tells the model; otherwise it is
/// put on record, and the model is told when the session is next served.
#[derive(Args)]
pub(crate) struct RespondCall {
    /// The directory of the journal.
    path: PathBuf,
    #[command(flatten)]
    call: NamedPausedCall,
    #[command(flatten)]
    keys: Keys,
    /// The result, a JSON object; @FILE takes it from a file, - from standard input.
    #[arg(long, value_name = "JSON", default_value = "-")]
    response: String,
    /// Gives news: the call stays open, and its result follows.
    #[arg(long)]
    interim: bool,
    /// Who responds, in place of the operating system's user; the record says that nobody checked
    /// the name.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl RespondCall {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let response = given_json("the result", &self.response)?;
        let recorded = on_record::record(&self.path, &self.keys, async |source| {
            let ticket = self.call.find(source).await?;
            let call = ticket.session.call_id(ticket.call);
            let supplied = source.respond(ticket, response, self.interim, self.name);
            Ok((call, supplied.await?))
        });
        let recorded = recorded.await?;
        let json = || recorded.json(json!({"call_id": recorded.about}));
        let OnRecord { seq, tool, by, .. } = &recorded.on_record;
        let given = if self.interim { "news" } else { "its result" };
        let text = format!("{tool} has {given} from {by}, on record at seq {seq}");
        recorded.show(self.json.then(json), &text, screen)?;
        Ok(Exit::Ok)
    }
}
