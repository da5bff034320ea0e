//! `recount respond-call`: the result of a call that waits for it from outside, on record.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::on_record;
use crate::failures::failure::{Exit, Failure};
use crate::files::given_json::given_json;
use crate::journal::ids;
use crate::journal::keys::Keys;
use crate::journal::source::Source;
use crate::terminal::screen::Screen;
/// Gives the result of a long-running call that waits for it.
///
/// Where a service has the journal open, the service takes it and tells the model; otherwise it is put on record, and the model
/// is told when the session is next served.
#[derive(Args)]
pub(crate) struct RespondCall {
    /// The directory of the journal.
    path: PathBuf,
    /// The id of the call as `recount pending` shows it, or a unique beginning of it; or the call's ticket, as JSON.
    call: String,
    #[command(flatten)]
    keys: Keys,
    /// The result, a JSON object; @FILE takes it from a file, - from standard input.
    #[arg(long, value_name = "JSON", default_value = "-")]
    response: String,
    /// Gives news: the call stays open, and its result follows.
    #[arg(long)]
    interim: bool,
    /// Who responds, in place of the operating system's user; the record says that nobody checked the name.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl RespondCall {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let response = given_json("the result", &self.response)?;
        let mut source = Source::writing(&self.path, &self.keys).await?;
        let service = source.service();
        let outcome = match ids::paused_call(&mut source, &self.call).await {
            Ok(ticket) => {
                let call = ticket.session.call_id(ticket.call);
                let supplied = source
                    .respond(ticket, response, self.interim, self.name)
                    .await;
                supplied.map(|on_record| (call, on_record))
            }
            Err(failure) => Err(failure),
        };
        let closed = source.close().await;
        let (call, on_record) = outcome?;
        closed.map_err(|failure| failure.behind_record(&on_record))?;
        let json = self.json.then(|| {
            json!({
                "call_id": call,
                "session": on_record.session,
                "seq": on_record.seq,
                "tool": on_record.tool,
                "by": on_record.by,
                "service": service,
            })
        });
        let text = format!(
            "{} has {} from {}, on record at seq {}",
            on_record.tool,
            if self.interim { "news" } else { "its result" },
            on_record.by,
            on_record.seq
        );
        on_record::show(&on_record, json, &text, service, screen)?;
        Ok(Exit::Ok)
    }
}
