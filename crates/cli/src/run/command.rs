//! The command `recount run`: its options, the engine that it starts, and the end.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use recount_journal::seal::KeyStore;

use super::approvals::{Alike, Approvals};
use super::conversation::Conversation;
use super::servers::Servers;
use crate::failures::{Exit, Failure};
use crate::files::{destination, policies};
use crate::journal::{Keys, PATIENCE, ids, opening, os_user};
use crate::terminal::{Screen, Stop, prompt};
use crate::text::{count, cut, one_line, quoted};
use recount::engine::{Agent, Engine, LiveHandle, PROGRAM};
use recount::ledger::{Error as LedgerError, Ledger};
use recount::live::{Connector, Endpoint};
use recount::session::{Actor, PolicyChanges, Seq, SessionId};
use recount::tool::{Toolset, tools_file};

/// The name under which the journal knows this command's sessions.
const AGENT: &str = "run";

/// The maximum length of a file of tools, in bytes.
const TOOLS_BYTES_MAX: u64 = 4 << 20;

/// The width of a text in an error.
const TEXT_COLUMNS: usize = 40;

/// Holds a conversation in which the model may use your tools.
///
/// Every step is on record before it has an effect. Each tool of the file is a program: arguments
/// as JSON on its standard input, the result as JSON on its standard output. The tools of an MCP
/// server are those that it lists; a file of policies (--policy) says which of them ask for
/// approval. Without --endpoint the environment says where to: Google AI with the key in
/// GOOGLE_API_KEY or GEMINI_API_KEY, or, where GOOGLE_GENAI_USE_VERTEXAI is true, Vertex with
/// GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION and GOOGLE_ACCESS_TOKEN, or a login of gcloud. On a
/// terminal it reads what you say and asks for approvals; without one it ends when the model's turn
/// is over and nothing runs, and what asks for approval waits in the journal. With --keys the
/// session's bodies are sealed.
#[derive(Args)]
pub(crate) struct Run {
    /// The tools, in TOML: fixtures/tools/support.toml shows how.
    #[arg(long, value_name = "FILE", required_unless_present = "mcp")]
    tools: Option<PathBuf>,
    #[command(flatten)]
    servers: Servers,
    /// What holds for the tools, in TOML or JSON, in the place of what was said of them:
    /// `recount policy schema` prints what may stand there.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Where to connect, ws:// or wss://, such as the URL that `recount simulate` prints.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// The version of the service's API, such as v1 or v1alpha, where it is not the usual one.
    #[arg(long, value_name = "VERSION", conflicts_with = "endpoint")]
    api_version: Option<String>,
    /// The model.
    #[arg(long, default_value = "gemini-3.8-live")]
    model: String,
    /// What the model is told to be.
    #[arg(long, value_name = "TEXT")]
    instruction: Option<String>,
    /// What to say; several are said in turn.
    #[arg(long, value_name = "TEXT")]
    text: Vec<String>,
    /// The directory of the journal, made if there is none.
    #[arg(long, value_name = "DIR", default_value = "recount-journal")]
    journal: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// Goes on with this session, in place of a new one: its id, or a unique beginning of it.
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
        let told = match resumed {
            Some(session) => ledger.load(session).await?.session.head,
            None => Seq(0),
        };
        let mut engine = Engine::builder(&self.journal)
            .journal(ledger.journal().clone())
            .control(&self.journal)
            .agent(&name, agent);
        if let Some(keys) = keys {
            engine = engine.keys(keys);
        }
        let engine = engine.open().await?;
        let outcome = async {
            let live = connect(&engine, &name, resumed, &stop).await?;
            let unsaid = self.converse(&live, told, by, &stop, screen).await?;
            Ok::<_, Failure>((live.session_id(), unsaid))
        };
        let outcome = outcome.await;
        // What is on record stays, however the conversation ended.
        let shut = engine.shutdown(std::time::Duration::ZERO).await;
        let (session, unsaid) = outcome?;
        shut?;
        self.farewell(session, screen).await?;
        // At a terminal it is how a conversation ends; whoever is not there must learn that not all
        // was said and done.
        if stop.was_asked() && !prompt::is_interactive() {
            return Err(stopped());
        }
        not_all_said(&unsaid)
    }

    /// The tools of the file and of the servers, under the policies if a file of them is given.
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

    /// The journal, which waits for another command that has it open.
    fn ledger(&self, keys: Option<Arc<dyn KeyStore>>) -> Result<Ledger, Failure> {
        destination::outside_journals(&self.journal)?;
        // A session to resume is in a journal that is there; only a new one may make a new journal.
        let journal = opening::options(&self.journal)?
            .create(self.resume.is_none())
            .program(PROGRAM)
            .wait(PATIENCE)
            .open()?;
        let ledger = Ledger::new(Arc::new(journal));
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

    /// Holds the conversation until it is over, or the program is asked to end. Returns the texts
    /// that were not said.
    async fn converse(
        &self,
        live: &LiveHandle,
        told: Seq,
        by: Actor,
        stop: &Stop,
        screen: &mut Screen,
    ) -> Result<VecDeque<String>, Failure> {
        let approvals = Approvals::of(self.alike);
        let mut texts = VecDeque::from(self.text.clone());
        let mut conversation = Conversation::new(live, told, approvals, by, screen).await?;
        let held = conversation.hold(&mut texts, prompt::is_interactive(), screen);
        tokio::select! {
            biased;
            // The screen shows all that is on record by now.
            () = stop.asked() => conversation.tell(screen).await?,
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
            let what = format!("{} has {} mistakes:", path.display(), error.mistakes.len());
            let listed = error
                .mistakes
                .iter()
                .map(|it| format!("\n  - {}", one_line(it)));
            Failure::new(
                "tools-file",
                format!("{what}{}", listed.collect::<String>()),
            )
            .exit(Exit::Usage)
            .advice("fixtures/tools/support.toml shows how it is done")
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
                    .advice("for a try without a key: `recount simulate --script fixtures/scripts/two_tools.jsonl`")
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
            .advice("such as --endpoint ws://127.0.0.1:8787, which `recount simulate` prints"))
    }

    /// A session is served by the agent it names, whatever program it was opened by.
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

    /// What is still open, and how to go on.
    async fn farewell(&self, session: SessionId, screen: &mut Screen) -> Result<(), Failure> {
        let ledger = self.keys.of(opening::reading(&self.journal)?)?;
        let pending = ledger.pending().await?;
        let paused = ledger.paused().await?;
        let path = quoted(&self.journal);
        screen.line("")?;
        for request in pending.iter().filter(|it| it.session == session) {
            screen.line(&format!("{} waits for approval:", request.tool))?;
            let keys = self.keys.as_option();
            screen.line(&format!("  recount approve {path} {}{keys}", request.id))?;
        }
        for call in paused.iter().filter(|it| it.session == session) {
            screen.line(&format!("{} waits for its result from outside:", call.tool))?;
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
        // A path or query of the URL may hold a token, which must not end up in a history of
        // commands.
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
        screen.line("To go on:")?;
        screen.line(&format!(
            "  recount run{tools} --journal {path}{endpoint}{version} \\"
        ))?;
        let keys = self.keys.as_option();
        screen.line(&format!("    --resume {session}{keys}"))
    }
}

/// A new session, or the one that is to go on.
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
        // Nobody has seen its name, so it must not stay open.
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

/// A program that gave several texts must learn that not all were said. A person at a terminal has
/// seen it.
fn not_all_said(unsaid: &VecDeque<String>) -> Result<Exit, Failure> {
    let Some(first) = unsaid.front().filter(|_| !prompt::is_interactive()) else {
        return Ok(Exit::Ok);
    };
    let what = format!(
        "{} not said, because the model did not end its turn: the first was {:?}",
        count(unsaid.len() as u64, "text"),
        cut(&one_line(first), TEXT_COLUMNS)
    );
    Err(Failure::new("not-said", what).advice("say what is left with --resume SESSION --text TEXT"))
}

fn stopped() -> Failure {
    Failure::new("stopped", "asked to end before the conversation was over")
}
