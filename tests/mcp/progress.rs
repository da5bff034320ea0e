//! The progress that a server reports about a call: it extends the timeout or is sent as interim
//! results, as the policy says.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::Updates;
use recount::prelude::*;
use recount::session::{Event, Observation, Outcome, Progress, Seq};
use recount::testing::{ManualClock, ScriptedModel};

use crate::server::stdio;

const CALLS: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "s", "name": "slow"}]}]}
{"on": "otherwise", "once": false, "send": []}
"#;

/// A model whose call runs at the server until a test ends it, with a timeout of ten seconds.
struct Stage {
    live: LiveHandle,
    engine: Engine,
    clock: Arc<ManualClock>,
    model: ScriptedModel,
    updates: Updates,
}

impl Stage {
    async fn new(effect: Option<Progress>) -> Stage {
        let names = ["slow", "step", "finish"];
        let tools = names.map(|it| json!({"name": it, "inputSchema": {"type": "object"}}));
        let server = stdio(&json!({"raw": {"tools": tools, "answers": {}}}));
        let server = server.timeout(Duration::from_secs(10));
        let tools = T::mcp(server).await.unwrap();
        let tools = match effect {
            Some(effect) => T::progress(tools, effect),
            None => tools,
        };
        let (clock, model) = (ManualClock::new(), ScriptedModel::parse(CALLS).unwrap());
        let agent = Agent::new().model("m").tools(tools);
        let engine = Engine::in_memory().clock(clock.clone());
        let engine = engine.agent("a", agent.connect_to(model.clone()));
        let engine = engine.open().await.unwrap();
        let live = engine.session("a").connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("go").await.unwrap();
        let started = updates.wait_for(|event| event.kind() == "call_started");
        started.await.unwrap();
        Stage {
            live,
            engine,
            clock,
            model,
            updates,
        }
    }

    /// Makes the server report progress of the slow call, and waits until the report is handled.
    async fn step(&self, said: Value) {
        let by = Actor::embedder("test");
        self.live.call_function("step", said, by).await.unwrap();
        self.others_have_done_all_they_can().await;
    }

    async fn others_have_done_all_they_can(&self) {
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        self.live.session().await.unwrap();
    }

    /// Repeats reports until the server knows the slow call.
    async fn first_report(&self) {
        while self.reported().await.is_empty() {
            self.step(json!({"progress": 0})).await;
        }
    }

    async fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.others_have_done_all_they_can().await;
    }

    /// The recorded progress.
    async fn reported(&self) -> Vec<Value> {
        let ledger = self.engine.ledger();
        let facts = ledger.facts(self.live.session_id(), Seq(1), 1_000).await;
        let said = facts.unwrap().into_iter().filter_map(|it| match it.event {
            Event::Observed(Observation::ToolEventEmitted(it)) if it.name == "progress" => {
                Some(it.data.to_value())
            }
            Event::Observed(Observation::ToolYielded(it)) => Some(it.response.to_value()),
            Event::Observed(_) | Event::Decided(_) => None,
        });
        said.collect()
    }

    /// Ends the slow call at the server, and returns its outcome.
    async fn finish(&mut self) -> Outcome {
        let by = Actor::embedder("test");
        let finished = self.live.call_function("finish", json!({}), by);
        finished.await.unwrap();
        loop {
            let session = self.live.session().await.unwrap();
            let slow = session.settled.values().find(|it| !it.made_by_program);
            if let Some(slow) = slow {
                return slow.outcome;
            }
            self.updates.next().await.unwrap();
        }
    }

    /// The responses that the model received, each with its `will_continue`.
    fn answers(&self) -> Vec<(Value, Option<bool>)> {
        let transcript = self.model.transcript();
        let answers = transcript.answers().map(|(_, answer, _)| {
            let response = answer.response.as_ref().unwrap().to().unwrap();
            (response, answer.will_continue)
        });
        answers.collect()
    }
}

#[tokio::test]
async fn progress_restarts_the_time_limit_where_a_policy_says_so() {
    for (effect, outcome) in [
        (None, Outcome::TimedOut),
        (Some(Progress::ExtendsTimeout), Outcome::Returned),
        (Some(Progress::Told), Outcome::Returned),
    ] {
        let mut stage = Stage::new(effect).await;
        if effect.is_some() {
            stage.first_report().await;
        }
        for half in 1..=2 {
            stage.pass(6).await;
            stage.step(json!({"progress": half, "total": 2})).await;
        }
        stage.pass(6).await;
        assert_eq!(stage.finish().await, outcome, "{effect:?}");
        let session = stage.live.session_id();
        let replayed = recount::replay::verify(stage.engine.ledger(), session).await;
        assert_eq!(replayed.unwrap().diverged, None);
    }
}

#[tokio::test]
async fn run_without_progress_ends_at_its_limit_all_the_same() {
    let mut stage = Stage::new(Some(Progress::ExtendsTimeout)).await;
    stage.first_report().await;
    stage.pass(6).await;
    stage.step(json!({"progress": 1})).await;
    stage.pass(10).await;
    assert_eq!(stage.finish().await, Outcome::TimedOut);
}

#[tokio::test]
async fn progress_is_news_for_the_model_where_a_policy_says_so() {
    let mut stage = Stage::new(Some(Progress::Told)).await;
    stage.first_report().await;
    stage.pass(2).await;
    let half = json!({"progress": 1, "total": 2, "message": "Half of it"});
    stage.step(half).await;
    assert_eq!(stage.finish().await, Outcome::Returned);
    stage.others_have_done_all_they_can().await;
    let answers = stage.answers();
    let told = json!({"status": "in_progress", "progress": 1, "total": 2, "message": "Half of it"});
    assert_eq!(answers[1], (told, Some(true)));
    assert_eq!(answers.len(), 3);
    assert_ne!(answers[2].1, Some(true));
}

#[tokio::test]
async fn progress_that_only_extends_is_not_told() {
    let mut stage = Stage::new(Some(Progress::ExtendsTimeout)).await;
    stage.first_report().await;
    assert_eq!(stage.finish().await, Outcome::Returned);
    stage.others_have_done_all_they_can().await;
    assert_eq!(stage.answers().len(), 1);
}

#[tokio::test]
async fn many_reports_are_on_record_once_in_an_interval() {
    let stage = Stage::new(Some(Progress::ExtendsTimeout)).await;
    stage.first_report().await;
    for report in 1..=50 {
        stage.step(json!({"progress": report})).await;
    }
    assert_eq!(stage.reported().await, [json!({"progress": 0})]);
    stage.pass(1).await;
    stage.step(json!({"progress": 51.5})).await;
    assert_eq!(
        stage.reported().await.last(),
        Some(&json!({"progress": 51.5}))
    );
}
