//! A dispatcher without an engine runs calls under the same policies and records them, and every
//! caller gets an answer.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use recount::prelude::*;
use recount::session::{Decision, Event, Fact, Observation, Outcome, Seq};
use recount::tool::ToolOutcome;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::{Instant, advance};
use tokio_util::sync::CancellationToken;

/// A tool that gets its context and returns any outcome.
struct Probe<F> {
    name: &'static str,
    run: F,
}

#[async_trait]
impl<F, Fut> ToolFunction for Probe<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ToolOutcome> + Send,
{
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "Does what the test says"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Err(ToolError::Other("a probe needs its context".to_owned()))
    }
    async fn invoke(&self, args: Value, context: ToolContext) -> ToolOutcome {
        (self.run)(args, context).await
    }
}

fn probe<F, Fut>(name: &'static str, run: F) -> Toolset
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ToolOutcome> + Send + 'static,
{
    T::function(Arc::new(Probe { name, run }))
}

/// A tool that streams as many values as its arguments say.
struct Chunks;

#[async_trait]
impl StreamingTool for Chunks {
    fn name(&self) -> &str {
        "chunks"
    }
    fn description(&self) -> &str {
        "Gives values"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, args: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError> {
        for n in 0..args["n"].as_u64().unwrap_or_default() {
            let sent = yield_tx.send(json!(n)).await;
            sent.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        }
        if args["fails"] == json!(true) {
            return Err(ToolError::ExecutionFailed("as asked".to_owned()));
        }
        Ok(())
    }
}

/// A guard that sets a flag when the future that holds it is dropped.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn dispatcher(tools: impl Into<Toolset>) -> ToolDispatcher {
    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(tools).unwrap();
    dispatcher
}

/// A tool that counts its runs and returns the number of the run.
fn counted(name: &'static str, runs: &Arc<AtomicUsize>) -> Toolset {
    let runs = runs.clone();
    T::simple(name, "Counts", move |_| {
        let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(json!({ "run": run })) }
    })
}

/// A tool that counts its runs and waits for a permit of the gate.
fn held(name: &'static str, runs: &Arc<AtomicUsize>, gate: &Arc<Semaphore>) -> Toolset {
    let (runs, gate) = (runs.clone(), gate.clone());
    T::simple(name, "Is held up", move |_| {
        let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
        let gate = gate.clone();
        async move {
            gate.acquire().await.unwrap().forget();
            Ok(json!({ "run": run }))
        }
    })
}

fn kinds(tools: &ToolDispatcher) -> Vec<&'static str> {
    let facts = tools.recorded();
    facts.iter().map(|fact| fact.event.kind()).collect()
}

fn count(tools: &ToolDispatcher, kind: &str) -> usize {
    kinds(tools).iter().filter(|it| **it == kind).count()
}

fn decisions(tools: &ToolDispatcher) -> Vec<Decision> {
    let facts = tools.recorded().into_iter();
    facts
        .filter_map(|fact| match fact.event {
            Event::Decided(decision) => Some(decision),
            Event::Observed(_) => None,
        })
        .collect()
}

/// The outcomes of the calls, in order.
fn outcomes(tools: &ToolDispatcher) -> Vec<Outcome> {
    let decided = decisions(tools).into_iter();
    decided
        .filter_map(|decision| {
            if let Decision::ResponseIssued(it) = decision {
                Some(it.outcome)
            } else {
                None
            }
        })
        .collect()
}

/// Yields to other tasks until `come` holds.
async fn until(come: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if come() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never came");
}

/// Runs `work` with a timeout of one day of the paused clock, which advances when all tasks are
/// idle.
async fn in_time<T>(work: impl Future<Output = T>) -> T {
    let day = Duration::from_secs(24 * 60 * 60);
    tokio::time::timeout(day, work).await.unwrap()
}

#[tokio::test]
async fn unknown_tool_is_named_to_caller_and_in_record() {
    let tools = dispatcher(counted("there", &Arc::default()));
    for name in ["nothing", "", "a \"b\"\\c\n\u{7f}"] {
        let unknown = tools.call_function(name, json!({})).await;
        assert_eq!(unknown, Err(ToolError::NotFound(name.to_owned())));
    }
    assert_eq!(outcomes(&tools), [Outcome::Refused; 3]);
    assert_eq!(count(&tools, "call_started"), 0);
}

#[tokio::test]
async fn invalid_arguments_never_reach_the_tool() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counts = runs.clone();
    let schema = json!({"type": "object", "properties": {"amount": {"type": "integer"}},
        "required": ["amount"]});
    let tools = dispatcher(T::simple_with("pay", "Pays", schema, move |_| {
        counts.fetch_add(1, Ordering::SeqCst);
        async { Ok(json!({})) }
    }));
    for args in [json!({}), json!({"amount": "4"}), json!([]), json!(null)] {
        let wrong = tools.call_function("pay", args).await.unwrap_err();
        assert!(
            matches!(&wrong, ToolError::InvalidArgs(told) if !told.starts_with("invalid")),
            "{wrong:?}"
        );
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert_eq!(outcomes(&tools), [Outcome::Refused; 4]);
    assert_eq!(
        tools.call_function("pay", json!({"amount": 4})).await,
        Ok(json!({}))
    );
}

#[tokio::test]
async fn caller_gets_raw_value_and_record_has_model_form() {
    let tools = dispatcher(T::simple("echo", "Echoes", |args| async move {
        Ok(args["it"].clone())
    }));
    let values = [
        json!({"a": 1}),
        json!([1]),
        json!(7),
        json!("x"),
        json!(null),
    ];
    for value in &values {
        let given = tools.call_function("echo", json!({ "it": value })).await;
        assert_eq!(given.as_ref(), Ok(value));
    }
    let recorded: Vec<Value> = returned(&tools)
        .iter()
        .map(|it| it.response.to_value())
        .collect();
    assert_eq!(
        recorded,
        [
            json!({"a": 1}),
            json!({"output": [1]}),
            json!({"output": 7}),
            json!({"output": "x"}),
            json!({"output": null})
        ]
    );
    assert_eq!(
        kinds(&tools).get(..2),
        Some(["session_opened", "runner_attached"].as_slice())
    );
    let seqs: Vec<Seq> = tools.recorded().iter().map(|fact| fact.seq).collect();
    assert!(
        seqs.iter().copied().eq((1..).map(Seq).take(seqs.len())),
        "{seqs:?}"
    );
}

#[tokio::test]
async fn a_panic_is_a_failure_of_its_call_alone() {
    let tools = dispatcher(
        probe("at_once", |args, _| {
            assert!(args["fine"] == json!(true), "at once");
            async { ToolOutcome::Returned(json!("fine")) }
        }) | probe("later", |_, _| async {
            tokio::task::yield_now().await;
            panic!("later")
        }),
    );
    for (name, word) in [("at_once", "at once"), ("later", "later")] {
        let failed = tools.call_function(name, json!({})).await;
        assert!(
            matches!(&failed, Err(ToolError::ExecutionFailed(told)) if told.contains(word)),
            "{failed:?}"
        );
    }
    let fine = tools.call_function("at_once", json!({"fine": true})).await;
    assert_eq!(fine, Ok(json!("fine")));
    assert_eq!(
        outcomes(&tools),
        [Outcome::Failed, Outcome::Failed, Outcome::Returned]
    );
}

#[tokio::test(start_paused = true)]
async fn timeout_drops_tool_fires_its_token_and_is_recorded_once() {
    let gone = Arc::new(AtomicBool::new(false));
    let token = Arc::new(Mutex::new(None));
    let (flag, kept) = (gone.clone(), token.clone());
    let tools = dispatcher(probe("hang", move |_, context| {
        let flag = Gone(flag.clone());
        *kept.lock().unwrap() = Some(context.cancellation.clone());
        async move {
            let _flag = flag;
            std::future::pending().await
        }
    }))
    .with_timeout(Duration::from_secs(5));
    let began = Instant::now();
    let late = tools.call_function("hang", json!({})).await;
    assert_eq!(late, Err(ToolError::Timeout(Duration::from_secs(5))));
    assert_eq!(began.elapsed().as_secs(), 5);
    assert!(gone.load(Ordering::SeqCst), "the tool's future lives on");
    assert!(token.lock().unwrap().as_ref().unwrap().is_cancelled());
    assert_eq!(count(&tools, "deadline_passed"), 1);
    assert_eq!(count(&tools, "tool_returned"), 0);
    assert_eq!(outcomes(&tools), [Outcome::TimedOut]);
    let facts = tools.recorded();
    let due = facts.iter().find_map(|fact| match &fact.event {
        Event::Observed(Observation::DeadlinePassed(it)) => Some(it.due_us),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    let deadline = decisions(&tools).into_iter().find_map(|decision| {
        if let Decision::CallStarted(it) = decision {
            it.deadline_us
        } else {
            None
        }
    });
    assert_eq!(due, deadline);
}

#[tokio::test(start_paused = true)]
async fn caller_timeout_overrides_tool_timeout_overrides_default() {
    let ends = Arc::new(Notify::new());
    let slow = |name| {
        let ends = ends.clone();
        T::simple(name, "Ends when it is told to", move |_| {
            let ends = ends.clone();
            async move {
                ends.notified().await;
                Ok(json!("done"))
            }
        })
    };
    let ends_after_50_s = async || {
        advance(Duration::from_secs(50)).await;
        ends.notify_waiters();
    };
    let tools = dispatcher(T::timeout(slow("patient"), Duration::from_secs(60)) | slow("hasty"))
        .with_timeout(Duration::from_secs(10));
    let seconds = |seconds| Err(ToolError::Timeout(Duration::from_secs(seconds)));
    let done = Ok(json!("done"));
    let patient = tools.call_function("patient", json!({}));
    assert_eq!(tokio::join!(biased; patient, ends_after_50_s()).0, done);
    assert_eq!(tools.call_function("hasty", json!({})).await, seconds(10));
    for name in ["patient", "hasty"] {
        let own = Duration::from_secs(20);
        let ended = tools.call_function_with_timeout(name, json!({}), own);
        assert_eq!(ended.await, seconds(20));
    }
    let own = Duration::from_secs(55);
    let hasty = tools.call_function_with_timeout("hasty", json!({}), own);
    assert_eq!(tokio::join!(biased; hasty, ends_after_50_s()).0, done);
}

#[tokio::test]
async fn cancelled_call_drops_tool_fires_its_token_and_runs_no_more() {
    let (gone, steps) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let token = Arc::new(Mutex::new(None));
    let (flag, stepped, kept) = (gone.clone(), steps.clone(), token.clone());
    let tools = Arc::new(dispatcher(probe("hang", move |_, context| {
        let (flag, stepped) = (Gone(flag.clone()), stepped.clone());
        *kept.lock().unwrap() = Some(context.cancellation.clone());
        async move {
            let _flag = flag;
            loop {
                stepped.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        }
    })));
    let cancel = CancellationToken::new();
    let call = {
        let (tools, cancel) = (tools.clone(), cancel.clone());
        tokio::spawn(async move {
            tools
                .call_function_with_cancel("hang", json!({}), cancel)
                .await
        })
    };
    until(|| steps.load(Ordering::SeqCst) > 3).await;
    cancel.cancel();
    assert!(matches!(call.await.unwrap(), Err(ToolError::Cancelled(_))));
    assert!(gone.load(Ordering::SeqCst), "the tool's future lives on");
    assert!(token.lock().unwrap().as_ref().unwrap().is_cancelled());
    let at_the_end = steps.load(Ordering::SeqCst);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(steps.load(Ordering::SeqCst), at_the_end);
    assert_eq!(outcomes(&tools), [Outcome::Cancelled]);
    assert_eq!(count(&tools, "operator_cancelled"), 1);
    let too_late = tools
        .call_function_with_cancel("hang", json!({}), cancel)
        .await;
    assert!(matches!(too_late, Err(ToolError::Cancelled(_))));
    assert_eq!(steps.load(Ordering::SeqCst), at_the_end);
}

#[tokio::test]
async fn only_caller_fires_the_token_of_caller() {
    let gate = Arc::new(Semaphore::new(0));
    let runs = Arc::new(AtomicUsize::new(0));
    let tools = Arc::new(
        dispatcher(held("held", &runs, &gate) | T::confirm(counted("asked", &runs), "May it?"))
            .with_confirmation_provider(Arc::new(|_| async { panic!("out of order") })),
    );
    let cancel = CancellationToken::new();
    let call = {
        let (tools, cancel) = (tools.clone(), cancel.clone());
        tokio::spawn(async move {
            tools
                .call_function_with_cancel("held", json!({}), cancel)
                .await
        })
    };
    until(|| runs.load(Ordering::SeqCst) == 1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(outcomes(&tools), [Outcome::Cancelled]);
    let asked = tools
        .call_function_with_cancel("asked", json!({}), cancel.clone())
        .await;
    assert!(matches!(asked, Err(ToolError::Cancelled(_))), "{asked:?}");
    assert!(
        !cancel.is_cancelled(),
        "a call that was dropped fired the token of others"
    );
}

#[tokio::test]
async fn one_of_ten_equal_cached_calls_runs_in_any_key_order() {
    let (runs, gate) = (Arc::default(), Arc::new(Semaphore::new(0)));
    let tools = Arc::new(dispatcher(T::cached(held("look_up", &runs, &gate))));
    let calls = ten_equal(&tools);
    until(|| count(&tools, "call_ready") == 10).await;
    gate.add_permits(10);
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(json!({"run": 1})));
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(count(&tools, "result_reused"), 9);
    let later = tools
        .call_function("look_up", json!({"b": 2, "a": 1}))
        .await;
    assert_eq!(later, Ok(json!({"run": 1})));
    let other = tools.call_function("look_up", json!({"a": 1})).await;
    assert_eq!(other, Ok(json!({"run": 2})));
}

#[tokio::test]
async fn when_the_call_that_runs_for_ten_is_dropped_the_next_runs() {
    let (runs, gate) = (Arc::default(), Arc::new(Semaphore::new(0)));
    let tools = Arc::new(dispatcher(T::cached(held("look_up", &runs, &gate))));
    let mut calls = ten_equal(&tools);
    until(|| count(&tools, "call_ready") == 10).await;
    // The first call runs for the others. The last one only waits, so dropping it changes nothing.
    for (dropped, runs_then) in [(0, 2), (8, 2), (0, 3)] {
        let dropped = calls.remove(dropped);
        dropped.abort();
        assert!(dropped.await.unwrap_err().is_cancelled());
        until(|| runs.load(Ordering::SeqCst) == runs_then).await;
    }
    gate.add_permits(10);
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(json!({"run": 3})));
    }
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn waiters_survive_timeout_or_retry_of_shared_call() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counts = runs.clone();
    let hangs_once = T::simple("look_up", "Hangs once", move |_| {
        let first = counts.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if first {
                std::future::pending::<()>().await;
            }
            Ok(json!("found"))
        }
    });
    let retried = T::idempotent(T::retry(
        T::simple("fails", "Fails", |_| async {
            Err(ToolError::ExecutionFailed("no".into()))
        }),
        2,
        Duration::from_secs(1000),
    ));
    let tools = Arc::new(dispatcher(T::cached(hangs_once) | T::cached(retried)));
    let mut calls = ten_equal(&tools);
    let first = calls.remove(0);
    assert_eq!(
        first.await.unwrap(),
        Err(ToolError::Timeout(Duration::from_secs(30)))
    );
    for call in calls {
        assert_eq!(in_time(call).await.unwrap(), Ok(json!("found")));
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    let fails = || {
        let tools = tools.clone();
        tokio::spawn(async move { tools.call_function("fails", json!({})).await })
    };
    let (waits, waits_for_it) = (fails(), fails());
    until(|| count(&tools, "retry_scheduled") == 1).await;
    waits.abort();
    assert!(waits.await.unwrap_err().is_cancelled());
    assert_eq!(
        in_time(waits_for_it).await.unwrap(),
        Err(ToolError::ExecutionFailed("no".into()))
    );
    assert_eq!(count(&tools, "retry_scheduled"), 2);
}

#[tokio::test]
async fn a_failure_is_not_kept() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counts = runs.clone();
    let tools = dispatcher(T::cached(T::simple("look_up", "Fails once", move |_| {
        let run = counts.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            if run == 1 {
                return Err(ToolError::ExecutionFailed("not yet".into()));
            }
            Ok(json!(run))
        }
    })));
    let call = || tools.call_function("look_up", json!({"id": 7}));
    assert_eq!(
        call().await,
        Err(ToolError::ExecutionFailed("not yet".into()))
    );
    assert_eq!(call().await, Ok(json!(2)));
    assert_eq!(call().await, Ok(json!(2)));
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

/// Ten calls with the same arguments, in both orders of their keys.
fn ten_equal(
    tools: &Arc<ToolDispatcher>,
) -> Vec<tokio::task::JoinHandle<Result<Value, ToolError>>> {
    (0..10)
        .map(|n| {
            let (tools, text) = (tools.clone(), [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#]);
            let args = serde_json::from_str(text.get(n % 2).unwrap()).unwrap();
            tokio::spawn(async move { tools.call_function("look_up", args).await })
        })
        .collect()
}

#[tokio::test]
async fn a_gate_without_anybody_to_ask_is_waived_on_record() {
    let runs = Arc::new(AtomicUsize::new(0));
    let tools = dispatcher(T::confirm(counted("pay", &runs), "Pay?"));
    assert_eq!(
        tools.call_function("pay", json!({})).await,
        Ok(json!({"run": 1}))
    );
    assert!(
        waived(&tools)
            .unwrap()
            .contains("without a confirmation provider")
    );
}

/// The recorded reason for a waived gate.
fn waived(tools: &ToolDispatcher) -> Option<String> {
    decisions(tools).into_iter().find_map(|decision| {
        if let Decision::GateWaived(it) = decision {
            Some(it.reason)
        } else {
            None
        }
    })
}

#[tokio::test]
async fn strict_dispatcher_without_approver_runs_nothing_gated() {
    let runs = Arc::new(AtomicUsize::new(0));
    let gated = || T::confirm(counted("pay", &runs), "Pay?");
    let call = async |tools: &ToolDispatcher| tools.call_function("pay", json!({})).await;
    let strict = || ToolDispatcher::new().strict();
    let with = |mut dispatcher: ToolDispatcher, tools: Toolset| {
        dispatcher.register(tools).unwrap();
        dispatcher
    };
    for tools in [
        with(strict(), gated()),
        dispatcher(gated()).strict(),
        // The dispatcher stays strict if its tools are registered with another.
        with(ToolDispatcher::new(), gated() | strict()),
        dispatcher(dispatcher(gated()).strict()),
    ] {
        let refused = call(&tools).await;
        let Err(ToolError::Cancelled(told)) = &refused else {
            panic!("{refused:?}")
        };
        assert!(told.contains("no approver to ask"), "{told}");
        assert_eq!(waived(&tools), None);
        let asked = decisions(&tools).into_iter();
        let mut asked = asked.filter(|it| matches!(it, Decision::ConfirmationRequested(_)));
        assert!(asked.next().is_some());
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    let answered = dispatcher(gated())
        .strict()
        .with_confirmation_provider(StaticConfirmation::allow_all());
    assert_eq!(call(&answered).await, Ok(json!({"run": 1})));
}

#[tokio::test]
async fn waived_gates_of_dispatcher_are_recorded() {
    let runs = Arc::new(AtomicUsize::new(0));
    let gated = T::confirm(counted("pay", &runs), "Pay?");
    // The provider that denies everything is not asked.
    let tools = dispatcher(gated)
        .with_confirmation_provider(StaticConfirmation::deny_all("no"))
        .unenforced_confirmations();
    let ran = tools.call_function("pay", json!({})).await;
    assert_eq!(ran, Ok(json!({"run": 1})));
    assert_eq!(
        waived(&tools).as_deref(),
        Some("the embedding program chose unenforced confirmations")
    );
    let strict = tools.strict();
    assert!(strict.call_function("pay", json!({})).await.is_err());
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_provider_is_asked_and_what_it_agrees_to_is_what_runs() {
    let (asked, ran) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(Mutex::new(Vec::new())),
    );
    let (asks, runs) = (asked.clone(), ran.clone());
    let provider = move |request: ConfirmationRequest| {
        asks.lock().unwrap().push(request.clone());
        async move {
            // The payload of a yes does not change the approved arguments.
            match request.args["amount"].as_u64() {
                Some(..100) => ToolConfirmation::confirmed().with_payload(json!({"amount": 1})),
                Some(_) | None => ToolConfirmation::denied("too much"),
            }
        }
    };
    let pay = TypedTool::with_context("pay", "Pays", move |args: Value, _: ToolContext| {
        runs.lock().unwrap().push(args.clone());
        async move { Ok(args) }
    });
    let pay = T::confirm_payload(T::confirm(pay, "Pay?"), json!({"type": "object"}));
    let tools = dispatcher(pay).with_confirmation_provider(Arc::new(provider));
    let paid = tools.call_function("pay", json!({"amount": 99})).await;
    assert_eq!(paid, Ok(json!({"amount": 99})));
    let denied = tools.call_function("pay", json!({"amount": 100})).await;
    assert!(
        matches!(&denied, Err(ToolError::Cancelled(told)) if told.contains("too much")),
        "{denied:?}"
    );
    assert_eq!(*ran.lock().unwrap(), [json!({"amount": 99})]);
    let asked = asked.lock().unwrap();
    let told: Vec<_> = asked
        .iter()
        .map(|it| {
            (
                it.tool_name.as_str(),
                it.args_text.as_str(),
                it.message.as_deref(),
            )
        })
        .collect();
    let hint = Some("Pay?");
    assert_eq!(
        told,
        [
            ("pay", r#"{"amount":99}"#, hint),
            ("pay", r#"{"amount":100}"#, hint)
        ]
    );
    assert_eq!(outcomes(&tools), [Outcome::Returned, Outcome::Denied]);
    let starts = decisions(&tools);
    let starts = starts
        .iter()
        .filter(|it| matches!(it, Decision::CallStarted(_)));
    assert_eq!(starts.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_or_never_answers_agrees_to_nothing() {
    /// A tool that panics before it returns a future.
    struct AtOnce;
    impl ConfirmationProvider for AtOnce {
        fn confirm<'a, 'b>(
            &'a self,
            _: ConfirmationRequest,
        ) -> std::pin::Pin<Box<dyn Future<Output = ToolConfirmation> + Send + 'b>>
        where
            'a: 'b,
            Self: 'b,
        {
            panic!("out of order")
        }
    }
    let runs = Arc::new(AtomicUsize::new(0));
    let gated = || T::confirm(counted("pay", &runs), "Pay?");
    let panics: [Arc<dyn ConfirmationProvider>; 2] = [
        Arc::new(AtOnce),
        Arc::new(|_| async { panic!("out of order") }),
    ];
    for provider in panics {
        let tools = dispatcher(gated()).with_confirmation_provider(provider);
        for _ in 0..2 {
            let ended = tools.call_function("pay", json!({})).await;
            assert!(
                matches!(&ended, Err(ToolError::Cancelled(told)) if told.contains("panicked")),
                "{ended:?}"
            );
        }
        assert_eq!(outcomes(&tools), [Outcome::Cancelled; 2]);
    }
    let never = || Arc::new(|_| std::future::pending::<ToolConfirmation>());
    let cancel = CancellationToken::new();
    let tools = dispatcher(gated()).with_confirmation_provider(never());
    let call = tools.call_function_with_cancel("pay", json!({}), cancel.clone());
    let (ended, ()) = tokio::join!(call, async {
        until(|| count(&tools, "confirmation_requested") == 1).await;
        cancel.cancel();
    });
    assert!(matches!(ended, Err(ToolError::Cancelled(_))), "{ended:?}");
    assert_eq!(outcomes(&tools), [Outcome::Cancelled]);

    let within = T::confirm_within(counted("pay", &runs), "Pay?", Duration::from_secs(600));
    let tools = dispatcher(within).with_confirmation_provider(never());
    let began = Instant::now();
    let expired = tools.call_function("pay", json!({})).await;
    assert!(
        matches!(&expired, Err(ToolError::Cancelled(told))
            if told.contains("not approved in time")),
        "{expired:?}"
    );
    assert_eq!(began.elapsed().as_secs(), 600);
    assert_eq!(outcomes(&tools), [Outcome::Expired]);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn failed_run_is_retried_under_same_key_with_backoff() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let runs = seen.clone();
    let flaky = probe("send", move |args, context| {
        let mut seen = runs.lock().unwrap();
        let key = context.idempotency_key();
        seen.push((Instant::now(), context.attempt, key, args.clone()));
        let good = context.attempt >= 3 && args["never"] != json!(true);
        async move {
            if good {
                return ToolOutcome::Returned(json!("sent"));
            }
            Err(ToolError::ExecutionFailed("busy".into())).into()
        }
    });
    let tools = dispatcher(T::idempotent(T::retry(
        flaky,
        3,
        Duration::from_millis(200),
    )));
    let args = json!({"to": "ada"});
    assert_eq!(
        tools.call_function("send", args.clone()).await,
        Ok(json!("sent"))
    );
    {
        let seen = seen.lock().unwrap();
        let [first, second, third] = seen.as_slice() else {
            panic!("{seen:?}")
        };
        let waits = [second.0 - first.0, third.0 - second.0].map(|it| it.as_millis());
        assert_eq!(waits, [200, 400]);
        assert_eq!([first.1, second.1, third.1], [1, 2, 3]);
        assert!(first.2 == second.2 && second.2 == third.2, "{seen:?}");
        assert!(seen.iter().all(|run| run.3 == args), "{seen:?}");
    }
    assert_eq!(attempts(&tools), [1, 2, 3]);
    let key_before = seen.lock().unwrap().first().unwrap().2.clone();
    let failed = tools.call_function("send", json!({"never": true})).await;
    assert_eq!(failed, Err(ToolError::ExecutionFailed("busy".into())));
    assert_eq!(attempts(&tools), [1, 2, 3, 1, 2, 3]);
    assert_ne!(seen.lock().unwrap().last().unwrap().2, key_before);
    assert_eq!(outcomes(&tools), [Outcome::Returned, Outcome::Failed]);
}

/// The recorded attempts of all calls.
fn attempts(tools: &ToolDispatcher) -> Vec<u32> {
    let decided = decisions(tools).into_iter();
    decided
        .filter_map(|decision| {
            if let Decision::CallStarted(it) = decision {
                Some(it.attempt)
            } else {
                None
            }
        })
        .collect()
}

#[tokio::test]
async fn a_limit_counts_what_was_let_through_and_no_more_gets_through() {
    let runs = Arc::new(AtomicUsize::new(0));
    let tools = dispatcher(
        T::limit_per_session(counted("twice", &runs), 2)
            | T::cached(T::limit_per_session(counted("cached", &runs), 1))
            | T::limit_per_minute(counted("a_minute", &runs), 1),
    );
    let call = |name| tools.call_function(name, json!({}));
    for _ in 0..2 {
        assert!(call("twice").await.is_ok());
    }
    for _ in 0..2 {
        let refused = call("twice").await;
        assert!(
            matches!(&refused, Err(ToolError::LimitReached(told)) if told.contains('2')),
            "{refused:?}"
        );
    }
    // A reused result does not count towards the limit.
    for _ in 0..3 {
        assert!(call("cached").await.is_ok());
    }
    let other = tools.call_function("cached", json!({"n": 1})).await;
    assert!(
        matches!(other, Err(ToolError::LimitReached(_))),
        "{other:?}"
    );
    assert!(call("a_minute").await.is_ok());
    let refused = call("a_minute").await;
    assert!(
        matches!(refused, Err(ToolError::LimitReached(_))),
        "{refused:?}"
    );
    assert_eq!(runs.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn conditional_tool_is_available_once_state_satisfies_condition() {
    let runs = Arc::new(AtomicUsize::new(0));
    let verify = probe("verify", |_, context| async move {
        context.state.set("verified", true);
        ToolOutcome::Returned(json!({}))
    });
    let pay = T::when(counted("pay", &runs), S::is_true("verified"));
    let tools = dispatcher(verify | pay);
    let refused = tools.call_function("pay", json!({})).await;
    assert!(
        matches!(refused, Err(ToolError::NotAvailable(_))),
        "{refused:?}"
    );
    tools.call_function("verify", json!({})).await.unwrap();
    assert_eq!(
        tools.call_function("pay", json!({})).await,
        Ok(json!({"run": 1}))
    );
}

#[tokio::test]
async fn tools_share_the_state_and_what_a_failed_run_wrote_is_dropped() {
    let tools = dispatcher(
        probe("write", |args, context| async move {
            context.state.set("n", args["n"].clone());
            context.state.set("temp:n", args["n"].clone());
            if let Some(key) = args["key"].as_str() {
                context.state.set(key, 1);
            }
            match args["fails"].as_str() {
                Some("panic") => panic!("as asked"),
                Some(_) => Err(ToolError::ExecutionFailed("as asked".into())).into(),
                None => ToolOutcome::Returned(json!({})),
            }
        }) | probe("read", |_, context| async move {
            let read = |key| context.state.get_json(key).map(|it| it.to_value());
            ToolOutcome::Returned(json!([read("n"), read("temp:n"), read("key")]))
        }) | T::long_running(probe("begin", |_, context| async move {
            context.state.set("key", "begun");
            ToolOutcome::Returned(json!({"ticket": 7}))
        })),
    );
    let write = |args| tools.call_function("write", args);
    let read = || tools.call_function("read", json!({}));
    assert_eq!(read().await, Ok(json!([null, null, null])));
    write(json!({"n": 1})).await.unwrap();
    assert_eq!(read().await, Ok(json!([1, 1, null])));
    write(json!({"n": 2, "fails": "error"})).await.unwrap_err();
    write(json!({"n": 3, "fails": "panic"})).await.unwrap_err();
    // A write that is not recorded cannot be rolled back.
    assert_eq!(read().await, Ok(json!([1, 3, null])));
    let unfit = write(json!({"n": 4, "key": ""})).await;
    assert!(
        matches!(&unfit, Err(ToolError::ExecutionFailed(told))
            if told.contains("must not be empty")),
        "{unfit:?}"
    );
    assert_eq!(read().await, Ok(json!([1, 4, null])));
    // The writes of a long-running tool apply when it returns its first result.
    assert_eq!(
        tools.call_function("begin", json!({})).await,
        Ok(json!({"ticket": 7}))
    );
    assert_eq!(read().await, Ok(json!([1, 4, "begun"])));
    let changed: Vec<String> = tools
        .recorded()
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::Observed(Observation::StateChanged(it)) => Some(&it.changes),
            Event::Observed(_) | Event::Decided(_) => None,
        })
        .flatten()
        .map(|change| change.key.clone())
        .collect();
    assert_eq!(changed, ["n", "key"]);
}

#[tokio::test]
async fn a_streaming_tool_gives_all_its_values_and_each_is_on_record() {
    let tools = dispatcher(T::streaming(Arc::new(Chunks)));
    for n in [3, 1, 0] {
        let given = tools.call_function("chunks", json!({ "n": n })).await;
        let all: Vec<u64> = (0..n).collect();
        assert_eq!(given, Ok(json!(all)));
    }
    let failed = tools
        .call_function("chunks", json!({"n": 2, "fails": true}))
        .await;
    assert_eq!(failed, Err(ToolError::ExecutionFailed("as asked".into())));
    let yielded: Vec<Value> = tools
        .recorded()
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::Observed(Observation::ToolYielded(it)) => Some(it.response.to_value()),
            Event::Observed(_) | Event::Decided(_) => None,
        })
        .collect();
    let output = |n: u64| json!({ "output": n });
    assert_eq!(yielded, [0, 1, 2, 0, 0, 1].map(output));
}

#[tokio::test]
async fn a_long_running_tool_gives_what_it_says_meanwhile() {
    let tools = dispatcher(
        T::long_running(T::simple("begin", "Begins", |args| async move {
            Ok(args["say"].clone())
        })) | probe("pauses", |_, _| async {
            ToolOutcome::Paused(Pending::with_interim(json!({"ticket": "R-17"})))
        }),
    );
    for said in [json!({"ticket": 1}), json!({}), json!(null)] {
        let given = tools.call_function("begin", json!({ "say": said })).await;
        assert_eq!(given, Ok(said));
    }
    let given = tools.call_function("pauses", json!({})).await;
    assert_eq!(given, Ok(json!({"ticket": "R-17"})));
    assert_eq!(count(&tools, "tool_paused"), 4);
    assert_eq!(count(&tools, "tool_returned"), 0);
    // The results can never be supplied, so each call ends with its interim result.
    let ended = |it: &&Outcome| **it == Outcome::Cancelled;
    assert_eq!(outcomes(&tools).iter().filter(ended).count(), 4);
}

#[tokio::test]
async fn a_result_that_says_when_it_is_taken_up_says_so_on_record() {
    let tools = dispatcher(probe("alarm", |_, _| async {
        ToolOutcome::Scheduled(json!({"fire": true}), FunctionResponseScheduling::Interrupt)
    }));
    assert_eq!(
        tools.call_function("alarm", json!({})).await,
        Ok(json!({"fire": true}))
    );
    let scheduled: Vec<_> = returned(&tools)
        .into_iter()
        .map(|it| it.scheduling)
        .collect();
    assert_eq!(scheduled, [Some(FunctionResponseScheduling::Interrupt)]);
}

fn returned(tools: &ToolDispatcher) -> Vec<recount::session::ToolReturned> {
    let facts = tools.recorded().into_iter();
    facts
        .filter_map(|fact| match fact.event {
            Event::Observed(Observation::ToolReturned(it)) => Some(it),
            Event::Observed(_) | Event::Decided(_) => None,
        })
        .collect()
}

#[tokio::test]
async fn later_tools_policies_and_provider_apply_to_same_session() {
    let runs = Arc::new(AtomicUsize::new(0));
    let mut tools = dispatcher(T::cached(counted("look_up", &runs)));
    assert_eq!(
        tools.call_function("look_up", json!({})).await,
        Ok(json!({"run": 1}))
    );
    let unknown = tools.call_function("pay", json!({})).await;
    assert_eq!(unknown, Err(ToolError::NotFound("pay".into())));
    tools
        .register(T::confirm(counted("pay", &runs), "Pay?"))
        .unwrap();
    assert_eq!(
        tools.call_function("pay", json!({})).await,
        Ok(json!({"run": 2}))
    );
    assert_eq!(
        tools.call_function("look_up", json!({})).await,
        Ok(json!({"run": 1}))
    );
    tools.set_confirmation_provider(StaticConfirmation::deny_all("closed"));
    let denied = tools.call_function("pay", json!({})).await;
    assert!(matches!(denied, Err(ToolError::Cancelled(_))), "{denied:?}");
    tools
        .register_or_replace(T::limit_per_session(counted("pay", &runs), 2))
        .unwrap();
    let refused = tools.call_function("pay", json!({})).await;
    assert!(
        matches!(refused, Err(ToolError::LimitReached(_))),
        "{refused:?}"
    );
    assert_eq!(count(&tools, "session_opened"), 1);
    assert_eq!(count(&tools, "runner_attached"), 4);
}

#[tokio::test]
async fn a_clone_begins_a_session_of_its_own() {
    let runs = Arc::new(AtomicUsize::new(0));
    let tools = dispatcher(
        T::limit_per_session(T::cached(counted("look_up", &runs)), 1)
            | probe("count", |_, context| async move {
                let n = context.state.get::<u64>("n").unwrap_or(0) + 1;
                context.state.set("n", n);
                context.state.set("temp:n", n);
                ToolOutcome::Returned(json!([
                    context.session.to_string(),
                    n,
                    context.state.get::<u64>("temp:n")
                ]))
            }),
    );
    let mut sessions = BTreeSet::new();
    let mut tools = tools;
    // Each dispatcher is a clone of a used one.
    for run in 1..=3 {
        assert_eq!(tools.recorded(), Vec::<Fact>::new());
        let looked_up = tools.call_function("look_up", json!({})).await;
        assert_eq!(looked_up, Ok(json!({ "run": run })));
        let counted = tools.call_function("count", json!({})).await.unwrap();
        assert_eq!((&counted[1], &counted[2]), (&json!(1), &json!(1)));
        sessions.insert(counted[0].to_string());
        tools = tools.clone();
    }
    assert_eq!(sessions.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_call_the_dispatcher_it_is_in() {
    let own = Arc::new(OnceLock::<Weak<ToolDispatcher>>::new());
    let inner = own.clone();
    let countdown = probe("countdown", move |args, _| {
        let tools = inner.get().unwrap().upgrade().unwrap();
        async move {
            let n = args["n"].as_u64().unwrap();
            if n == 0 {
                return ToolOutcome::Returned(json!([]));
            }
            let rest = tools.call_function("countdown", json!({"n": n - 1}));
            // Boxed, because the future contains itself.
            let rest: std::pin::Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(rest);
            match rest.await {
                Ok(Value::Array(rest)) => {
                    let all = [json!(n)].into_iter().chain(rest).collect();
                    ToolOutcome::Returned(Value::Array(all))
                }
                other => other.into(),
            }
        }
    });
    let inner = own.clone();
    let of_itself = probe("of_itself", move |args, _| {
        let tools = inner.get().unwrap().upgrade().unwrap();
        async move {
            let same: std::pin::Pin<Box<dyn Future<Output = _> + Send>> =
                Box::pin(async move { tools.call_function("of_itself", args).await });
            same.await.into()
        }
    });
    let tools = Arc::new(dispatcher(T::cached(countdown) | T::cached(of_itself)));
    own.set(Arc::downgrade(&tools)).unwrap();
    assert_eq!(
        tools.call_function("countdown", json!({"n": 3})).await,
        Ok(json!([3, 2, 1]))
    );
    assert_eq!(count(&tools, "call_started"), 4);
    // A call that waits for its own result never gets it, and ends by its timeout.
    let stuck = tools.call_function("of_itself", json!({})).await;
    assert_eq!(stuck, Err(ToolError::Timeout(Duration::from_secs(30))));
    assert_eq!(count(&tools, "function_call_received"), 6);
    assert_eq!(outcomes(&tools).len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_calls_at_once_each_get_their_own_result() {
    let runs = Arc::new(AtomicUsize::new(0));
    let echo = |name| {
        let runs = runs.clone();
        T::simple(name, "Echoes", move |args| {
            runs.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::task::yield_now().await;
                Ok(args)
            }
        })
    };
    let tools = Arc::new(dispatcher(echo("echo") | T::cached(echo("shared"))));
    let calls: Vec<_> = (0..1000)
        .map(|n| {
            let tools = tools.clone();
            let (name, n) = if n % 2 == 0 {
                ("echo", n)
            } else {
                ("shared", n % 10)
            };
            tokio::spawn(async move {
                let args = json!({ "n": n });
                assert_eq!(tools.call_function(name, args.clone()).await, Ok(args));
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    // The shared calls have five different arguments.
    assert_eq!(runs.load(Ordering::SeqCst), 505);
    assert_eq!(
        tools.recorded().last().unwrap().event.kind(),
        "response_issued"
    );
}

#[tokio::test]
async fn when_the_oldest_facts_are_gone_everything_goes_on() {
    let runs = Arc::new(AtomicUsize::new(0));
    let asked = Arc::new(AtomicUsize::new(0));
    let asks = asked.clone();
    let provider = move |request: ConfirmationRequest| {
        assert_eq!(request.message.as_deref(), Some("May it?"));
        asks.fetch_add(1, Ordering::SeqCst);
        async { ToolConfirmation::confirmed() }
    };
    let nothing = T::simple("nothing", "Does nothing", |_| async { Ok(json!({})) });
    let tools = dispatcher(
        T::cached(counted("look_up", &runs))
            | T::limit_per_session(T::confirm(nothing, "May it?"), 10_000),
    )
    .with_confirmation_provider(Arc::new(provider));
    let look_up = || tools.call_function("look_up", json!({}));
    assert_eq!(look_up().await, Ok(json!({"run": 1})));
    for _ in 0..10_000 {
        let done = tools.call_function("nothing", json!({})).await;
        assert_eq!(done, Ok(json!({})));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 10_000);
    let kept = tools.recorded();
    let first = kept.first().unwrap().seq;
    assert!(first > Seq(65_536), "nothing is forgotten: {first:?}");
    let seqs: Vec<Seq> = kept.iter().map(|fact| fact.seq).collect();
    assert!(
        seqs.iter()
            .copied()
            .eq((first.0..).map(Seq).take(seqs.len())),
        "{seqs:?}"
    );
    // Forgotten records still count: the cached result and the limit hold.
    assert_eq!(look_up().await, Ok(json!({"run": 1})));
    let refused = tools.call_function("nothing", json!({})).await;
    assert!(
        matches!(refused, Err(ToolError::LimitReached(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn dispatcher_without_a_provider_warns_of_gated_tools() {
    let written = tempfile::NamedTempFile::new().unwrap();
    let writer = written.reopen().unwrap();
    let subscriber = tracing_subscriber::fmt().with_writer(writer).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    for name in ["look", "pay"] {
        let tool = T::simple(name, "Does it", |_| async { Ok(json!(true)) });
        let mut tools = ToolDispatcher::new();
        let gated = name == "pay";
        let registered = if gated {
            tools.register(T::confirm(tool, "Really?"))
        } else {
            tools.register(tool)
        };
        registered.unwrap();
        tools.call_function(name, json!({})).await.unwrap();
    }
    let told = std::fs::read_to_string(written.path()).unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(
        told.contains("WITHOUT being approved") && told.contains("pay"),
        "{told}"
    );
}
