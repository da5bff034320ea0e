//! The scenarios of the corpus in `fixtures/journals/`: every version runs them, and their files
//! are written once.
//!
//! A file of the corpus is never written again: one version wrote it, and every later version reads
//! it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use recount::engine::Reconnects;
use recount::journal::export;
use recount::ledger::{Ledger, PauseTarget};
use recount::live::{ConnectError, Connection, Connector};
use recount::prelude::*;
use recount::replay;
use recount::session::{Finding, RULES, ToolPolicy};
use recount::testing::{Life, ScriptedModel};
use recount::tool::{Ask, LlmAgent, LlmReply, LlmSaid, ScriptedLlm, ToolOutcome};

use crate::restart::clients;
use crate::restart::world::{World, answer, approve, resume, wait, waiting};

/// A scenario: it runs its processes and returns their world.
type Scenario = fn() -> World;

/// All scenarios by name.
const SCENARIOS: &[(&str, Scenario)] = &[
    ("approved", approved),
    ("denied", denied),
    ("expired", expired),
    ("answered_twice", answered_twice),
    ("answered_while_folded_and_told_on_resume", parked),
    ("asked_anew_because_the_contract_changed", reopened),
    ("gates_waived", gates_waived),
    ("cut_off_and_unknown", unknown),
    ("cut_off_and_retried", retried),
    ("cut_off_asked_and_approved", doubt_approved),
    ("cut_off_asked_and_denied", doubt_denied),
    ("cut_off_asked_and_settled_as_done", doubt_settled_as_done),
    (
        "cut_off_asked_and_settled_as_failed",
        doubt_settled_as_failed,
    ),
    ("cut_off_unknown_and_reconciled", reconciled),
    ("cancelled_by_the_model", cancelled_by_the_model),
    ("withdrawn_by_the_model", withdrawn_by_the_model),
    ("cancelled_by_an_operator", cancelled_by_an_operator),
    ("closed_while_a_person_is_asked", closed),
    ("timed_out", timed_out),
    ("answered_by_the_program_and_heard", by_hand),
    ("long_running_over_a_restart", long_running),
    ("long_running_with_news", long_running_with_news),
    ("not_found_invalid_malformed_and_failed", flawed),
    (
        "connection_lost_before_the_model_was_heard",
        connection_lost,
    ),
    ("asked_by_the_tool_over_a_restart", asked_by_the_tool),
    ("asked_where_the_tool_stood_and_cut_off", asked_in_place),
    (
        "asked_because_the_program_said_so_after_a_restart",
        gated_by_program,
    ),
    (
        "an_agent_whose_call_was_approved_after_a_restart",
        agent_over_a_restart,
    ),
    ("small_talk", small_talk),
    ("every_policy_and_a_restart", crate::restart::debt::scenario),
    ("connections_left_refused_lost_and_given_up", connections),
    ("paused_over_a_restart", paused),
    (
        "limits_of_asking_over_a_restart",
        crate::restart::limits_of_asking::scenario,
    ),
    (
        "tools_changed_while_a_request_waits",
        crate::tools_changed::scenario,
    ),
    (
        "called_with_a_key_over_a_restart",
        crate::tools_changed::keyed_scenario,
    ),
    (
        "claimed_by_a_client_over_a_restart",
        clients::finished_over_a_restart,
    ),
    (
        "claimed_given_back_and_offered_again",
        clients::offered_again,
    ),
    (
        "claimed_and_reported_after_the_lease",
        clients::reported_after_the_lease,
    ),
    (
        "standing_leave_over_a_restart_until_revoked",
        crate::restart::leave::scenario,
    ),
    (
        "approved_by_two_over_a_restart",
        crate::restart::quorum::scenario,
    ),
];

/// Set by hand to write the file of a new scenario. An existing file is never written again.
const WRITE: &str = "RECOUNT_WRITE_JOURNALS";

#[test]
fn every_scenario_replays_and_has_its_corpus_file() {
    for (name, run) in SCENARIOS {
        let world = run();
        let ledger = Ledger::new(world.journal.clone());
        let replayed = wait(replay::verify(&ledger, world.session())).unwrap();
        assert_eq!(replayed.diverged, None, "{name}");
        let mut bytes = Vec::new();
        wait(export(&*world.journal, None, &mut bytes)).unwrap();
        let file = file(name, highest_rules(&bytes));
        if std::env::var_os(WRITE).is_some() && !file.exists() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, bytes).unwrap();
        }
        assert!(file.exists(), "{name} is told and not in the corpus");
    }
}

fn file(name: &str, rules: u32) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals");
    corpus.join(format!("rules-{rules}/{name}.jsonl"))
}

/// The highest rules number that an export names.
fn highest_rules(export: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(export);
    let is_named = |rules: &u32| text.contains(&format!(r#""rules":{rules}"#));
    (1..=RULES).rev().find(is_named).unwrap()
}

const LATER: Duration = Duration::from_secs(90);

fn gated(tool: impl Into<Toolset>) -> Toolset {
    T::confirm(tool, "Pay this?")
}

/// A request is open, and some time has passed.
fn asked(tool: impl FnOnce(&World) -> Toolset) -> (World, Life, LiveHandle) {
    let world = World::new();
    let (life, live) = world.asked_to_pay(tool(&world));
    world.clock.advance(LATER);
    (world, life, live)
}

fn approved() -> World {
    let (world, life, _live) = asked(|world| gated(world.till.pays()));
    approve(&life, waiting(&life)).unwrap();
    life.end();
    world
}

fn denied() -> World {
    let (world, life, _live) = asked(|world| gated(world.till.pays()));
    answer(
        &life,
        waiting(&life),
        ToolConfirmation::denied("over the limit"),
    )
    .unwrap();
    life.end();
    world
}

fn expired() -> World {
    let (world, life, _live) = asked(|world| {
        let mut policy = ToolPolicy::gate("Pay this?");
        policy.gate_terms.expires_after = Some(Duration::from_secs(3_600));
        T::policy(world.till.pays(), policy)
    });
    let request = waiting(&life);
    world.clock.advance(Duration::from_secs(3_600));
    life.settle();
    approve(&life, request).unwrap_err();
    life.end();
    world
}

fn answered_twice() -> World {
    let (world, life, _live) =
        asked(|world| T::confirm_payload(gated(world.till.pays()), json!({"type": "object"})));
    let request = waiting(&life);
    let payload = ToolConfirmation::confirmed().with_payload(json!({"limit": 5000}));
    answer(&life, request, payload.with_reason("a good customer")).unwrap();
    answer(&life, request, ToolConfirmation::denied("too late")).unwrap_err();
    life.end();
    world
}

fn parked() -> World {
    let (world, life, _live) = asked(|world| gated(world.till.pays()));
    let request = waiting(&life);
    life.crash();
    let life = world.life(world.agent(gated(world.till.pays())));
    approve(&life, request).unwrap();
    life.end();
    world.clock.advance(LATER);
    let life = world.life(world.agent(gated(world.till.pays())));
    let _live = resume(&life, world.session());
    life.end();
    world
}

fn reopened() -> World {
    let (world, life, _live) = asked(|world| gated(world.till.pays()));
    let request = waiting(&life);
    life.crash();
    let schema = json!({"type": "object", "properties": {"cents": {"type": "integer"}}});
    let stricter = T::simple_with("pay", "Pays", schema, |_args| async {
        Ok(json!({"paid": true}))
    });
    let life = world.life(world.agent(gated(stricter)));
    let _live = resume(&life, world.session());
    assert_ne!(waiting(&life), request);
    approve(&life, request).unwrap_err();
    approve(&life, waiting(&life)).unwrap();
    life.end();
    world
}

fn gates_waived() -> World {
    let world = World::new();
    let agent = world.agent(gated(world.till.pays()));
    let life = world.life(agent.unenforced_confirmations());
    let live = life
        .run(life.engine().session("support").connect())
        .unwrap();
    life.run(live.send_text("Please settle my bill.")).unwrap();
    life.settle();
    life.end();
    world
}

fn cut_off(rule: InDoubt) -> (World, Life, LiveHandle) {
    let (world, life, _live) = asked(|world| T::in_doubt(world.till.hangs(), rule));
    life.crash();
    let life = world.life(world.agent(T::in_doubt(world.till.pays(), rule)));
    let live = resume(&life, world.session());
    (world, life, live)
}

fn unknown() -> World {
    let (world, life, _live) = cut_off(InDoubt::SettleUnknown);
    life.end();
    world
}

fn reconciled() -> World {
    let (world, life, _live) = cut_off(InDoubt::SettleUnknown);
    let ticket = Ticket {
        session: world.session(),
        call: *world.folded().settled.keys().next().unwrap(),
        tool: "pay".to_owned(),
    };
    world.clock.advance(LATER);
    let found = Finding::done(&json!({"receipt": 17}));
    let ada = Actor::embedder("ada");
    life.run(life.engine().reconcile(&ticket, found, ada))
        .unwrap();
    life.settle();
    life.end();
    world
}

fn retried() -> World {
    let (world, life, _live) = cut_off(InDoubt::Retry);
    life.end();
    world
}

fn doubt_approved() -> World {
    let (world, life, _live) = cut_off(InDoubt::Ask);
    approve(&life, waiting(&life)).unwrap();
    life.end();
    world
}

fn doubt_denied() -> World {
    let (world, life, _live) = cut_off(InDoubt::Ask);
    answer(
        &life,
        waiting(&life),
        ToolConfirmation::denied("better not"),
    )
    .unwrap();
    life.end();
    world
}

fn doubt_settled_as_done() -> World {
    let (world, life, _live) = cut_off(InDoubt::Ask);
    let settled = ToolConfirmation::settled_as_done(json!({"receipt": 17}));
    answer(&life, waiting(&life), settled).unwrap();
    life.end();
    world
}

fn doubt_settled_as_failed() -> World {
    let (world, life, _live) = cut_off(InDoubt::Ask);
    let settled = ToolConfirmation::settled_as_failed("the bank refused it");
    answer(&life, waiting(&life), settled).unwrap();
    life.end();
    world
}

fn cancelled_by_the_model() -> World {
    let (world, life, live) = asked(|world| T::timeout(world.till.hangs(), 10 * LATER));
    life.run(live.send_text("No, stop!")).unwrap();
    life.settle();
    life.end();
    world
}

fn withdrawn_by_the_model() -> World {
    let (world, life, live) = asked(|world| T::withdraw_on_cancel(gated(world.till.pays())));
    life.run(live.send_text("No, stop!")).unwrap();
    life.settle();
    life.end();
    world
}

fn cancelled_by_an_operator() -> World {
    let (world, life, live) = asked(|world| T::timeout(world.till.hangs(), 10 * LATER));
    let call = *life
        .run(live.session())
        .unwrap()
        .calls
        .keys()
        .next()
        .unwrap();
    let reason = Some("it takes too long".to_owned());
    life.run(live.cancel(call, reason, Actor::os_user("ops")))
        .unwrap();
    life.settle();
    life.end();
    world
}

fn closed() -> World {
    let (world, life, live) = asked(|world| gated(world.till.pays()));
    life.run(live.close("the customer left", Actor::embedder("desk")))
        .unwrap();
    life.settle();
    life.end();
    world
}

fn timed_out() -> World {
    let (world, life, _live) =
        asked(|world| T::timeout(world.till.hangs(), Duration::from_secs(120)));
    world.clock.advance(LATER);
    life.settle();
    life.end();
    world
}

const ALOUD: &str = r#"
{"on": {"text": "settle"}, "send": [{"serverContent": {"modelTurn": {"role": "model", "parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAAAAAAA"}}]}}}, {"call": [{"id": "c1", "name": "pay"}]}, {"serverContent": {"turnComplete": true}}]}
{"on": {"responses_to": ["c1"]}, "send": [{"say": "Thank you."}]}
"#;

/// The program answers a gated call itself, and another hook changes the response.
fn by_hand() -> World {
    let world = World::with(ALOUD);
    let agent = world.agent(gated(world.till.pays()));
    let agent = agent.on_tool_call(|calls, state| async move {
        state.set("answered", calls.len());
        let paid = calls.iter().map(|call| FunctionResponse {
            name: call.name.clone(),
            response: json!({"paid": "by hand", "card": "4111111111111111"}),
            id: call.id.clone(),
        });
        Some(paid.collect())
    });
    let agent = agent.before_tool_response(|responses, _| async {
        let hidden = responses.into_iter().map(|mut it| {
            it.response = json!({"paid": it.response["paid"]});
            it
        });
        hidden.collect()
    });
    let life = world.life(agent);
    let live = life.run(async { life.engine().session("support").connect().await.unwrap() });
    life.run(live.send_text("Please settle my bill.")).unwrap();
    life.settle();
    life.run(live.disconnect()).unwrap();
    life.end();
    world
}

fn long_running_with_news() -> World {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(T::long_running(T::simple("pay", "Pays", |_| async {
        Ok(Value::Null)
    })));
    let ticket = Ticket::from(&life.run(life.engine().paused()).unwrap()[0]);
    let by = || Actor::embedder("bank");
    let said = |value: Value| FunctionResponse::new("pay", value);
    let engine = life.engine();
    let news = said(json!({"step": 1}));
    life.run(engine.update(&ticket, news, by())).unwrap();
    life.settle();
    world.clock.advance(LATER);
    let done = said(json!({"receipt": 17}));
    life.run(engine.respond(&ticket, done, by())).unwrap();
    life.settle();
    life.end();
    world
}

fn long_running() -> World {
    let handed_on = || {
        let ticket = |_args| async { Ok(json!({"ticket": "R-17"})) };
        T::long_running(T::simple("pay", "Has it paid", ticket))
    };
    let (world, life, live) = asked(|_| handed_on());
    let paused = life.run(live.paused()).unwrap();
    life.crash();
    world.clock.advance(LATER);
    let life = world.life(world.agent(handed_on()));
    let response = FunctionResponse::new("pay", json!({"receipt": 9_007_199_254_740_993_u64}));
    let ticket = Ticket::from(&paused[0]);
    let supplied = life
        .engine()
        .respond(&ticket, response, Actor::embedder("bank"));
    life.run(supplied).unwrap();
    let _live = resume(&life, world.session());
    life.end();
    world
}

const FLAWED: &str = r#"
{"on": {"text": "settle"}, "send": [{"toolCall": {"functionCalls": [{"id": "c1", "name": "no_such_tool", "args": {}}, {"id": "c2", "name": "pay", "args": {"cents": "many"}}, {"id": "c3", "name": "pay", "args": {"cents": 1, "cents": 2}}, {"id": "c4", "args": {}}, {"id": "c5", "name": "fail"}]}}]}
{"on": {"responses_to": ["c1", "c2", "c3", "c4", "c5"]}, "send": [{"say": "Nothing worked."}]}
"#;

/// A tool that asks by itself, and pays the amount of the payload.
struct Asks;

#[async_trait]
impl ToolFunction for Asks {
    fn name(&self) -> &str {
        "pay"
    }

    fn description(&self) -> &str {
        "Pays"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Err(ToolError::NotAvailable("it asks".into()))
    }

    async fn invoke(&self, args: Value, _: ToolContext) -> ToolOutcome {
        Ask::new("How much?", json!({"wanted": args}))
            .payload_schema(json!({"type": "integer"}))
            .expires_after(Duration::from_secs(3_600))
            .into()
    }

    async fn resume(&self, _: ToolContext, _: Value, answer: ToolConfirmation) -> ToolOutcome {
        ToolOutcome::Returned(json!({"paid": answer.payload}))
    }
}

fn asked_by_the_tool() -> World {
    let tool = || T::function(Arc::new(Asks));
    let (world, life, _live) = asked(|_| tool());
    let request = waiting(&life);
    life.crash();
    let life = world.life(world.agent(tool()));
    answer(&life, request, ToolConfirmation::confirmed()).unwrap_err();
    let payload = ToolConfirmation::confirmed().with_payload(json!(40));
    answer(&life, request, payload).unwrap();
    life.end();
    world
}

fn gated_by_program() -> World {
    let (world, life, _live) = asked(|world| {
        T::confirm_when_fn(world.till.pays(), "Pay so much?", |_, _| {
            std::future::pending()
        })
    });
    // No tool has run while the gate closure ran, so the call is not in doubt.
    life.crash();
    let pay = T::confirm_when_fn(world.till.pays(), "Pay so much?", |args, _| async move {
        args["cents"].as_u64() > Some(100)
    });
    let life = world.life(world.agent(pay));
    life.settle();
    approve(&life, waiting(&life)).unwrap();
    life.end();
    world
}

/// A tool that asks twice within its run.
struct Waits;

#[async_trait]
impl ToolFunction for Waits {
    fn name(&self) -> &str {
        "pay"
    }

    fn description(&self) -> &str {
        "Pays"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Err(ToolError::NotAvailable("it asks".into()))
    }

    async fn call_with_context(&self, _: Value, context: ToolContext) -> Result<Value, ToolError> {
        let first = context.request_confirmation("Pay half of it?").await?;
        let rest = Ask::from("And the rest?").expires_after(Duration::from_secs(3_600));
        let second = context.request_confirmation(rest).await?;
        Ok(json!([first.confirmed, second.confirmed]))
    }
}

fn asked_in_place() -> World {
    let tool = || T::timeout(T::function(Arc::new(Waits)), LATER);
    let (world, life, _live) = asked(|_| tool());
    answer(&life, waiting(&life), ToolConfirmation::confirmed()).unwrap();
    world.clock.advance(LATER);
    let request = waiting(&life);
    life.crash();
    let life = world.life(world.agent(tool()));
    life.settle();
    answer(&life, request, ToolConfirmation::confirmed()).unwrap_err();
    life.end();
    world
}

fn flawed() -> World {
    let world = World::with(FLAWED);
    let schema = json!({"type": "object", "properties": {"cents": {"type": "integer"}}});
    let pay = T::simple_with("pay", "Pays", schema, |_args| async {
        Ok(json!({"paid": true}))
    });
    let fail = T::simple("fail", "Fails", |_args| async {
        Err(ToolError::ExecutionFailed("the bank is closed".into()))
    });
    let (life, _live) = world.asked_to_pay(pay | fail);
    life.end();
    world
}

fn connection_lost() -> World {
    let world = World::with(PAY_WITHOUT_AN_ANSWER);
    let (life, live) = world.asked_to_pay(world.till.pays());
    world
        .model
        .drop_connection(1011, "Internal error encountered.");
    life.settle();
    life.run(live.connect()).unwrap();
    life.settle();
    life.end();
    world
}

const PAY_WITHOUT_AN_ANSWER: &str = r#"
{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": "otherwise", "send": [{"say": "Understood."}]}
"#;

const SMALL_TALK: &str = r#"
{"on": "setup", "send": [{"sessionResumptionUpdate": {"newHandle": "a-handle", "resumable": true}}]}
{"on": {"text": "settle"}, "send": [{"serverContent": {"inputTranscription": {"text": "Please settle"}}}, {"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": "I am so"}]}}}, {"serverContent": {"interrupted": true}}, {"serverContent": {"outputTranscription": {"text": "I am so"}, "turnComplete": true}}, {"usageMetadata": {"totalTokenCount": 42}}, {"goAway": {"timeLeft": "10s"}}]}
"#;

/// The model calls an agent whose own model makes a plain call and a gated one.
const AGENT: &str = r#"
{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "till", "args": {"request": "Settle it."}}]}]}
{"on": "otherwise", "once": false, "send": [{"say": "Understood."}]}
"#;

fn agent_over_a_restart() -> World {
    let world = World::with(AGENT);
    let calls = vec![
        LlmSaid::text("Let me see."),
        LlmSaid::call("look", json!({"account": 7})),
        LlmSaid::call("pay", json!({"cents": 4200})),
        LlmSaid::call("fly", json!({})),
    ];
    let usage = Some(json!({"totalTokenCount": 42}));
    let first = LlmReply { said: calls, usage };
    let llm = ScriptedLlm::new([first, LlmReply::text("It is paid.")]);
    let tools = || {
        let look = T::simple("look", "Looks up what is owed", |_| async {
            Ok(json!({"owed": 4200}))
        });
        let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"receipt": 17})) });
        let till = LlmAgent::new("till", llm.clone()).tools(look | gated(pay));
        T::agent("till", "Settles what is owed", till)
    };
    let (life, _live) = world.asked_to_pay(tools());
    life.crash();
    world.clock.advance(LATER);
    let life = world.life(world.agent(tools()));
    approve(&life, waiting(&life)).unwrap();
    let _live = resume(&life, world.session());
    life.end();
    assert_eq!(llm.asked().len(), 2);
    world
}

/// An approved call that two pauses hold over a restart: of its session, and of everything.
fn paused() -> World {
    let (world, life, live) = asked(|world| gated(world.till.pays()));
    let (session, ada) = (world.session(), || Actor::embedder("ada"));
    let targets = [PauseTarget::Session(session), PauseTarget::Everything];
    for target in &targets {
        let reason = Some("the bank is down".to_owned());
        let paused = life.engine().pause(target.clone(), reason, false, ada());
        life.run(paused).unwrap();
    }
    approve(&life, waiting(&life)).unwrap();
    drop(live);
    life.crash();
    world.clock.advance(LATER);
    let life = world.life(world.agent(gated(world.till.pays())));
    life.settle();
    for target in &targets {
        assert_eq!(world.till.attempts(), [0; 0]);
        let ended = life.engine().unpause(target.clone(), None, ada());
        life.run(ended).unwrap();
        life.settle();
    }
    assert_eq!(world.till.attempts(), [1]);
    let _live = resume(&life, session);
    life.end();
    world
}

fn small_talk() -> World {
    let world = World::with(SMALL_TALK);
    let life = world.life(world.agent(world.till.pays()));
    let live = life.run(async {
        let session = life.engine().session("support");
        let session = session.external_id("ticket-7").label("tenant", "acme");
        session.connect().await.unwrap()
    });
    life.run(live.send_text("Please settle my bill.")).unwrap();
    life.settle();
    life.run(live.disconnect()).unwrap();
    life.end();
    world
}

const COMINGS_AND_GOINGS: &str = r#"
{"on": "setup", "connection": 1, "send": [{"sessionResumptionUpdate": {"newHandle": "a-handle", "resumable": true}}]}
{"on": {"text": "settle"}, "connection": 1, "send": [{"call": [{"id": "c1", "name": "pay"}]}, {"go_away": "10s"}]}
{"on": {"text": "again"}, "send": [{"call": [{"id": "c2", "name": "pay"}]}]}
{"on": "otherwise", "send": []}
"#;

/// A connector whose second connection fails.
struct BarredOnce {
    model: ScriptedModel,
    connections: AtomicUsize,
}

#[async_trait]
impl Connector for BarredOnce {
    fn endpoint(&self) -> String {
        self.model.endpoint()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        if self.connections.fetch_add(1, Ordering::SeqCst) == 1 {
            return Err(ConnectError::Unreachable {
                endpoint: self.endpoint(),
                reason: "no route".to_owned(),
            });
        }
        self.model.connect().await
    }
}

fn connections() -> World {
    let world = World::with(COMINGS_AND_GOINGS);
    let way = BarredOnce {
        model: world.model.clone(),
        connections: AtomicUsize::new(0),
    };
    let agent = world.agent(world.till.hangs()).connect_to(way);
    let life = world.life(agent.reconnects(Reconnects::default().attempts_max(2)));
    let live = life.run(async {
        let live = life.engine().session("support").connect().await.unwrap();
        live.send_text("Please settle my bill.").await.unwrap();
        live
    });
    life.settle();
    for seconds in [8, 1] {
        world.clock.advance(Duration::from_secs(seconds));
        life.settle();
    }
    assert_eq!(world.connections(), 2);
    world
        .model
        .drop_connection(1008, "The operation was aborted.");
    life.settle();
    life.run(async {
        live.connect().await.unwrap();
        live.send_text("Please try again.").await.unwrap();
    });
    life.settle();
    let grace = Duration::from_secs(5);
    let ended = life.run(async {
        let (ended, ()) = tokio::join!(life.engine().shutdown(grace), async {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            world.clock.advance(grace);
        });
        ended
    });
    ended.unwrap();
    drop(live);
    world
}
