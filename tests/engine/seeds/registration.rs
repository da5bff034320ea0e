//! The blocks about registration, dispatch, phases and long-running tools.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use recount::prelude::*;
use recount::tool::{LlmAgent, LlmReply, ScriptedLlm, TextAgentTool, sequence};
use tokio::sync::Notify;
use tokio::time::advance;
use tokio_util::sync::CancellationToken;

use super::kinds::ProgressTracker;
use super::stage::{Stage, answers, config, dispatcher, play};

/// A tool that returns its name.
#[derive(Clone, Copy)]
struct Says(&'static str);

#[async_trait]
impl ToolFunction for Says {
    fn name(&self) -> &str {
        self.0
    }
    fn description(&self) -> &str {
        "Says its name"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Ok(json!({ "said": self.0 }))
    }
}

#[tokio::test]
#[expect(
    unused_must_use,
    reason = "the block registers one tool twice, which is refused the second time"
)]
async fn dispatcher_serves_functions_and_streams() -> Result<(), recount::engine::Error> {
    let (my_tool, stream_tool) = (Says("my_tool"), ProgressTracker);
    let (config, model) = config(&[("my_tool", json!({})), ("track_progress", json!({}))]);

    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(my_tool); // impl ToolFunction
    dispatcher.register_function(Arc::new(my_tool)); // Arc<dyn ToolFunction>
    dispatcher.register_streaming(Arc::new(stream_tool));

    let live = Live::builder().tools(dispatcher).connect(config).await?;

    play(&live).await;
    assert_eq!(answers(&model, "c1")[0].0, json!({"said": "my_tool"}));
    assert_eq!(answers(&model, "c2").len(), 6);
    Ok(())
}

#[tokio::test]
#[expect(unused_variables, reason = "the block does not use its arguments")]
async fn functions_closures_and_tools_of_the_service_compose() {
    let weather_tool = Says("weather");

    let builder = Live::builder().with_tools(
        T::function(Arc::new(weather_tool))
            | T::simple("calculate", "Evaluate expression", |args| async move {
                Ok(json!({"result": 42}))
            })
            | T::google_search(),
    );

    let calls = ["weather", "calculate"].map(|name| (name, json!({})));
    let stage = Stage::set(builder, &calls).await;
    stage.play().await;
    assert_eq!(stage.answer("c1"), json!({"said": "weather"}));
    assert_eq!(stage.answer("c2"), json!({"result": 42}));
}

#[tokio::test]
async fn a_vector_of_functions_is_a_toolset() {
    let (a, b, c) = (Says("a"), Says("b"), Says("c"));

    let tools: Vec<Arc<dyn ToolFunction>> = vec![Arc::new(a), Arc::new(b), Arc::new(c)];
    let builder = Live::builder().with_tools(T::toolset(tools));

    let stage = Stage::set(builder, &[("a", json!({})), ("c", json!({}))]).await;
    stage.play().await;
    assert_eq!(stage.answer("c2"), json!({"said": "c"}));
}

#[tokio::test]
async fn phase_has_own_tools_and_advances_by_state() {
    let names = [
        "verify_identity",
        "log_compliance_event",
        "calculate_payment_plan",
    ];
    let tools = names.map(Says).into_iter();
    let tools = tools.fold(Toolset::new(), |tools, tool| tools | tool);

    let builder = Live::builder()
        .tools(tools)
        .phase("verify_identity")
        .instruction("Verify the caller's identity")
        .tools(vec![
            "verify_identity".into(),
            "log_compliance_event".into(),
        ])
        .transition("inform_debt", S::is_true("identity_verified"))
        .done()
        .phase("negotiate")
        .instruction("Negotiate a payment plan")
        .tools(vec!["calculate_payment_plan".into()])
        .transition("arrange_payment", S::is_true("plan_agreed"))
        .done();

    // The phases to which the block's transitions lead; a session needs them.
    let builder = builder.phase("inform_debt").done();
    let builder = builder.phase("arrange_payment").done();
    let calls = [
        ("calculate_payment_plan", json!({})),
        ("log_compliance_event", json!({})),
    ];
    let stage = Stage::set(builder, &calls).await;
    stage.play().await;
    // The call outside its phase is rejected, and its sibling runs.
    assert_eq!(stage.answer("c1")["kind"], "not_available");
    assert_eq!(stage.answer("c2"), json!({"said": "log_compliance_event"}));
    let write = |state: &State| state.set("identity_verified", true);
    let ada = Actor::embedder("ada");
    stage.live.change_state(ada.clone(), write).await.unwrap();
    let session = stage.live.session().await.unwrap();
    assert_eq!(session.phase.unwrap().phase, "inform_debt");
    // A phase without a tool list has all tools.
    let plan = stage
        .live
        .call_function("calculate_payment_plan", json!({}), ada);
    assert!(plan.await.is_ok());
}

/// A tool that starts a slow job.
struct MySlowTool;

impl MySlowTool {
    fn new() -> MySlowTool {
        MySlowTool
    }
}

#[async_trait]
impl ToolFunction for MySlowTool {
    fn name(&self) -> &str {
        "slow_tool"
    }
    fn description(&self) -> &str {
        "Begins something"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Ok(json!({"status": "begun"}))
    }
}

#[tokio::test]
#[expect(unused_must_use, reason = "registration may fail here")]
async fn a_long_running_tool_tells_the_model_not_to_call_again() {
    let mut dispatcher = ToolDispatcher::new();

    use recount::tool::LongRunningFunctionTool;

    let long_running = LongRunningFunctionTool::new(Arc::new(MySlowTool::new()));
    dispatcher.register(long_running);

    let said = &dispatcher.declarations()[0].description;
    assert!(said.contains("Do not call this tool again"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn calls_have_a_time_limit_and_can_be_cancelled() -> Result<(), ToolError> {
    let ends = Arc::new(Notify::new());
    let told = ends.clone();
    let slow = T::simple("slow_tool", "Ends when it is told to", move |_| {
        let told = told.clone();
        async move {
            told.notified().await;
            Ok(json!("slow"))
        }
    });
    let stuck = T::simple("stuck_tool", "Does not end", |_| pending());
    let mut dispatcher = dispatcher(slow | stuck);
    let (args, cancel_token) = (json!({}), CancellationToken::new());

    // Custom timeout
    let call = dispatcher.call_function_with_timeout("slow_tool", args, Duration::from_secs(60));
    let ends_after_40_s = async {
        advance(Duration::from_secs(40)).await;
        ends.notify_one();
    };
    tokio::join!(biased; call, ends_after_40_s).0?;

    let args = json!({});
    let cancelling = cancel_token.clone();
    tokio::spawn(async move { cancelling.cancel() });
    // Cancel via token
    let cancelled = dispatcher
        .call_function_with_cancel("stuck_tool", args, cancel_token)
        .await;
    assert!(matches!(cancelled, Err(ToolError::Cancelled(_))));

    let by_default = dispatcher.call_function("slow_tool", json!({})).await;
    assert_eq!(by_default, Err(ToolError::Timeout(Duration::from_secs(30))));

    // Configure default timeout (30s default)
    let tools: Toolset = std::mem::take(&mut dispatcher).into();
    let mut dispatcher = ToolDispatcher::new().with_timeout(Duration::from_secs(10));
    dispatcher.register(tools).unwrap();
    let set = dispatcher.call_function("slow_tool", json!({})).await;
    assert_eq!(set, Err(ToolError::Timeout(Duration::from_secs(10))));
    Ok(())
}

#[tokio::test]
async fn an_agent_is_a_tool_and_shares_the_state_of_the_session()
-> Result<(), Box<dyn std::error::Error>> {
    let says = |text: &str| ScriptedLlm::new([LlmReply::text(text)]);
    let verifier = || LlmAgent::new("verifier", says("It is Ada.")).output_key("verified");
    let calc_pipeline = || {
        let plan = LlmAgent::new("plan", says("12 x 50.00"));
        sequence(plan, LlmAgent::new("check", says("It is right.")))
    };
    let request = json!({"request": "go"});
    let called = [
        ("verify_identity", request.clone()),
        ("calc_payment", request),
    ];

    let state = State::default();
    let mut dispatcher = ToolDispatcher::new();
    // Direct registration
    let tool = TextAgentTool::new(
        "verify_identity",
        "Verify caller",
        verifier(),
        state.clone(),
    );
    dispatcher.register(tool)?;
    assert_eq!(dispatcher.len(), 1);

    // Fluent API
    let verifier_agent = verifier();
    let calc_pipeline = calc_pipeline();
    let (config, model) = config(&called);
    let live = Live::builder()
        .agent_tool("verify_identity", "Verify caller identity", verifier_agent)
        .agent_tool("calc_payment", "Calculate payment plans", calc_pipeline)
        .connect(config)
        .await?;
    play(&live).await;
    assert_eq!(answers(&model, "c1")[0].0, json!({"output": "It is Ada."}));
    assert_eq!(
        answers(&model, "c2")[0].0,
        json!({"output": "It is right."})
    );
    let verified: Option<String> = live.state().await?.get("verified");
    assert_eq!(verified.as_deref(), Some("It is Ada."));
    Ok(())
}
