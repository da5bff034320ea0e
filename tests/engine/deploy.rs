//! A deploy while a thousand sessions wait for approval: their process is killed, and a new version
//! of the program starts with other tools.
//!
//! A request under a contract that still holds is approved and runs once, in the body of the new
//! version. A reworded description does not matter. If the contract has changed, the approver
//! learns so and is asked again. If the tool is gone, the approver learns so, and the request waits
//! for a version with the tool. A file outside of the processes counts the runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::child_process::{ChildProcess, obey, order, say};
use crate::outliving::Home;
use crate::store;
use async_trait::async_trait;
use futures_util::future::join_all;
use recount::engine::Error;
use recount::ledger::PendingConfirmation;
use recount::prelude::*;
use recount::session::{Event, Observation, Outcome, Rejection, Seq};
use recount::testing::ScriptedModel;
use tokio::runtime::Runtime;

const THIS_TEST: &str = "deploy::waiting_call_survives_deploy_and_runs_once_if_contract_holds";
const SESSIONS: usize = 1_000;
/// The number of sessions that act at the same time.
const AT_ONCE: usize = 50;

/// The tools. In the second version, in this order: another body, another description, another
/// contract, missing.
const TOOLS: [&str; 4] = ["refund", "notify", "pay", "ship"];

const MODEL: &str = r#"
{"on": {"text": "refund"}, "once": false, "send": [{"call": [{"id": "c", "name": "refund", "args": {"cents": 4200}}]}]}
{"on": {"text": "notify"}, "once": false, "send": [{"call": [{"id": "c", "name": "notify", "args": {"cents": 4200}}]}]}
{"on": {"text": "pay"}, "once": false, "send": [{"call": [{"id": "c", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": {"text": "ship"}, "once": false, "send": [{"call": [{"id": "c", "name": "ship", "args": {"cents": 4200}}]}]}
{"on": "otherwise", "once": false, "send": [{"say": "Understood."}]}
"#;

#[test]
fn waiting_call_survives_deploy_and_runs_once_if_contract_holds() {
    if let Some(order) = order() {
        let home = Home::named_in(&order);
        return obey(async {
            match order["version"].as_u64().unwrap() {
                1 => first_version(&home).await,
                2 => second_version(&home).await,
                _ => third_version(&home).await,
            }
        });
    }
    let begun = Instant::now();
    let place = tempfile::tempdir().unwrap();
    let home = Home::at(place.path());
    let start = |version: u32| {
        let order = json!({"home": home.name(), "version": version});
        ChildProcess::start(THIS_TEST, &order)
    };
    let mut first = start(1);
    first.until("all wait");
    first.kill();
    assert!(home.noted().is_empty());

    let mut second = start(2);
    let denied: BTreeSet<SessionId> = serde_json::from_str(&second.until("denied")).unwrap();
    second.end();
    let mut third = start(3);
    third.until("approved what was stranded");
    third.end();

    let ran = home.noted();
    let expected = Runtime::new().unwrap().block_on(on_record(&home));
    assert_eq!(expected.len(), SESSIONS);
    for (session, (tool, outcome)) in &expected {
        let version = if tool == "ship" { "v3" } else { "v2" };
        let line = format!("{version} {tool}");
        match ran.get(session) {
            Some(lines) => {
                assert_eq!((lines, *outcome), (&vec![line], Outcome::Returned));
            }
            None => {
                assert!(denied.contains(session), "{tool} of {session} never ran");
                assert_eq!(*outcome, Outcome::Denied);
            }
        }
    }
    assert_eq!(ran.len() + denied.len(), SESSIONS);
    println!(
        "{SESSIONS} sessions over three versions: {} ran once, {} denied, {:.1} s",
        ran.len(),
        denied.len(),
        begun.elapsed().as_secs_f64()
    );
}

/// Runs the first version: a thousand sessions ask for approval.
async fn first_version(home: &Home) {
    let engine = open(home, 1).await;
    let mut lives = Vec::new();
    for first in (0..SESSIONS).step_by(AT_ONCE) {
        let asked = (first..first + AT_ONCE).map(|n| ask(&engine, TOOLS[n % TOOLS.len()]));
        lives.extend(join_all(asked).await);
    }
    assert_eq!(engine.pending().await.unwrap().len(), SESSIONS);
    say("all wait");
    // The process is killed here, with every connection open.
    std::future::pending::<()>().await;
    drop(lives);
}

async fn ask(engine: &Engine, tool: &str) -> LiveHandle {
    let live = engine.session("support").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text(format!("Please {tool}.")).await.unwrap();
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    asked.await.unwrap();
    live
}

/// Runs the second version: it lists all requests and approves those whose contract holds.
///
/// For the others the approver learns the reason.
async fn second_version(home: &Home) {
    let engine = open(home, 2).await;
    let listed = engine.pending().await.unwrap();
    assert_eq!(listed.len(), SESSIONS);
    for tool in TOOLS {
        assert_eq!(of(&listed, tool).count(), SESSIONS / TOOLS.len());
    }
    let mut told: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (request, answer) in approve(&engine, &listed).await {
        let said = match answer {
            Ok(_) => "approved",
            Err(Error::Refused(refused @ Rejection::ToolGone { .. })) => {
                assert!(
                    refused
                        .to_string()
                        .contains(r#"has no tool "ship" any more"#)
                );
                "tool_gone"
            }
            Err(Error::Refused(refused @ Rejection::RequestSuperseded { .. })) => {
                assert!(refused.to_string().contains("the tool has changed"));
                "superseded"
            }
            Err(error) => panic!("{}: {error}", request.tool),
        };
        *told.entry((&request.tool, said)).or_default() += 1;
    }
    let quarter = SESSIONS / TOOLS.len();
    let expected = BTreeMap::from([
        (("refund", "approved"), quarter),
        (("notify", "approved"), quarter),
        (("pay", "superseded"), quarter),
        (("ship", "tool_gone"), quarter),
    ]);
    assert_eq!(told, expected);

    // An approver answers the new requests, and the answers count.
    let asked_anew = engine.pending().await.unwrap();
    assert_eq!(asked_anew.len(), 2 * quarter);
    let before = of(&listed, "pay").next().unwrap();
    for now in of(&asked_anew, "pay") {
        assert_ne!((now.id, now.contract), (before.id, before.contract));
        assert_eq!(now.args, before.args);
    }
    let (pay, ship): (Vec<_>, Vec<_>) = asked_anew.into_iter().partition(|it| it.tool == "pay");
    for (request, answer) in approve(&engine, &pay).await {
        answer.unwrap_or_else(|error| panic!("{}: {error}", request.tool));
    }
    // A denial needs no tool. The other half of the requests stays open.
    let denied: Vec<_> = ship.iter().take(ship.len() / 2).collect();
    for request in &denied {
        let no = ToolConfirmation::denied("we do not ship any more");
        let answer = engine.answer(request.id, no, Actor::embedder("ada"));
        answer.await.unwrap();
    }
    engine.shutdown(Duration::from_secs(60)).await.unwrap();
    let denied: Vec<_> = denied.iter().map(|it| it.session).collect();
    say(format!("denied {}", json!(denied)));
}

/// Runs the third version, in which the missing tool and its open requests are available again.
async fn third_version(home: &Home) {
    let engine = open(home, 3).await;
    let listed = engine.pending().await.unwrap();
    assert_eq!(listed.len(), SESSIONS / TOOLS.len() / 2);
    for (request, answer) in approve(&engine, &listed).await {
        answer.unwrap_or_else(|error| panic!("{}: {error}", request.tool));
    }
    engine.shutdown(Duration::from_secs(60)).await.unwrap();
    say("approved what was stranded");
}

fn of<'r>(
    listed: &'r [PendingConfirmation],
    tool: &'r str,
) -> impl Iterator<Item = &'r PendingConfirmation> {
    listed.iter().filter(move |it| it.tool == tool)
}

/// Approves requests, and waits until the approved calls have run.
async fn approve<'r>(
    engine: &Engine,
    requests: &'r [PendingConfirmation],
) -> Vec<(&'r PendingConfirmation, Result<Seq, Error>)> {
    let mut answers = Vec::new();
    for some in requests.chunks(AT_ONCE) {
        let some = some.iter().map(async |request| {
            let mut updates = engine.subscribe();
            let yes = ToolConfirmation::confirmed();
            let answer = engine.answer(request.id, yes, Actor::embedder("ada"));
            let answer = answer.await;
            while answer.is_ok() {
                let recorded = updates.next().await.unwrap();
                let ended = recorded.fact.event.kind() == "tool_returned";
                if recorded.session == request.session && ended {
                    break;
                }
            }
            (request, answer)
        });
        answers.extend(join_all(some).await);
    }
    answers
}

async fn open(home: &Home, version: u32) -> Engine {
    let agent = Agent::new()
        .model("m")
        .tools(tools(version, home))
        .connect_to(ScriptedModel::parse(MODEL).unwrap());
    let engine = store::engine(home.journal()).agent("support", agent);
    engine.open().await.unwrap()
}

/// The tools of one version of the program.
fn tools(version: u32, home: &Home) -> Toolset {
    let tool = |name, description| {
        Toolset::from(Noting {
            name,
            description,
            parameters: parameters(version >= 2 && name == "pay"),
            version,
            witness: home.clone(),
        })
    };
    let notify = match version {
        1 => "Tells the customer",
        _ => "Tells the customer, by letter",
    };
    let mut tools = tool("refund", "Refunds") | tool("notify", notify) | tool("pay", "Pays");
    if version != 2 {
        tools = tools | tool("ship", "Ships");
    }
    if version != 1 {
        tools = tools | tool("audit", "Looks into it");
    }
    tools
}

fn parameters(with_currency: bool) -> Value {
    let mut properties = json!({"cents": {"type": "integer"}});
    if with_currency {
        properties["currency"] = json!({"type": "string"});
    }
    json!({"type": "object", "properties": properties})
}

/// A tool that appends a line to a file outside of its process.
struct Noting {
    name: &'static str,
    description: &'static str,
    parameters: Value,
    version: u32,
    witness: Home,
}

#[async_trait]
impl ToolFunction for Noting {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn parameters(&self) -> Option<Value> {
        Some(self.parameters.clone())
    }

    async fn call(&self, _args: Value) -> Result<Value, ToolError> {
        Err(ToolError::Other("it is called with a context".into()))
    }

    async fn call_with_context(
        &self,
        _args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let line = format!("v{} {}", self.version, self.name);
        self.witness.note(context.session, line);
        Ok(json!({"done": true}))
    }

    fn requires_confirmation(&self) -> bool {
        true
    }
}

/// The called tool of each session, and the outcome of the call.
async fn on_record(home: &Home) -> BTreeMap<SessionId, (String, Outcome)> {
    let (ledger, sessions) = home.on_record().await;
    let mut ended = BTreeMap::new();
    for session in sessions {
        let folded = ledger.load(session).await.unwrap().session;
        assert!(folded.calls.is_empty(), "{:?}", folded.calls);
        let outcome = folded.settled.values().next().unwrap().outcome;
        let called = ledger.facts(session, Seq(1), 100).await;
        let name = called.unwrap().iter().find_map(|fact| match &fact.event {
            Event::Observed(Observation::FunctionCallReceived(it)) => it.name.clone(),
            Event::Observed(_) | Event::Decided(_) => None,
        });
        ended.insert(session, (name.unwrap(), outcome));
    }
    ended
}
