//! `recount settle`: what became of a call that may have run already, in place of a yes or a no.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::found::Found;
use super::on_record;
use crate::failures::failure::{Exit, Failure};
use crate::journal::ids;
use crate::journal::keys::Keys;
use crate::journal::source::{Said, Source};
use crate::terminal::screen::Screen;

/// Says what became of a call that was cut off and about which a person is asked; it does not run again.
///
/// The model is told the result, or why it failed, as the outcome of the call: at once through the service that has the
/// journal open, otherwise when the session is next served.
#[derive(Args)]
pub(crate) struct Settle {
    /// The directory of the journal.
    path: PathBuf,
    /// The id of the request, or a unique beginning of it.
    request: String,
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

impl Settle {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let found = self.found.finding()?;
        let found_as = found.found_as();
        let mut source = Source::writing(&self.path, &self.keys).await?;
        let service = source.service();
        let outcome = match ids::request(&mut source, &self.request).await {
            Ok(request) => {
                let settled = source.answer(request, Said::Found(found), self.name).await;
                settled.map(|on_record| (request, on_record))
            }
            Err(failure) => Err(failure),
        };
        let closed = source.close().await;
        let (request, on_record) = outcome?;
        closed.map_err(|failure| failure.behind_record(&on_record))?;
        let json = self.json.then(|| {
            json!({
                "request": request,
                "session": on_record.session,
                "seq": on_record.seq,
                "tool": on_record.tool,
                "found": found_as,
                "by": on_record.by,
                "service": service,
            })
        });
        let text = format!(
            "{} settled as {} by {}, on record at seq {}",
            on_record.tool,
            found_as.as_str(),
            on_record.by,
            on_record.seq
        );
        on_record::show(&on_record, json, &text, service, screen)?;
        Ok(Exit::Ok)
    }
}
