//! `recount settle`: records the real outcome of a call in doubt, in place of an approval.

use clap::Args;
use serde_json::json;

use super::found::Found;
use super::members::members;
use super::named::NamedRequest;
use super::on_record;
use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location};
use crate::terminal::Screen;
use recount::control::OnRecord;
use recount_telling::acted;

/// Records the real outcome of an interrupted call that waits for a decision; it does not run
/// again.
///
/// The model gets the result, or the reason of the failure, as the outcome of the call: at once
/// from a running service, otherwise when a process serves the session again.
#[derive(Args)]
pub(crate) struct Settle {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    #[command(flatten)]
    request: NamedRequest,
    #[command(flatten)]
    found: Found,
    #[command(flatten)]
    keys: Keys,
    /// The name to record, in place of the operating system's user; it is recorded as not verified.
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
        let recorded = on_record::record(&self.path, &self.keys, async |source| {
            let request = self.request.find(source).await?;
            let answer = members!({ "found": found, });
            let on_record = source.answer(request, &answer, self.name).await?;
            Ok((request, on_record))
        });
        let recorded = recorded.await?;
        let json = || recorded.json(json!({"request": recorded.about, "found": found_as}));
        let OnRecord { seq, tool, by, .. } = &recorded.on_record;
        let found_as = found_as.as_str();
        let by = acted("by", by);
        let text = format!("{tool} settled as {found_as} {by}, recorded at seq {seq}");
        recorded.show(self.json.then(json), &text, screen)?;
        Ok(Exit::Ok)
    }
}
