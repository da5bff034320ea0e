//! `recount cancel`: cancels an open call.

use clap::Args;
use serde_json::json;

use super::named::NamedCall;
use super::on_record;
use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location};
use crate::terminal::Screen;
use recount::control::OnRecord;
use recount_telling::{acted, clause};

/// Cancels an open call, also one whose tool no longer exists.
///
/// A running tool is interrupted; its effects stay, and a cancelled call cannot be reconciled. For
/// a call in doubt, use `settle` or `deny` if you know more. The model is told that the call was
/// cancelled: at once by a running service, otherwise when a process serves the session again.
#[derive(Args)]
pub(crate) struct Cancel {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    #[command(flatten)]
    call: NamedCall,
    /// The reason, for the record.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    keys: Keys,
    /// The name to record, in place of the operating system's user; it is recorded as not verified.
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
            late: _,
            until: _,
            missing: _,
            repeated: _,
        } = &recorded.on_record;
        let json = || recorded.json(json!({"call": recorded.about, "attempts": attempts}));
        let begun = match attempts {
            0 => "",
            _ => "; it had started, and its effects stay",
        };
        let why = clause(self.reason.as_deref());
        let by = acted("by", by);
        let text = format!("{tool} cancelled {by}, recorded at seq {seq}{begun}{why}");
        recorded.show(self.json.then(json), &text, screen)?;
        Ok(Exit::Ok)
    }
}
