//! The state that outlives a process: the journal, the clock, the model, and the list of runs.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::surviving::SurvivingJournal;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::replay;
use recount::session::{Event, Fact, Outcome, Seq, Session};
use recount::simulator::Standing;
use recount::testing::{Life, ManualClock, ScriptedModel};

/// The model calls `pay` when it is asked to settle, and answers every other text.
pub(crate) const PAY: &str = r#"
{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": {"text": "stop"}, "send": [{"cancel": ["c1"]}]}
{"on": {"responses_to": ["c1"]}, "send": [{"say": "Noted."}]}
{"on": "otherwise", "send": [{"say": "Understood."}]}
"#;

pub(crate) struct World {
    pub(crate) journal: Arc<SurvivingJournal>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) model: ScriptedModel,
    pub(crate) till: Till,
}

impl World {
    pub(crate) fn new() -> World {
        World::with(PAY)
    }

    /// A world whose model plays `script`.
    pub(crate) fn with(script: &str) -> World {
        World {
            journal: SurvivingJournal::new(),
            clock: ManualClock::new(),
            model: ScriptedModel::parse(script).unwrap(),
            till: Till::default(),
        }
    }

    /// An agent with this tool and the connection to the model.
    pub(crate) fn agent(&self, tool: impl Into<Toolset>) -> Agent {
        Agent::new()
            .model("m")
            .tools(tool)
            .connect_to(self.model.clone())
    }

    /// A process with this agent.
    pub(crate) fn life(&self, agent: Agent) -> Life {
        Life::begin(&self.journal, &self.clock, [("support", agent)])
    }

    /// A process that starts a session in which the model calls `pay`.
    pub(crate) fn asked_to_pay(&self, tool: impl Into<Toolset>) -> (Life, LiveHandle) {
        let life = self.life(self.agent(tool));
        let live = self.ask_to_pay(&life);
        (life, live)
    }

    /// Begins a session in this process and has the model call `pay`.
    pub(crate) fn ask_to_pay(&self, life: &Life) -> LiveHandle {
        let live = life.run(async {
            let live = life.engine().session("support").connect().await.unwrap();
            live.send_text("Please settle my bill.").await.unwrap();
            live
        });
        life.settle();
        live
    }

    /// The id of the only session.
    pub(crate) fn session(&self) -> SessionId {
        let ledger = Ledger::new(self.journal.clone());
        let sessions = wait(ledger.sessions()).unwrap();
        assert_eq!(sessions.len(), 1);
        sessions[0].id
    }

    /// The session folded from the journal.
    pub(crate) fn folded(&self) -> Session {
        let ledger = Ledger::new(self.journal.clone());
        wait(ledger.load(self.session())).unwrap().session
    }

    pub(crate) fn facts(&self) -> Vec<Fact> {
        let ledger = Ledger::new(self.journal.clone());
        wait(ledger.facts(self.session(), Seq(1), 10_000)).unwrap()
    }

    /// The number of recorded events of this kind.
    pub(crate) fn count(&self, kind: &str) -> usize {
        let facts = self.facts();
        facts.iter().filter(|it| it.event.kind() == kind).count()
    }

    /// The outcome of the only call. Asserts that the journal replays and no call is open.
    pub(crate) fn outcome(&self) -> Outcome {
        let ledger = Ledger::new(self.journal.clone());
        let replayed = wait(replay::verify(&ledger, self.session())).unwrap();
        assert_eq!(replayed.diverged, None);
        let session = self.folded();
        assert!(session.calls.is_empty(), "{:?}", session.calls);
        assert_eq!(session.settled.len(), 1);
        session.settled.values().next().unwrap().outcome
    }

    /// The outcomes of earlier calls that the model received as text on this connection.
    pub(crate) fn told(&self, connection: u32) -> Vec<String> {
        let transcript = self.model.transcript();
        let outcomes = transcript
            .told()
            .filter(|(on, text)| on.0 == connection && text.starts_with("[tool outcome]"));
        outcomes.map(|(_, text)| text).collect()
    }

    /// The responses that the model received, as JSON, without notices that a call waits.
    pub(crate) fn answered(&self) -> Vec<String> {
        let transcript = self.model.transcript();
        let texts = transcript.answers().filter_map(|(_, response, standing)| {
            let body = response.response.as_ref().unwrap().as_str();
            if body.contains("awaiting_confirmation") {
                assert_eq!(standing, Standing::Continues, "{response:?}");
                return None;
            }
            assert_eq!(standing, Standing::Accepted, "{response:?}");
            Some(body.to_owned())
        });
        texts.collect()
    }

    /// The number of connections that the model has seen.
    pub(crate) fn connections(&self) -> usize {
        self.model.transcript().connections()
    }
}

/// Runs a future over an in-memory journal, which is ready at once.
pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    recount::journal::block_on(work)
}

/// The only pending request in the engine's list.
pub(crate) fn waiting(life: &Life) -> RequestId {
    let pending = life.run(life.engine().pending()).unwrap();
    assert_eq!(pending.len(), 1, "{pending:?}");
    pending[0].id
}

/// Approves as ada, and lets everything run that follows.
pub(crate) fn approve(life: &Life, request: RequestId) -> Result<Seq, recount::engine::Error> {
    answer(life, request, ToolConfirmation::confirmed())
}

/// Answers as ada, and lets everything run that follows.
pub(crate) fn answer(
    life: &Life,
    request: RequestId,
    confirmation: ToolConfirmation,
) -> Result<Seq, recount::engine::Error> {
    let engine = life.engine();
    let seq = life.run(engine.answer(request, confirmation, Actor::embedder("ada")));
    life.settle();
    seq
}

/// Resumes the session on a new connection.
pub(crate) fn resume(life: &Life, session: SessionId) -> LiveHandle {
    let live = life.run(life.engine().resume(session)).unwrap();
    life.settle();
    live
}

/// A test if an event is of this kind.
pub(crate) fn is(kind: &'static str) -> impl Fn(&Event) -> bool {
    move |event| event.kind() == kind
}

/// The runs of the tool `pay`, kept outside of its process.
#[derive(Clone, Default)]
pub(crate) struct Till {
    runs: Arc<Mutex<Vec<(u32, String)>>>,
    dropped: Arc<AtomicUsize>,
}

impl Till {
    /// A tool that pays at once.
    pub(crate) fn pays(&self) -> Pay {
        Pay {
            till: self.clone(),
            ends: true,
        }
    }

    /// A tool that starts to pay and never ends.
    pub(crate) fn hangs(&self) -> Pay {
        Pay {
            till: self.clone(),
            ends: false,
        }
    }

    /// The attempt and the idempotency key of each run.
    pub(crate) fn runs(&self) -> Vec<(u32, String)> {
        self.runs.lock().unwrap().clone()
    }

    /// The attempt of each run.
    pub(crate) fn attempts(&self) -> Vec<u32> {
        self.runs()
            .into_iter()
            .map(|(attempt, _)| attempt)
            .collect()
    }

    /// The number of runs that were dropped before they ended.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }
}

/// The tool `pay`.
pub(crate) struct Pay {
    till: Till,
    ends: bool,
}

struct Unfinished(Arc<AtomicUsize>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl ToolFunction for Pay {
    fn name(&self) -> &str {
        "pay"
    }

    fn description(&self) -> &str {
        "Pays"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn call(&self, _args: Value) -> Result<Value, ToolError> {
        Err(ToolError::Other("it is called with a context".into()))
    }

    async fn call_with_context(
        &self,
        _args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let run = (context.attempt, context.idempotency_key());
        self.till.runs.lock().unwrap().push(run);
        if !self.ends {
            let _unfinished = Unfinished(self.till.dropped.clone());
            pending::<()>().await;
        }
        Ok(json!({"paid": true}))
    }
}
