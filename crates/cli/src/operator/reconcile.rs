//! `recount reconcile`: what became of a call whose outcome was unknown, found out later.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::found::Found;
use super::named::NamedCall;
use super::on_record;
use crate::failures::{Exit, Failure};
use crate::journal::Keys;
use crate::terminal::Screen;
use recount::control::OnRecord;

/// Says what became of a call that ended as unknown or timed out.
///
/// The call keeps that outcome on record; the model is told what was found as a word of the
/// conversation: at once through the service that has the journal open, otherwise when the session
/// is next served.
#[derive(Args)]
pub(crate) struct Reconcile {
    /// The directory of the journal.
    path: PathBuf,
    #[command(flatten)]
    call: NamedCall,
    #[command(flatten)]
    found: Found,
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
        let text = format!("{tool} found {found_as} by {by}, on record at seq {seq}");
        recorded.show(self.json.then(json), &text, screen)?;
        Ok(Exit::Ok)
    }
}
