//! The results that an agent and its model receive for the agent's calls, and their records.

use super::*;
use recount::journal::seal::MemoryKeyStore;
use recount::session::{FunctionCallReceived, Json, LlmAsked, ObjectHash};
use recount::tool::StreamingTool;
use tokio::sync::mpsc;

/// A tool that streams two results, and then ends as given.
struct Counts(&'static str, Result<(), &'static str>);

#[async_trait]
impl StreamingTool for Counts {
    fn name(&self) -> &str {
        self.0
    }
    fn description(&self) -> &str {
        "Counts"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, _args: Value, yields: mpsc::Sender<Value>) -> Result<(), ToolError> {
        for n in [1, 2] {
            yields.send(json!({ "n": n })).await.unwrap();
        }
        let failed = |why: &str| ToolError::ExecutionFailed(why.to_owned());
        self.1.map_err(failed)
    }
}

#[test]
fn agent_receives_all_stream_results_and_stream_failure() {
    let world = World::new();
    let llm = ScriptedLlm::new([
        calls([
            LlmSaid::call("counts", json!({})),
            LlmSaid::call("breaks", json!({})),
        ]),
        LlmReply::text("It is Ada."),
    ]);
    let counts = T::streaming(Arc::new(Counts("counts", Ok(()))));
    let breaks = T::streaming(Arc::new(Counts("breaks", Err("out of fingers"))));
    let agent = LlmAgent::new("verifier", llm.clone()).tools(counts | breaks);
    let _life = world.called(verify(agent));
    let asked = llm.asked();
    let Some(LlmContent::Tools { answers }) = asked[1].contents.last() else {
        panic!("{asked:?}");
    };
    let answers: Vec<Value> = answers.iter().map(|it| it.response.to_value()).collect();
    assert_eq!(answers[0], json!({"output": [{"n": 1}, {"n": 2}]}));
    assert_eq!(answers[1]["kind"], "execution_failed", "{answers:?}");
    let told = answers[1]["error"].as_str().unwrap();
    assert!(told.contains("out of fingers"), "{told}");
}

const CARD: &str = "4111-hidden-number";

/// The recorded calls and questions to the agent's model, in order.
fn on_record(facts: &[Fact]) -> (Vec<&FunctionCallReceived>, Vec<&LlmAsked>) {
    let (mut received, mut asked) = (Vec::new(), Vec::new());
    for fact in facts {
        match &fact.event {
            Event::Observed(Observation::FunctionCallReceived(it)) => received.push(it),
            Event::Observed(Observation::LlmAsked(it)) => asked.push(it),
            Event::Observed(_) | Event::Decided(_) => {}
        }
    }
    (received, asked)
}

#[test]
fn agent_model_sees_its_own_secrets_and_journal_has_none() {
    let world = World::new();
    let llm = ScriptedLlm::new([
        calls([LlmSaid::call("pay", json!({"card": CARD, "cents": 42}))]),
        LlmReply::text("It is paid."),
    ]);
    let keys = Arc::new(MemoryKeyStore::default());
    let life = || {
        let schema = json!({
            "type": "object",
            "properties": {"card": {"type": "string"}, "cents": {"type": "integer"}},
        });
        let pay = T::simple_with("pay", "Pays", schema, |args| async move {
            Ok(json!({"right": args["card"] == CARD}))
        });
        let pay = T::secret(T::confirm(pay, "Pay?"), "/card");
        let agent = LlmAgent::new("till", llm.clone()).tools(pay);
        let agent = Agent::new()
            .model("m")
            .tools(verify(agent))
            .connect_to(world.model.clone());
        let engine = Engine::in_memory()
            .journal(world.journal.clone())
            .clock(world.clock.clone())
            .keys(keys.clone());
        Life::of(engine.agent("support", agent))
    };
    let first = life();
    first.run(async {
        let live = first.engine().session("support").connect().await.unwrap();
        live.send_text("This is caller 17.").await.unwrap();
    });
    first.settle();
    first.crash();
    let second = life();
    second.settle();
    approve(&second).unwrap();

    let asked = llm.asked();
    let LlmContent::Model { said } = &asked[1].contents[1] else {
        panic!("{asked:?}");
    };
    let LlmSaid::Call { args, .. } = &said[0] else {
        panic!("{said:?}");
    };
    assert_eq!(args.to_value(), json!({"card": CARD, "cents": 42}));
    let Some(LlmContent::Tools { answers }) = asked[1].contents.last() else {
        panic!("{asked:?}");
    };
    assert_eq!(answers[0].response.as_str(), r#"{"right":true}"#);

    let facts = world.facts();
    for fact in &facts {
        let body = fact.event.body().unwrap();
        assert!(!body.contains(CARD), "{body}");
    }
    // The session replays without a key, and the recorded questions match the recorded calls.
    assert!(world.folded().calls.is_empty());
    let (received, questions) = on_record(&facts);
    let sealed = |call: &FunctionCallReceived| call.args.clone().unwrap();
    let mut on_record = asked[1].clone();
    let LlmContent::Model { said } = &mut on_record.contents[1] else {
        unreachable!()
    };
    let LlmSaid::Call { args, .. } = &mut said[0] else {
        unreachable!()
    };
    *args = sealed(received[1]);
    let hash = |it: &LlmRequest| ObjectHash::of(&serde_json::to_vec(it).unwrap());
    assert_eq!(questions[1].request_sha256, hash(&on_record));
    assert_ne!(questions[1].request_sha256, hash(&asked[1]));
    assert_ne!(
        sealed(received[1]),
        Json::of(&json!({"card": CARD, "cents": 42}))
    );
}

#[test]
fn agent_model_failure_is_reported_without_secrets() {
    for fails in [LlmError::Refused, LlmError::Unavailable] {
        let world = World::new();
        let echo = fails(format!("400: cannot read {{\"card\":\"{CARD}\"}}"));
        let pays = calls([LlmSaid::call("pay", json!({"card": CARD}))]);
        let many = std::iter::repeat_with(|| Err(echo.clone())).take(8);
        let llm = ScriptedLlm::with_failures(std::iter::once(Ok(pays)).chain(many));
        let schema = json!({"type": "object", "properties": {"card": {"type": "string"}}});
        let pay = T::simple_with("pay", "Pays", schema, |_| async move { Ok(json!({})) });
        let agent = LlmAgent::new("till", llm.clone()).tools(T::secret(pay, "/card"));
        let agent = Agent::new()
            .model("m")
            .tools(verify(agent))
            .connect_to(world.model.clone());
        let engine = Engine::in_memory()
            .journal(world.journal.clone())
            .clock(world.clock.clone())
            .keys(Arc::new(MemoryKeyStore::default()));
        let life = Life::of(engine.agent("support", agent));
        life.run(async {
            let live = life.engine().session("support").connect().await.unwrap();
            live.send_text("This is caller 17.").await.unwrap();
        });
        life.settle();
        let shown = format!("{:?}", llm.asked()[1]);
        assert!(shown.contains(CARD), "{shown}");
        let mut told = String::new();
        for fact in world.facts() {
            told.push_str(&fact.event.body().unwrap());
        }
        assert!(!told.contains(CARD), "{told}");
        assert!(
            told.contains("400: cannot read") && told.contains("[hidden]"),
            "{told}"
        );
    }
}

#[test]
fn first_agent_state_is_written_once_despite_second_agent_retry() {
    let world = World::new();
    let plan = ScriptedLlm::new([LlmReply::text("12 x 50.00")]);
    let busy = LlmError::Unavailable("the service has too much to do".to_owned());
    let check = ScriptedLlm::with_failures([Err(busy), Ok(LlmReply::text("It is right."))]);
    let plan = LlmAgent::new("plan", plan).output_key("plan");
    let check_plan = LlmAgent::new("check", check.clone()).instruction("Check {plan}.");
    let (life, live) = world.called(verify(sequence(plan, check_plan)));
    assert_eq!(
        check.asked()[0].instruction.as_deref(),
        Some("Check 12 x 50.00.")
    );
    let by = Actor::embedder("crm");
    let corrected = live.change_state(by, |state| state.set("plan", "13 x 48.00"));
    life.run(corrected).unwrap();
    world.clock.advance(std::time::Duration::from_millis(500));
    life.settle();
    assert_eq!(
        check.asked()[1].instruction.as_deref(),
        Some("Check 13 x 48.00.")
    );
    assert_eq!(world.answers(), [json!({"output": "It is right."})]);
    let folded = world.folded();
    assert_eq!(folded.value("plan").unwrap().as_str(), r#""13 x 48.00""#);
}
