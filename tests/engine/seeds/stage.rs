//! A conversation in which the model makes the calls of a test after the text "go".

use std::sync::Arc;
use std::time::Duration;

use recount::engine::{LiveBuilder, SessionConfig};
use recount::prelude::*;
use recount::session::Seq;
use recount::simulator::Standing;
use recount::testing::{ManualClock, ScriptedModel};

pub(crate) struct Stage {
    pub(crate) model: ScriptedModel,
    pub(crate) live: LiveHandle,
    clock: Arc<ManualClock>,
}

/// A model that makes these calls, given as `(name, arguments)`, with the ids `c1`, `c2` and so on.
pub(crate) fn caller(calls: &[(&str, Value)]) -> ScriptedModel {
    if calls.is_empty() {
        return ScriptedModel::parse(r#"{"on": "otherwise", "send": [{"say": "Done."}]}"#).unwrap();
    }
    let id = |index: usize| format!("c{}", index + 1);
    let call = |(index, (name, args)): (usize, &(&str, Value))| {
        json!({"id": id(index),
        "name": name, "args": args})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let ids: Vec<String> = (0..calls.len()).map(id).collect();
    let asks = json!({"on": {"text": "go"}, "send": [{"call": calls}]});
    let ends = json!({"on": {"responses_to": ids}, "send": [{"say": "Done."}]});
    ScriptedModel::parse(&format!("{asks}\n{ends}")).unwrap()
}

impl Stage {
    /// Starts a session from `builder`, with a model that makes these calls.
    pub(crate) async fn set(builder: LiveBuilder, calls: &[(&str, Value)]) -> Stage {
        let (clock, model) = (ManualClock::new(), caller(calls));
        let engine = Engine::in_memory().clock(clock.clone()).open().await;
        let live = builder.model("m").engine(&engine.unwrap());
        let live = live.connect_with(model.clone()).await.unwrap();
        Stage { model, live, clock }
    }

    /// Makes the model call, and waits until it has all responses.
    pub(crate) async fn play(&self) {
        let mut updates = self.live.subscribe();
        self.live.send_text("go").await.unwrap();
        assert_eq!(updates.turn().await.as_deref(), Some("Done."));
    }

    /// Like [`play`](Stage::play); advances the clock once a tool runs.
    pub(crate) async fn play_and_wait(&self, time: Duration) {
        let (mut updates, mut started) = (self.live.subscribe(), self.live.subscribe());
        self.live.send_text("go").await.unwrap();
        started
            .wait_for(|event| event.kind() == "call_started")
            .await;
        self.clock.advance(time);
        assert_eq!(updates.turn().await.as_deref(), Some("Done."));
    }

    /// The responses to a call, in order, each with its scheduling.
    pub(crate) fn answers(&self, id: &str) -> Vec<(Value, Option<String>)> {
        answers(&self.model, id)
    }

    /// The only response to a call, except for the notice that it waits.
    pub(crate) fn answer(&self, id: &str) -> Value {
        let mut answers = self.answers(id);
        answers.retain(|(told, _)| told["status"] != "awaiting_confirmation");
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers[0].0.clone()
    }

    /// The number of recorded events of this kind.
    pub(crate) async fn count(&self, kind: &str) -> usize {
        let ledger = self.live.engine().ledger();
        let facts = ledger.facts(self.live.session_id(), Seq(1), 1000).await;
        let facts = facts.unwrap();
        facts.iter().filter(|it| it.event.kind() == kind).count()
    }
}

pub(crate) fn answers(model: &ScriptedModel, id: &str) -> Vec<(Value, Option<String>)> {
    let transcript = model.transcript();
    let to_it = transcript
        .answers()
        .filter(|(_, answer, _)| answer.id.as_deref() == Some(id));
    to_it
        .map(|(_, answer, standing)| {
            assert!(matches!(standing, Standing::Accepted | Standing::Continues));
            let response: Value = answer.response.as_ref().unwrap().to().unwrap();
            (response, answer.scheduling.clone())
        })
        .collect()
}

/// A configuration whose model makes these calls.
pub(crate) fn config(calls: &[(&str, Value)]) -> (SessionConfig, ScriptedModel) {
    let model = caller(calls);
    (SessionConfig::new("m", model.clone()), model)
}

/// Makes the model of a session call, and waits until it has all responses.
pub(crate) async fn play(live: &LiveHandle) {
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Done."));
}

/// A dispatcher with these tools.
pub(crate) fn dispatcher(tools: impl Into<Toolset>) -> ToolDispatcher {
    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(tools).unwrap();
    dispatcher
}
