//! The command `recount run`: its options, the engine that it starts, and the end.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use recount_journal::Journal;
use recount_journal::seal::KeyStore;

use super::approvals::{Alike, Approvals};
use super::conversation::Conversation;
use super::servers::Servers;
use crate::failures::{Exit, Failure};
use crate::files::{destination, policies};
use crate::journal::{Keys, Location, PATIENCE, ids, opening, os_user};
use crate::terminal::{Screen, Stop, prompt};
use recount::engine::{Agent, Engine, LiveHandle, PROGRAM};
use recount::ledger::{Error as LedgerError, Ledger};
use recount::live::{Connector, Endpoint};
use recount::session::{Actor, PolicyChanges, Seq, SessionId};
use recount::tool::{Toolset, tools_file};
use recount_telling::{count, cut, one_line, quoted};

/// The name of the agent in the sessions of this command.
const AGENT: &str = "run";

/// The maximum length of a tools file, in bytes.
const TOOLS_BYTES_MAX: u64 = 4 << 20;

/// The width of a text in an error.
const TEXT_COLUMNS: usize = 40;

/// Holds a conversation in which the model can use your tools.
///
/// Every step is recorded before it has an effect. Each tool of the file is a program: it gets its
/// arguments as JSON on standard input and prints its result as JSON. The tools of an MCP server
/// are those that it lists; a policy file (--policy) says which of them require approval.
///
/// Without --endpoint it connects to the service in the environment: Google AI with the key in
/// GOOGLE_API_KEY or GEMINI_API_KEY, or, if GOOGLE_GENAI_USE_VERTEXAI is true, Vertex with
/// GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION and GOOGLE_ACCESS_TOKEN, or a login of gcloud.
///
/// At a terminal it reads your words and asks for approvals. Without one it ends when the turn of
/// the model is over and nothing runs; requests for approval wait in the journal. With --keys the
/// records of the session are sealed.
#[derive(Args)]
pub(crate) struct Run {
    /// The tools, in TOML; fixtures/tools/support.toml is an example.
    #[arg(long, value_name = "FILE", required_unless_present = "mcp")]
    tools: Option<PathBuf>,
    #[command(flatten)]
    servers: Servers,
    /// The policies of the tools, in TOML or JSON, in place of those in the tools file; `recount
    /// policy schema` prints the schema.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The service to connect to, ws:// or wss://, such as the URL that `recount simulate` prints.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// The version of the service's API, such as v1 or v1alpha, if not the usual one.
    #[arg(long, value_name = "VERSION", conflicts_with = "endpoint")]
    api_version: Option<String>,
    /// The model.
    #[arg(long, default_value = "gemini-3.8-live")]
    model: String,
    /// The instruction for the model.
    #[arg(long, value_name = "TEXT")]
    instruction: Option<String>,
    /// A text for the model; several are sent turn by turn.
    #[arg(long, value_name = "TEXT")]
    text: Vec<String>,
    /// The journal: a directory, created if there is none, or postgres://… of a database.
    #[arg(long, value_name = "JOURNAL", default_value = "recount-journal")]
    journal: Location,
    #[command(flatten)]
    keys: Keys,
    /// Continues this session, in place of a new one: its id, or a unique beginning of it.
    #[arg(long, value_name = "SESSION")]
    resume: Option<String>,
    #[command(flatten)]
    alike: Alike,
}

impl Run {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let own = self.read_tools()?;
        let policies = self.policy.as_deref().map(policies::read).transpose()?;
        let endpoint = self.endpoint()?;
        let keys = self.keys.made()?;
        let by = os_user::actor(None)?;
        let stop = Stop::listen()?;
        let tools = self.all_tools(own, policies, &stop).await?;
        let ledger = self.ledger(keys.clone())?;
        let resumed = match &self.resume {
            Some(text) => Some(ids::session(&ledger, text).await?),
            None => None,
        };
        let name = self.agent_name(&ledger, resumed).await?;
        let agent = self.agent(tools, endpoint, keys.is_some());
        let shown = match resumed {
            Some(session) => ledger.load(session).await?.session.head,
            None => Seq(0),
        };
        let journal = ledger.journal().clone();
        let mut engine = opening::engine(journal, &self.journal).agent(&name, agent);
        if let Some(keys) = keys {
            engine = engine.keys(keys);
        }
        let engine = engine.open().await?;
        let outcome = async {
            let live = connect(&engine, &name, resumed, &stop).await?;
            let unsaid = self.converse(&live, shown, by, &stop, screen).await?;
            Ok::<_, Failure>((live.session_id(), unsaid))
        };
        let outcome = outcome.await;
        // The records stay, however the conversation ended.
        let shut = engine.shutdown(std::time::Duration::ZERO).await;
        let (session, unsaid) = outcome?;
        shut?;
        self.farewell(session, screen).await?;
        // At a terminal this is the normal end of a conversation. A script must learn that the
        // conversation was not complete.
        if stop.was_asked() && !prompt::is_interactive() {
            return Err(stopped());
        }
        not_all_said(&unsaid)
    }

    /// The tools of the file and the servers, with the policies of a policy file if one is given.
    async fn all_tools(
        &self,
        own: Toolset,
        policies: Option<PolicyChanges>,
        stop: &Stop,
    ) -> Result<Toolset, Failure> {
        let offered = tokio::select! {
            biased;
            () = stop.asked() => return Err(stopped()),
            offered = self.servers.tools() => offered?,
        };
        let tools = own | offered;
        let Some(policies) = policies else {
            return Ok(tools);
        };
        tools.with_policies(&policies).map_err(|error| {
            let what = one_line(&error.to_string()).into_owned();
            Failure::new("policy-file", what).exit(Exit::Usage)
        })
    }

    /// Opens the journal. Waits while another command has it open.
    fn ledger(&self, keys: Option<Arc<dyn KeyStore>>) -> Result<Ledger, Failure> {
        // Only a new session creates a journal. A session to resume needs an existing one.
        let is_new = self.resume.is_none();
        let journal: Arc<dyn Journal> = match &self.journal {
            Location::Path(directory) => {
                destination::outside_journals(directory)?;
                let options = opening::options(directory)?.create(is_new);
                Arc::new(options.program(PROGRAM).wait(PATIENCE).open()?)
            }
            Location::Database(database) if is_new => database.made()?,
            Location::Database(database) => database.writing()?,
        };
        let ledger = Ledger::new(journal);
        Ok(match keys {
            Some(keys) => ledger.with_keys(keys),
            None => ledger,
        })
    }

    fn agent(&self, tools: Toolset, endpoint: Endpoint, is_sealed: bool) -> Agent {
        let mut agent = Agent::new()
            .model(&self.model)
            .tools(tools)
            .connect_to(endpoint);
        if is_sealed {
            agent = agent.sealed();
        }
        if let Some(instruction) = &self.instruction {
            agent = agent.instruction(instruction);
        }
        agent
    }

    /// Holds the conversation until it is over, or until the program is asked to end.
    ///
    /// Returns the texts that were not sent.
    async fn converse(
        &self,
        live: &LiveHandle,
        shown: Seq,
        by: Actor,
        stop: &Stop,
        screen: &mut Screen,
    ) -> Result<VecDeque<String>, Failure> {
        let approvals = Approvals::of(self.alike);
        let mut texts = VecDeque::from(self.text.clone());
        let mut conversation = Conversation::new(live, shown, approvals, by, screen).await?;
        let held = conversation.hold(&mut texts, prompt::is_interactive(), screen);
        tokio::select! {
            biased;
            // The screen shows every record up to now.
            () = stop.asked() => conversation.show_new(screen).await?,
            held = held => held?,
        }
        Ok(texts)
    }

    fn read_tools(&self) -> Result<Toolset, Failure> {
        let Some(path) = &self.tools else {
            return Ok(Toolset::new());
        };
        let text =
            recount_text::files::given_file::text(path, TOOLS_BYTES_MAX).map_err(|error| {
                Failure::io(format!("read the tools in {}", path.display()), &error)
            })?;
        let tools = tools_file::parse(&text).map_err(|error| {
            let mistakes = count(error.mistakes.len(), "mistake");
            let what = format!("{} has {mistakes}:", path.display());
            let listed = error
                .mistakes
                .iter()
                .map(|it| format!("\n  - {}", one_line(it)));
            Failure::new(
                "tools-file",
                format!("{what}{}", listed.collect::<String>()),
            )
            .exit(Exit::Usage)
            .advice("fixtures/tools/support.toml is an example")
        })?;
        let named = tools.names().filter_map(|name| tools.get(name).cloned());
        Ok(named.fold(Toolset::new(), |all, tool| all | tool))
    }

    fn endpoint(&self) -> Result<Endpoint, Failure> {
        let endpoint = match &self.endpoint {
            Some(url) => Endpoint::url(url),
            None => Endpoint::from_env().map_err(|error| {
                Failure::new("no-endpoint", format!("without --endpoint URL: {error}"))
                    .exit(Exit::Usage)
                    .advice(
                        "to try it without a key: \
                         `recount simulate --script fixtures/scripts/two_tools.jsonl`",
                    )
            })?,
        };
        let endpoint = match &self.api_version {
            Some(version) => endpoint.api_version(version),
            None => endpoint,
        };
        let mistakes = endpoint.mistakes();
        if mistakes.is_empty() {
            return Ok(endpoint);
        }
        let what = format!(
            "cannot connect to {}: {}",
            endpoint.endpoint(),
            mistakes.join("; ")
        );
        let failure = Failure::new("no-endpoint", what).exit(Exit::Usage);
        Err(failure
            .advice("for example --endpoint ws://127.0.0.1:8787, as `recount simulate` prints it"))
    }

    /// The name of the agent: that of the resumed session, whatever program opened it.
    async fn agent_name(
        &self,
        ledger: &Ledger,
        resumed: Option<SessionId>,
    ) -> Result<String, Failure> {
        let Some(session) = resumed else {
            return Ok(AGENT.to_owned());
        };
        let opened = ledger.opened(session).await?;
        let (_, opened) = opened.ok_or(LedgerError::UnknownSession { session })?;
        Ok(opened.agent)
    }

    /// Shows the calls that wait, and the command to continue.
    async fn farewell(&self, session: SessionId, screen: &mut Screen) -> Result<(), Failure> {
        let ledger = self.keys.of(opening::reading(&self.journal)?)?;
        let pending = ledger.pending().await?;
        let paused = ledger.paused().await?;
        let path = self.journal.quoted();
        screen.line("")?;
        for request in pending.iter().filter(|it| it.session == session) {
            screen.line(&format!("{} is waiting for approval:", request.tool))?;
            let keys = self.keys.as_option();
            screen.line(&format!("  recount approve {path} {}{keys}", request.id))?;
        }
        for call in paused.iter().filter(|it| it.session == session) {
            screen.line(&format!(
                "{} is waiting for its result from outside:",
                call.tool
            ))?;
            let keys = self.keys.as_option();
            screen.line(&format!(
                "  recount respond-call {path} {}{keys} --response JSON",
                call.id
            ))?;
        }
        let mut tools = self.servers.again();
        for (option, file) in [("--tools", &self.tools), ("--policy", &self.policy)] {
            if let Some(file) = file {
                tools = format!("{tools} {option} {}", quoted(file));
            }
        }
        // The path or query of the URL may hold a token, which must not get into a shell history.
        let endpoint = self
            .endpoint
            .as_ref()
            .map(|url| Endpoint::url(url).endpoint());
        let endpoint = endpoint
            .map(|url| format!(" --endpoint {url}"))
            .unwrap_or_default();
        let version = self.api_version.as_ref();
        let version = version
            .map(|version| format!(" --api-version {}", quoted(Path::new(version))))
            .unwrap_or_default();
        screen.line("To continue:")?;
        screen.line(&format!(
            "  recount run{tools} --journal {path}{endpoint}{version} \\"
        ))?;
        let keys = self.keys.as_option();
        screen.line(&format!("    --resume {session}{keys}"))
    }
}

/// Connects a new session, or the one to resume.
async fn connect(
    engine: &Engine,
    name: &str,
    resumed: Option<SessionId>,
    stop: &Stop,
) -> Result<LiveHandle, Failure> {
    let Some(session) = resumed else {
        let live = engine.session(name).open().await?;
        let failure = tokio::select! {
            biased;
            () = stop.asked() => stopped(),
            connected = live.connect() => match connected {
                Ok(()) => return Ok(live),
                Err(error) => error.into(),
            },
        };
        // The id of the session was never shown, so the session must not stay open.
        let by = Actor::embedder(PROGRAM);
        let _ = live.close("there was no connection", by).await;
        return Err(failure);
    };
    tokio::select! {
        biased;
        () = stop.asked() => Err(stopped()),
        live = engine.resume(session) => Ok(live?),
    }
}

/// The failure for texts that were not sent. A person at a terminal has seen that already.
fn not_all_said(unsaid: &VecDeque<String>) -> Result<Exit, Failure> {
    let Some(first) = unsaid.front().filter(|_| !prompt::is_interactive()) else {
        return Ok(Exit::Ok);
    };
    let what = format!(
        "{} not sent, because the model did not end its turn; the first is {:?}",
        count(unsaid.len() as u64, "text"),
        cut(&one_line(first), TEXT_COLUMNS)
    );
    Err(Failure::new("not-said", what).advice("send the rest with --resume SESSION --text TEXT"))
}

fn stopped() -> Failure {
    Failure::new("stopped", "interrupted before the conversation was over")
}
