//! `recount reconcile`: records the real outcome of a call that ended as unknown.

use clap::Args;
use serde_json::json;

use super::found::Found;
use super::named::NamedCall;
use super::on_record;
use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location};
use crate::terminal::Screen;
use recount::control::OnRecord;
use recount_telling::acted;

/// Records the real outcome of a call that ended as unknown or timed out.
///
/// The call keeps its outcome on record. The model gets the real one as text: at once from a
/// running service, otherwise when a process serves the session again.
#[derive(Args)]
pub(crate) struct Reconcile {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    #[command(flatten)]
    call: NamedCall,
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

impl Reconcile {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let found = self.found.finding()?;
        let found_as = found.found_as();
        let recorded = on_record::record(&self.path, &self.keys, async |source| {
            let (session, call) = self.call.find(source).await?;
            let reconciled = source.reconcile(session, call, found, self.name);
            Ok((call, reconciled.await?))
        });
        let recorded = recorded.await?;
        let json = || recorded.json(json!({"call": recorded.about, "found": found_as}));
        let OnRecord { seq, tool, by, .. } = &recorded.on_record;
        let found_as = found_as.as_str();
        let by = acted("by", by);
        let text = format!("{tool} reconciled as {found_as} {by}, recorded at seq {seq}");
        recorded.show(self.json.then(json), &text, screen)?;
        Ok(Exit::Ok)
    }
}
