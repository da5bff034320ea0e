//! `recount respond-call`: records the result of a call that waits for it.

use clap::Args;
use serde_json::json;

use super::named::NamedPausedCall;
use super::on_record;
use crate::failures::{Exit, Failure};
use crate::files::given_json;
use crate::journal::{Keys, Location};
use crate::terminal::Screen;
use recount::control::OnRecord;
use recount_telling::acted;

/// Records the result of a long-running call that waits for it.
///
/// The model gets it at once from a running service, otherwise when a process serves the session
/// again.
#[derive(Args)]
pub(crate) struct RespondCall {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    #[command(flatten)]
    call: NamedPausedCall,
    #[command(flatten)]
    keys: Keys,
    /// The result, a JSON object; @FILE reads it from a file, - from standard input.
    #[arg(long, value_name = "JSON", default_value = "-")]
    response: String,
    /// Records an interim result: the call stays open.
    #[arg(long)]
    interim: bool,
    /// The name to record, in place of the operating system's user; it is recorded as not verified.
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
        let given = if self.interim {
            "interim result"
        } else {
            "result"
        };
        let from = acted("from", by);
        let text = format!("{given} of {tool} {from}, recorded at seq {seq}");
        recorded.show(self.json.then(json), &text, screen)?;
        Ok(Exit::Ok)
    }
}
