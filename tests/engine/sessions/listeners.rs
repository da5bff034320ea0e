//! Callbacks for the events of tools: they run once an event is recorded, and their failures affect
//! nothing else.

use std::sync::{Arc, Mutex};

use crate::surviving::SurvivingJournal;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::Seq;
use recount::testing::{Life, ManualClock, StuckJournal};
use recount::tool::{Emitted, ToolEvent};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Step {
    number: u64,
}

impl ToolEvent for Step {
    const NAME: &'static str = "step";
}

#[derive(Debug, Deserialize, Serialize)]
struct Other {}

impl ToolEvent for Other {
    const NAME: &'static str = "other";
}

/// An event type with the name of another type and another shape.
#[derive(Debug, Deserialize, Serialize)]
struct Misread {
    absent: String,
}

impl ToolEvent for Misread {
    const NAME: &'static str = "step";
}

/// Takes three steps.
#[tool]
async fn walk(context: ToolContext) -> Result<Value, ToolError> {
    // If the test wants it, all later appends block.
    if let Some(journal) = context.service::<Arc<StuckJournal>>() {
        journal.stick();
    }
    for number in 1..=3 {
        context.emit(&Step { number })?;
    }
    context.emit(&Other {})?;
    Ok(json!({"arrived": true}))
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u64>>>);

impl Heard {
    fn hear(&self) -> impl Fn(&Emitted<Step>) + Send + Sync + 'static + use<> {
        let heard = self.0.clone();
        move |it| heard.lock().unwrap().push(it.event.number)
    }

    fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn agent() -> Agent {
    Agent::new().model("none").tools(walk())
}

fn by() -> Actor {
    Actor::embedder("test")
}

fn life() -> Life {
    Life::begin(
        &SurvivingJournal::new(),
        &ManualClock::new(),
        [("a", agent())],
    )
}

fn walked(life: &Life, live: &LiveHandle) {
    let called = life.run(live.call_function("walk", json!({}), by()));
    assert_eq!(called, Ok(json!({"arrived": true})));
    life.settle();
}

#[test]
fn listener_receives_its_type_and_session_while_subscribed() {
    let life = life();
    let open = || life.run(life.engine().session("a").open()).unwrap();
    let (one, two) = (open(), open());
    let (of_one, of_all) = (Heard::default(), Heard::default());
    let hears_one = one.on(of_one.hear());
    let hears_all = life.engine().on(of_all.hear());
    walked(&life, &one);
    walked(&life, &two);
    assert_eq!(of_one.take(), [1, 2, 3]);
    assert_eq!(of_all.take(), [1, 2, 3, 1, 2, 3]);
    drop(hears_one);
    walked(&life, &one);
    assert_eq!((of_one.take(), of_all.take()), (vec![], vec![1, 2, 3]));
    drop(hears_all);
    walked(&life, &two);
    assert_eq!(of_all.take(), [0; 0]);
    life.end();
}

#[test]
fn a_listener_that_fails_fails_alone() {
    let life = life();
    let live = life.run(life.engine().session("a").open()).unwrap();
    let tries = Arc::new(Mutex::new(0));
    let (panics, errs) = (tries.clone(), tries.clone());
    let _panics = live.on(move |it: &Emitted<Step>| {
        *panics.lock().unwrap() += 1;
        assert_eq!(it.event.number, 0, "no step is zero");
    });
    let _errs = live.try_on(move |_: &Emitted<Step>| {
        *errs.lock().unwrap() += 1;
        Err::<(), _>("the screen is gone")
    });
    let _misread = live.on(|it: &Emitted<Misread>| panic!("read as {it:?}"));
    let heard = Heard::default();
    let _hears = live.on(heard.hear());
    let _drops_itself = {
        let engine = life.engine().clone();
        live.on(move |_: &Emitted<Step>| drop(engine.on(|_: &Emitted<Other>| {})))
    };
    walked(&life, &live);
    assert_eq!(heard.take(), [1, 2, 3]);
    assert_eq!(
        *tries.lock().unwrap(),
        6,
        "it is called again after it failed"
    );
    life.end();
}

#[test]
fn a_listener_hears_what_is_on_record_and_not_before() {
    let journal = StuckJournal::new();
    let agent = agent().service(journal.clone());
    let life = Life::begin(&journal, &ManualClock::new(), [("a", agent)]);
    let live = life.run(life.engine().session("a").open()).unwrap();
    let heard = Heard::default();
    let _hears = live.on(heard.hear());
    let engine = life.engine().clone();
    let id = live.session_id();
    let count = async |ledger: &Ledger| {
        let facts = ledger.facts(id, Seq(1), 1_000).await.unwrap();
        facts
            .iter()
            .filter_map(|fact| Step::read(&fact.event))
            .count()
    };
    life.run(async {
        let called = tokio::spawn(async move { live.call_function("walk", json!({}), by()).await });
        for _ in 0..500 {
            tokio::task::yield_now().await;
        }
        assert_eq!(heard.take(), [0; 0], "nothing is on record");
        assert_eq!(count(engine.ledger()).await, 0);
        journal.release();
        called.await.unwrap().unwrap();
    });
    life.settle();
    assert_eq!(heard.take(), [1, 2, 3]);
    assert_eq!(life.run(count(life.engine().ledger())), 3);
    life.end();
}

#[test]
fn a_shutdown_lets_listeners_hear_what_is_on_record() {
    let life = life();
    let live = life.run(life.engine().session("a").open()).unwrap();
    let heard = Heard::default();
    let _hears = live.on(heard.hear());
    life.run(async {
        live.call_function("walk", json!({}), by()).await.unwrap();
        life.engine()
            .shutdown(std::time::Duration::ZERO)
            .await
            .unwrap();
        assert_eq!(heard.take(), [1, 2, 3]);
    });
}

#[tokio::test]
async fn a_dispatcher_alone_is_listened_to_too() {
    let mut tools = ToolDispatcher::new();
    tools.register(walk()).unwrap();
    let heard = Heard::default();
    let fails = tools.try_on(|_: &Emitted<Step>| Err::<(), _>("no"));
    let panics = tools.on(|it: &Emitted<Step>| assert_eq!(it.event.number, 0));
    let hears = tools.on(heard.hear());
    let arrived = Ok(json!({"arrived": true}));
    assert_eq!(tools.call_function("walk", json!({})).await, arrived);
    assert_eq!(heard.take(), [1, 2, 3]);
    // A clone has a session of its own, without listeners.
    tools
        .clone()
        .call_function("walk", json!({}))
        .await
        .unwrap();
    assert_eq!(heard.take(), [0; 0]);
    drop(hears);
    tools.call_function("walk", json!({})).await.unwrap();
    assert_eq!(heard.take(), [0; 0]);
    drop((fails, panics));
}

#[tokio::test]
async fn a_dispatcher_alone_has_no_session_to_end() {
    let mut tools = ToolDispatcher::new();
    tools.register(T::defaults()).unwrap();
    let args = json!({"reason": "bye", "confirmed": true});
    let ended = tools.call_function("endSession", args).await;
    assert!(
        matches!(ended, Err(ToolError::NotAvailable(_))),
        "{ended:?}"
    );
    let context = tools.call_function("getContext", json!({})).await.unwrap();
    assert_eq!(context.get("state"), Some(&json!({})));
}
