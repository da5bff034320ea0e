//! `recount revoke`: ends a standing leave.

use clap::Args;
use serde_json::json;

use super::on_record;
use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, Source, ids};
use crate::terminal::{Screen, Tone};
use recount::session::{Seq, SessionId};
use recount_telling::{acted, clause, one_line};

/// Ends a standing leave, so that later calls of its tool are asked about again.
///
/// A call that the leave has allowed and that has not started is asked about, too. The people who
/// could give the leave may revoke it.
#[derive(Args)]
pub(crate) struct Revoke {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    /// The session: its id, or a unique beginning of it.
    session: String,
    /// The leave: the seq that `recount leaves` shows; or the id of the request whose answer gave
    /// it, or a unique beginning of that.
    leave: String,
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

impl Revoke {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let recorded = on_record::record(&self.path, &self.keys, async |source| {
            let session = ids::session_at(source, &self.session).await?;
            let leave = self.leave_of(source, session).await?;
            let reason = self.reason.clone();
            let revoked = source.revoke(session, leave, reason, self.name.clone());
            Ok((leave, revoked.await.map_err(refused)?))
        });
        let recorded = recorded.await?;
        if self.json {
            let json = recorded.json(json!({"leave": recorded.about}));
            let shown = screen.json(&json).and_then(|()| screen.flush());
            shown.map_err(|failure| failure.behind_record(&recorded.on_record))?;
            return Ok(Exit::Ok);
        }
        let on_record = &recorded.on_record;
        let (tool, by) = (&on_record.tool, acted("by", &on_record.by));
        let why = clause(self.reason.as_deref());
        let (leave, seq) = (recorded.about, on_record.seq);
        let text = format!("standing leave {leave} for {tool} revoked {by}, at seq {seq}{why}");
        let shown = screen
            .toned(Tone::Good, &one_line(&text))
            .and_then(|()| screen.line("Later calls are asked about again."))
            .and_then(|()| screen.flush());
        shown.map_err(|failure| failure.behind_record(on_record))?;
        Ok(Exit::Ok)
    }

    /// The seq of the leave. An id is that of the request whose answer gave it.
    async fn leave_of(&self, source: &mut Source, session: SessionId) -> Result<Seq, Failure> {
        let typed = self.leave.strip_prefix('#').unwrap_or(&self.leave);
        // The beginning of an id may consist of digits, and a seq is never that long.
        if typed.len() < ID_DIGITS_MIN
            && let Ok(seq) = typed.parse()
        {
            return Ok(Seq(seq));
        }
        let digits: String = typed.chars().filter(|it| *it != '-').collect();
        let digits = digits.to_ascii_lowercase();
        let leaves = source.leaves().await?.into_iter();
        let mut named = leaves.filter(|it| {
            let id = it.request.0.simple().to_string();
            it.session == session && id.starts_with(&digits)
        });
        match (named.next(), named.next()) {
            (Some(it), None) => Ok(it.leave),
            (found, _) => {
                let which = if found.is_some() {
                    "several leaves begin"
                } else {
                    "no leave begins"
                };
                let what = format!("{which} with {:?} in session {session}", one_line(typed));
                Err(Failure::new("unknown-leave", what)
                    .exit(Exit::Failed)
                    .advice("`recount leaves PATH` lists the standing leaves in force"))
            }
        }
    }
}

/// The failure to revoke, with advice about leaves: a refusal concerns no request.
fn refused(failure: Failure) -> Failure {
    if failure.exit != Exit::Refused {
        return failure;
    }
    failure.advice("nothing was changed; `recount leaves PATH` lists the standing leaves in force")
}

/// The number of digits from which a number is read as the beginning of an id.
const ID_DIGITS_MIN: usize = 8;
