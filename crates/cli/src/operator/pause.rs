//! `recount pause` and `recount unpause`: the stop switch.

use clap::Args;
use serde_json::json;

use super::on_record;
use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, Source, ids};
use crate::terminal::{Screen, Tone};
use recount::control::OnRecord;
use recount::ledger::PauseTarget;
use recount_telling::{acted, clause, count, one_line};

/// The sessions to pause: one of these.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Sessions {
    /// The session: its id, or a unique beginning of it.
    session: Option<String>,
    /// All sessions of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Everything: all sessions of the journal.
    #[arg(long)]
    all: bool,
}

/// The sessions and tools to pause.
#[derive(Args)]
struct Target {
    #[command(flatten)]
    sessions: Sessions,
    /// Only this tool of the session.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["agent", "all"])]
    tool: Option<String>,
}

impl Target {
    async fn find(&self, source: &mut Source) -> Result<PauseTarget, Failure> {
        if let Some(agent) = &self.sessions.agent {
            return Ok(PauseTarget::Agent(agent.clone()));
        }
        let Some(session) = &self.sessions.session else {
            return Ok(PauseTarget::Everything);
        };
        let session = ids::session_at(source, session).await?;
        Ok(match &self.tool {
            Some(tool) => PauseTarget::Tool {
                session,
                tool: tool.clone(),
            },
            None => PauseTarget::Session(session),
        })
    }
}

/// Pauses a session, a tool in it, an agent, or everything: nothing in it starts.
///
/// Running calls continue, unless --cancel-running is given. Calls are judged, asked about and
/// answered as ever; an approved call waits. A pause survives restarts, until `recount unpause`.
#[derive(Args)]
pub(crate) struct Pause {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    #[command(flatten)]
    target: Target,
    /// The reason, for the record; with --agent and --all it is recorded in clear text.
    #[arg(long)]
    reason: Option<String>,
    /// Cancels the calls that run; their effects stay.
    #[arg(long)]
    cancel_running: bool,
    #[command(flatten)]
    keys: Keys,
    /// The name to record, in place of the operating system's user; it is recorded as not verified.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

/// Ends a pause of a session, a tool in it, an agent, or everything.
///
/// Calls that no other pause holds start: at once in a running service, otherwise when a process
/// serves the session again.
#[derive(Args)]
pub(crate) struct Unpause {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    #[command(flatten)]
    target: Target,
    /// The reason, for the record; with --agent and --all it is recorded in clear text.
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

impl Pause {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let done = Done {
            word: "paused",
            in_database: "Recorded in the database. No node starts a call of it any more.",
            reason: self.reason.clone(),
            json: self.json,
        };
        let record = async |source: &mut Source| {
            let target = self.target.find(source).await?;
            let reason = self.reason.clone();
            let paused = source.pause(target.clone(), reason, self.cancel_running, self.name);
            Ok((target, paused.await?))
        };
        done.run(&self.path, &self.keys, record, screen).await
    }
}

impl Unpause {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let done = Done {
            word: "unpaused",
            in_database: "Recorded in the database, from which every node reads it.",
            reason: self.reason.clone(),
            json: self.json,
        };
        let mut left = 0;
        let record = async |source: &mut Source| {
            let target = self.target.find(source).await?;
            let reason = self.reason.clone();
            let ended = source.unpause(target.clone(), reason, self.name).await?;
            // A failure to list the others does not undo the end of this one.
            left = source.pauses().await.map_or(0, |it| it.len());
            Ok((target, ended))
        };
        let exit = done.run(&self.path, &self.keys, record, screen).await?;
        if left > 0 && !self.json {
            let left = count(left, "pause");
            screen.line(&format!(
                "Still in force: {left}; `recount pauses` lists them."
            ))?;
        }
        Ok(exit)
    }
}

/// The report of either command.
struct Done {
    word: &'static str,
    /// The line about a database.
    in_database: &'static str,
    reason: Option<String>,
    json: bool,
}

impl Done {
    async fn run(
        self,
        at: &Location,
        keys: &Keys,
        operation: impl AsyncFnOnce(&mut Source) -> Result<(PauseTarget, OnRecord), Failure>,
        screen: &mut Screen,
    ) -> Result<Exit, Failure> {
        let recorded = on_record::record(at, keys, operation).await?;
        let on_record = &recorded.on_record;
        let scope = recorded.about.scope();
        if self.json {
            let json = recorded.json(json!({"scope": scope}));
            recorded.show(Some(json), "", screen)?;
            return Ok(Exit::Ok);
        }
        let (by, why) = (acted("by", &on_record.by), clause(self.reason.as_deref()));
        let (word, seq) = (self.word, on_record.seq);
        let text = format!("{scope} {word} {by}, recorded at seq {seq}{why}");
        let shown = screen.toned(Tone::Good, &one_line(&text));
        let told = match recorded.service {
            Some(pid) => format!("Recorded by the running service (pid {pid})."),
            None if recorded.is_in_database => self.in_database.to_owned(),
            None => "No service has the journal open, so no call starts.".to_owned(),
        };
        let shown = shown.and_then(|()| screen.line(&told));
        shown
            .and_then(|()| screen.flush())
            .map_err(|failure| failure.behind_record(on_record))?;
        Ok(Exit::Ok)
    }
}
