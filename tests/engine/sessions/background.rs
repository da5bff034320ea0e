//! A background call is acknowledged first; its result is delivered once, with its scheduling.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use recount::prelude::*;
use recount::session::{Outcome, ResponseShape};
use recount::testing::ScriptedModel;
use recount::tool::{FunctionCall, ResultFormatter, StaticConfirmation};

const SCRIPT: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "search", "args": {"query": "rust"}}]}]}
{"on": {"responses_to": ["c"]}, "send": [{"say": "Done."}]}
"#;

/// The responses to the call in order, each with its `will_continue` and its scheduling.
async fn told(live: recount::engine::LiveBuilder) -> Vec<(Value, Option<bool>, Option<String>)> {
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let live = live.model("gemini-live-2.5-flash");
    let live = live.connect_with(model.clone()).await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Done."));
    let session = live.session().await.unwrap();
    let ended: Vec<Outcome> = session.settled.values().map(|it| it.outcome).collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
    answers(&model)
}

fn answers(model: &ScriptedModel) -> Vec<(Value, Option<bool>, Option<String>)> {
    let transcript = model.transcript();
    let answers = transcript.answers().map(|(_, answer, _)| {
        let response = answer.response.as_ref().unwrap().to_string();
        let response: Value = serde_json::from_str(&response).unwrap();
        (response, answer.will_continue, answer.scheduling.clone())
    });
    answers.collect()
}

fn search(result: Result<Value, ToolError>) -> Toolset {
    T::simple("search", "Searches", move |_| {
        let result = result.clone();
        async move { result }
    })
}

#[tokio::test]
async fn acknowledgement_precedes_result_with_its_scheduling() {
    let live = Live::builder()
        .tools(search(Ok(json!({"found": 3}))))
        .tool_background_with_scheduling("search", FunctionResponseScheduling::Interrupt);
    let running = (
        json!({"status": "running", "tool": "search"}),
        Some(true),
        None,
    );
    let result = json!({"status": "completed", "tool": "search", "result": {"found": 3}});
    let result = (result, Some(false), Some("INTERRUPT".to_owned()));
    assert_eq!(told(live).await, [running, result]);
}

#[tokio::test]
async fn failure_is_sent_once_and_default_scheduling_is_idle() {
    let failed = ToolError::ExecutionFailed("boom".into());
    let live = Live::builder().tools(T::background(search(Err(failed))));
    let told_of_failure = told(live).await;
    let error = json!({"status": "error", "tool": "search", "error": "boom"});
    let silent = (error, Some(false), Some("SILENT".to_owned()));
    assert_eq!(told_of_failure.last(), Some(&silent));
    assert_eq!(told_of_failure.len(), 2);
    let live = Live::builder()
        .tools(search(Ok(json!(1))))
        .tool_background("search");
    let scheduling = told(live).await.pop().unwrap().2;
    assert_eq!(scheduling.as_deref(), Some("WHEN_IDLE"));
}

#[tokio::test]
async fn outcome_of_approved_call_carries_its_scheduling() {
    for (provider, outcome) in [
        (
            StaticConfirmation::allow_all(),
            ("result", Some("INTERRUPT")),
        ),
        // The call never ran in the background, so its outcome is an ordinary response.
        (StaticConfirmation::deny_all("not today"), ("error", None)),
    ] {
        let search = search(Ok(json!({"found": 3})));
        let live = Live::builder()
            .tools(T::confirm(search, "Search?"))
            .tool_background_with_scheduling("search", FunctionResponseScheduling::Interrupt)
            .confirmation_provider(provider);
        let told = told(live).await;
        let waits = json!({"status": "awaiting_confirmation", "tool": "search"});
        assert_eq!(told[0], (waits, Some(true), None));
        let (body, will_continue, scheduling) = told.last().unwrap();
        assert_eq!((told.len(), *will_continue), (2, Some(false)), "{told:?}");
        let (key, when) = outcome;
        assert_eq!(scheduling.as_deref(), when, "{body}");
        assert!(body.get(key).is_some(), "{body}");
    }
}

#[tokio::test]
async fn a_formatter_words_the_acknowledgement_and_the_result() {
    struct Friendly;
    impl ResultFormatter for Friendly {
        fn format_running(&self, call: &FunctionCall) -> Value {
            json!({"status": "searching", "for": call.args["query"]})
        }
        fn format_result(&self, call: &FunctionCall, result: Result<Value, ToolError>) -> Value {
            match result {
                Ok(data) => json!({"status": "found", "tool": call.name, "data": data}),
                Err(error) => json!({"status": "failed", "error": error.to_string()}),
            }
        }
        fn format_cancelled(&self, call_id: &str) -> Value {
            json!({"status": "cancelled", "id": call_id})
        }
    }
    let live = Live::builder()
        .tools(search(Ok(json!([1]))))
        .tool_background_with_formatter("search", Arc::new(Friendly));
    let responses: Vec<Value> = told(live).await.into_iter().map(|it| it.0).collect();
    let running = json!({"status": "searching", "for": "rust"});
    let result = json!({"status": "found", "tool": "search", "data": [1]});
    assert_eq!(responses, [running, result]);
}

#[tokio::test]
async fn unregistered_background_tool_is_rejected() {
    let live = Live::builder()
        .model("m")
        .tools(search(Ok(json!(1))))
        .tool_background("serach");
    let refused = live
        .connect_with(ScriptedModel::parse(SCRIPT).unwrap())
        .await;
    let told = refused.map(|_| ()).unwrap_err().to_string();
    assert!(
        told.contains("\"serach\"") && told.contains("search"),
        "{told}"
    );
}

#[tokio::test]
async fn missing_service_side_tool_is_rejected_unless_overridden() {
    let agent = |capabilities: Option<recount::live::Capabilities>| {
        let agent = Agent::new()
            .model("gemini-live-2.5-flash")
            .tools(T::google_search() | T::code_execution());
        match capabilities {
            Some(capabilities) => agent.capabilities(capabilities),
            None => agent,
        }
    };
    let refused = Engine::in_memory().agent("a", agent(None)).open().await;
    let told = refused.map(|_| ()).unwrap_err().to_string();
    assert!(
        told.contains("code_execution") && !told.contains("google_search"),
        "{told}"
    );
    let mut by_now = recount::live::Capabilities::of_model("gemini-live-2.5-flash");
    by_now.code_execution = true;
    assert!(
        Engine::in_memory()
            .agent("a", agent(Some(by_now)))
            .open()
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn everything_the_model_is_answered_may_stand_in_an_envelope() {
    let script = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "a", "name": "search"}, {"id": "b", "name": "nothing"}, {"id": "c", "name": "fails"}]}]}
{"on": {"responses_to": ["a", "b", "c"]}, "send": [{"say": "Done."}]}
"#;
    let fails = T::simple("fails", "Fails", |_| async {
        Err(ToolError::ExecutionFailed("kaput".into()))
    });
    let agent = Agent::new()
        .model("m")
        .tools(search(Ok(json!({"found": 3}))) | fails)
        .response_shape(ResponseShape::Envelope);
    let model = ScriptedModel::parse(script).unwrap();
    let agent = agent.connect_to(model.clone());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    updates.turn().await;
    let told = |id: &str| {
        let transcript = model.transcript();
        let of_call =
            |answer: &recount::live::wire::FunctionResponse| answer.id.as_deref() == Some(id);
        let mut answers = transcript.answers();
        let answer = answers.find(|(_, answer, _)| of_call(answer)).unwrap().1;
        let text = answer.response.as_ref().unwrap().to_string();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    assert_eq!(
        told("a"),
        json!({"output": {"found": 3}, "scheduling": "WHEN_IDLE"})
    );
    let error = |kind: &str, error: Value| {
        let output = json!({"error": error, "kind": kind, "success": false});
        json!({"output": output, "scheduling": "SILENT"})
    };
    assert_eq!(
        told("b"),
        error("not_found", json!("there is no tool named \"nothing\""))
    );
    assert_eq!(told("c"), error("execution_failed", json!("kaput")));
}

#[tokio::test]
async fn enveloped_background_result_carries_scheduling() {
    let completed = json!({"status": "completed", "tool": "search", "result": {"found": 3}});
    let failed = json!({"status": "error", "tool": "search", "error": "boom"});
    for (result, words, when) in [
        (Ok(json!({"found": 3})), completed, "INTERRUPT"),
        (
            Err(ToolError::ExecutionFailed("boom".into())),
            failed,
            "SILENT",
        ),
    ] {
        let model = ScriptedModel::parse(SCRIPT).unwrap();
        let search = T::background_with(search(result), FunctionResponseScheduling::Interrupt);
        let agent = Agent::new()
            .model("gemini-live-2.5-flash")
            .tools(search)
            .response_shape(ResponseShape::Envelope)
            .connect_to(model.clone());
        let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
        let live = engine.session("a").connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("go").await.unwrap();
        updates.turn().await;
        let last = answers(&model).pop().unwrap().0;
        assert_eq!(last, json!({"output": words, "scheduling": when}));
    }
}

/// A model that makes this number of calls to `tool` after the text "go".
fn many(tool: &str, calls: usize) -> ScriptedModel {
    let call = |n: usize| json!({"id": format!("c{n}"), "name": tool});
    let calls: Vec<Value> = (0..calls).map(call).collect();
    let asks = json!({"on": {"text": "go"}, "send": [{"call": calls}]});
    ScriptedModel::parse(&asks.to_string()).unwrap()
}

#[tokio::test]
async fn thousand_background_calls_leave_nothing_behind() {
    let held: Arc<AtomicUsize> = Arc::default();
    let (counter, mine) = (Arc::new(AtomicUsize::new(0)), held.clone());
    let ends = T::simple("ends", "Ends", move |_| {
        let (run, held) = (counter.fetch_add(1, Ordering::SeqCst), mine.clone());
        async move {
            let _held = held;
            match run % 3 {
                0 => Ok(json!({})),
                1 => Err(ToolError::ExecutionFailed("no".into())),
                _ => panic!("kaput"),
            }
        }
    });
    let model = many("ends", 1_000);
    let agent = Agent::new().tools(T::background(ends)).model("m");
    let agent = agent.calls_per_message_max(1_000).open_calls_max(1_000);
    let agent = agent.connect_to(model.clone());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let answered = |model: &ScriptedModel| {
        let transcript = model.transcript();
        let finals = transcript
            .answers()
            .filter(|(_, answer, _)| answer.will_continue == Some(false));
        finals.count()
    };
    while answered(&model) < 1_000 {
        updates
            .wait_for(|event| event.kind() == "responses_sent")
            .await
            .unwrap();
    }
    let session = live.session().await.unwrap();
    assert!(session.calls.is_empty());
    let failed = session.settled.values();
    let failed = failed.filter(|it| it.outcome == Outcome::Failed);
    assert_eq!((session.settled.len(), failed.count()), (1_000, 666));
    // The closure that makes the tool's runs holds one reference, this test the other.
    assert_eq!(Arc::strong_count(&held), 2);
}

#[tokio::test]
async fn twenty_thousand_background_calls_leave_nothing_behind() {
    const TURNS: usize = 200;
    const CALLS: usize = 100;
    let held: Arc<AtomicUsize> = Arc::default();
    let mine = held.clone();
    let nothing = T::simple("nothing", "Does nothing", move |_| {
        let held = mine.clone();
        async move {
            held.fetch_add(1, Ordering::SeqCst);
            Ok(json!({}))
        }
    });
    let turns = (0..TURNS).map(|turn| {
        let call = |n: usize| json!({"id": format!("c{turn}-{n}"), "name": "nothing"});
        let calls: Vec<Value> = (0..CALLS).map(call).collect();
        json!({"on": {"text": format!("turn {turn:04}")}, "send": [{"call": calls}]}).to_string()
    });
    let script: Vec<String> = turns.collect();
    let model = ScriptedModel::parse(&script.join("\n")).unwrap();
    let live = Live::builder().tools(T::background(nothing)).model("m");
    let live = live.connect_with(model).await.unwrap();
    for turn in 0..TURNS {
        live.send_text(format!("turn {turn:04}")).await.unwrap();
        // The request for the session is handled after the results so far.
        while live.session().await.unwrap().settled.len() < (turn + 1) * CALLS {}
    }
    assert!(live.session().await.unwrap().calls.is_empty());
    assert_eq!(held.load(Ordering::SeqCst), TURNS * CALLS);
    // The closure that makes the tool's runs holds one reference, this test the other.
    assert_eq!(Arc::strong_count(&held), 2);
}

/// A guard that reports its drop.
struct Held(tokio::sync::mpsc::UnboundedSender<&'static str>);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

#[tokio::test]
async fn every_ending_drops_background_tool_and_fires_its_token() {
    for way in ["model", "operator", "disconnect", "drop", "close"] {
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let model = many("hangs", 1);
        let hangs = Hangs(told);
        let live = Live::builder().tools(T::background(T::function(Arc::new(hangs))));
        let live = live.model("m").connect_with(model.clone()).await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("go").await.unwrap();
        assert_eq!(heard.recv().await, Some("began"), "{way}");
        let session = live.session().await.unwrap();
        let call = *session.calls.keys().next().unwrap();
        let ops = Actor::embedder("ops");
        let mut kept = None;
        match way {
            "model" => {
                model.send(&recount::live::wire::ServerMessage::cancel(["c0"]));
                kept = Some(live);
            }
            "operator" => {
                live.cancel(call, None, ops).await.unwrap();
                kept = Some(live);
            }
            "disconnect" => {
                live.disconnect().await.unwrap();
                kept = Some(live);
            }
            "close" => {
                live.close("done", ops).await.unwrap();
                kept = Some(live);
            }
            _ => drop(live),
        }
        let mut ends = [heard.recv().await, heard.recv().await];
        ends.sort_unstable();
        assert_eq!(ends, [Some("cancelled"), Some("dropped")], "{way}");
        if let Some(live) = kept {
            let session = live.session().await.unwrap();
            assert!(session.calls.is_empty(), "{way}: {:?}", session.calls);
        } else {
            let detached = updates.wait_for(|event| event.kind() == "runner_detached");
            assert!(detached.await.is_some(), "{way}");
        }
        // The acknowledgement, and nothing more after a cancellation by the model.
        let expected = usize::from(way == "operator") + 1;
        let told = model.transcript().answers().count();
        assert!(told <= expected, "{way}: {told}");
    }
}

/// A tool that never ends by itself.
struct Hangs(tokio::sync::mpsc::UnboundedSender<&'static str>);

#[async_trait::async_trait]
impl ToolFunction for Hangs {
    fn name(&self) -> &str {
        "hangs"
    }
    fn description(&self) -> &str {
        "Hangs"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Ok(Value::Null)
    }
    async fn call_with_context(&self, _: Value, context: ToolContext) -> Result<Value, ToolError> {
        let told = self.0.clone();
        let (token, tell) = (context.cancellation.clone(), told.clone());
        tokio::spawn(async move {
            token.cancelled().await;
            let _ = tell.send("cancelled");
        });
        let _held = Held(told.clone());
        let _ = told.send("began");
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_session_with_many_calls_keeps_no_other_from_its_first() {
    let order: Arc<Mutex<Vec<String>>> = Arc::default();
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let agent = |name: &'static str, calls: usize| {
        let (order, gate) = (order.clone(), gate.clone());
        let works = T::simple("works", "Works", move |_| {
            order.lock().unwrap().push(name.to_owned());
            let gate = gate.clone();
            async move {
                gate.acquire().await.unwrap().forget();
                Ok(json!({}))
            }
        });
        let agent = Agent::new().model("m").tools(T::background(works));
        agent.connect_to(many("works", calls))
    };
    let engine = Engine::in_memory()
        .running_max(1)
        .agent("many", agent("many", 20))
        .agent("one", agent("one", 1));
    let engine = engine.open().await.unwrap();
    let mut sessions = Vec::new();
    for (name, calls) in [("many", 20), ("one", 1)] {
        let live = engine.session(name).connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("go").await.unwrap();
        // Every call is acknowledged at once, though nearly all of them wait for a slot.
        for _ in 0..calls {
            let acknowledged = updates.wait_for(|event| event.kind() == "responses_sent");
            assert!(acknowledged.await.is_some());
        }
        sessions.push((live, updates));
    }
    assert_eq!(*order.lock().unwrap(), ["many"]);
    gate.add_permits(21);
    for (live, updates) in &mut sessions {
        while !live.session().await.unwrap().calls.is_empty() {
            updates.next().await.unwrap();
        }
    }
    let order = order.lock().unwrap();
    assert_eq!(order.len(), 21);
    let place = order.iter().position(|name| name == "one");
    assert!(place.unwrap() <= 2, "{order:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_tool_frees_its_slot_after_timeout() {
    let (go_on, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let blocks = T::simple("blocks", "Blocks its thread", move |_| {
        let blocked = blocked.clone();
        async move {
            let _ = blocked.lock().unwrap().recv();
            Ok(json!({}))
        }
    });
    let blocks = T::timeout(blocks, std::time::Duration::from_millis(1));
    // Its timeout counts the wait for a slot, so it fails if it never gets one.
    let works = T::simple("works", "Works", |_| async { Ok(json!({"done": true})) });
    let works = T::timeout(works, std::time::Duration::from_secs(20));
    let engine = Engine::in_memory()
        .running_max(1)
        .agent("a", Agent::new().model("m").tools(blocks | works));
    let engine = engine.open().await.unwrap();
    let one = engine.session("a").open().await.unwrap();
    let other = engine.session("a").open().await.unwrap();
    let by = || Actor::embedder("test");
    let cut_off = one.call_function("blocks", json!({}), by()).await;
    assert!(matches!(cut_off, Err(ToolError::Timeout(_))), "{cut_off:?}");
    let done = other.call_function("works", json!({}), by()).await;
    assert_eq!(done.unwrap(), json!({"done": true}));
    go_on.send(()).unwrap();
}
