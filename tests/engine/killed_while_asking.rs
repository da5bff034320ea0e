//! A process is killed while one of its tools waits for an approver, or just after the answer.
//!
//! The next process cannot continue the run. So the request is withdrawn, and the rule of the tool
//! decides about the call. The body runs a second time only if the rule allows it. A file counts
//! the runs.

use std::future::pending;
use std::time::Duration;

use crate::child_process::{ChildProcess, obey, order, say};
use crate::outliving::Home;
use crate::store;
use recount::engine::Error;
use recount::ledger::PendingConfirmation;
use recount::prelude::*;
use recount::session::Outcome;
use recount::testing::ScriptedModel;
use serde_json::Map;
use tokio::runtime::Runtime;

const THIS_TEST: &str =
    "killed_while_asking::a_tool_killed_while_it_waits_runs_again_only_by_its_rule";
const MODEL: &str = r#"
{"on": {"text": "please pay"}, "send": [{"call": [{"id": "c", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": "otherwise", "once": false, "send": [{"say": "Understood."}]}
"#;

#[test]
fn a_tool_killed_while_it_waits_runs_again_only_by_its_rule() {
    if let Some(order) = order() {
        let home = Home::named_in(&order);
        let rule: InDoubt = serde_json::from_value(order["rule"].clone()).unwrap();
        return obey(async {
            match &order["asked"] {
                Value::Null => first_life(&home, rule, order["answered"] == true).await,
                asked => {
                    second_life(&home, rule, serde_json::from_value(asked.clone()).unwrap()).await
                }
            }
        });
    }
    let again = concat!(
        r#"Your earlier call pay({"cents":4200}) has an outcome: the tool returned. Response: "#,
        r#"{"paid_in":2}"#,
    );
    for (rule, asked_in_the_second, outcome, words) in [
        (
            InDoubt::SettleUnknown,
            json!([]),
            Outcome::Unknown,
            "unknown_outcome",
        ),
        (InDoubt::Retry, json!(["tool"]), Outcome::Returned, again),
        (
            InDoubt::Ask,
            json!(["in_doubt", "tool"]),
            Outcome::Returned,
            again,
        ),
    ] {
        for answered in [false, true] {
            let place = tempfile::tempdir().unwrap();
            let home = Home::at(place.path());
            let mut order = json!({"home": home.name(), "rule": rule, "answered": answered});
            let mut first = ChildProcess::start(THIS_TEST, &order);
            let asked = first.until("asked");
            if answered {
                first.until("goes on");
            }
            first.kill();

            order["asked"] = json!(asked);
            let mut second = ChildProcess::start(THIS_TEST, &order);
            let late = if answered {
                "already_answered"
            } else {
                "request_withdrawn"
            };
            assert_eq!(second.until("late"), late, "{rule:?}");
            let questions: Value = serde_json::from_str(&second.until("asks about")).unwrap();
            assert_eq!(questions, asked_in_the_second, "{rule:?}");
            let told = second.until("told");
            assert!(told.contains(words), "{rule:?}: {told}");
            second.end();

            let mut ran = vec!["asks in 1"];
            ran.extend(answered.then_some("goes on in 1"));
            if rule != InDoubt::SettleUnknown {
                ran.extend(["asks in 2", "goes on in 2"]);
            }
            let noted = home.noted();
            assert_eq!(noted.values().collect::<Vec<_>>(), [&ran], "{rule:?}");
            let ended = Runtime::new().unwrap().block_on(async {
                let (ledger, sessions) = home.on_record().await;
                let folded = ledger.load(sessions[0]).await.unwrap().session;
                assert!(folded.calls.is_empty(), "{:?}", folded.calls);
                folded.settled.values().next().unwrap().outcome
            });
            assert_eq!(ended, outcome);
        }
    }
}

/// The model calls, the tool asks, and the request may be answered. The process then waits to be
/// killed.
async fn first_life(home: &Home, rule: InDoubt, answered: bool) {
    let engine = open(home, rule, &ScriptedModel::parse(MODEL).unwrap()).await;
    let live = engine.session("till").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("Please pay.").await.unwrap();
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    asked.await.unwrap();
    let asked = live.pending().await.unwrap()[0].id;
    say(format!("asked {asked}"));
    if answered {
        agree(&engine, asked).await.unwrap();
    }
    pending::<()>().await;
}

/// The engine resumes the session by itself, and every new request is confirmed.
///
/// It ends once the call has ended and the model has its outcome. The earlier request accepts no
/// answer.
async fn second_life(home: &Home, rule: InDoubt, before: RequestId) {
    let model = ScriptedModel::parse(MODEL).unwrap();
    let engine = open(home, rule, &model).await;
    let session = engine.sessions().await.unwrap()[0].id;
    let mut asked: Vec<PendingConfirmation> = Vec::new();
    while engine
        .ledger()
        .load(session)
        .await
        .unwrap()
        .session
        .settled
        .is_empty()
    {
        for question in engine.pending().await.unwrap() {
            let is_new = asked.iter().all(|it| it.id != question.id);
            if is_new && question.id != before {
                agree(&engine, question.id).await.unwrap();
                asked.push(question);
            }
        }
        tokio::task::yield_now().await;
    }
    let Err(Error::Refused(refused)) = agree(&engine, before).await else {
        panic!("the answer to a question of a dead tool counts");
    };
    say(format!("late {}", refused.code()));
    let about: Vec<_> = asked.iter().map(|it| it.about).collect();
    say(format!("asks about {}", json!(about)));
    let live = engine.resume(session).await.unwrap();
    let mut updates = live.subscribe();
    while !live.session().await.unwrap().deliveries.is_empty() {
        updates.next().await;
    }
    let transcript = model.transcript();
    let told: Vec<String> = transcript.told().map(|(_, words)| words).collect();
    say(format!("told {}", told.join(" ")));
    engine.shutdown(Duration::ZERO).await.unwrap();
}

async fn agree(engine: &Engine, request: RequestId) -> Result<(), Error> {
    let yes = ToolConfirmation::confirmed();
    let answer = engine.answer(request, yes, Actor::embedder("ada"));
    answer.await.map(drop)
}

async fn open(home: &Home, rule: InDoubt, model: &ScriptedModel) -> Engine {
    let witness = home.clone();
    let pay = TypedTool::with_context("pay", "Pays", move |_: Map<String, Value>, context| {
        paying(witness.clone(), context)
    });
    let agent = Agent::new()
        .model("m")
        .tools(T::in_doubt(pay, rule))
        .connect_to(model.clone());
    let engine = store::engine(home.journal()).agent("till", agent);
    engine.open().await.unwrap()
}

/// A tool that asks within its run. The first attempt never ends.
async fn paying(witness: Home, context: ToolContext) -> Result<Value, ToolError> {
    let attempt = context.attempt;
    witness.note(context.session, format!("asks in {attempt}"));
    context.request_confirmation("Pay this?").await?;
    witness.note(context.session, format!("goes on in {attempt}"));
    if attempt == 1 {
        say("goes on");
        pending::<()>().await;
    }
    Ok(json!({"paid_in": attempt}))
}
