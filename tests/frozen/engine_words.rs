//! Texts that the engine and its parts record and that decisions repeat, taken from real runs.

use std::fmt::Write as _;

use recount::engine::LiveBuilder;
use recount::prelude::*;
use recount::session::{Fact, Seq};
use recount::testing::{ManualClock, ScriptedModel};

use crate::pinned::assert_pinned;

/// The members that hold these texts, by kind of event.
const WORDS: [(&str, &str); 8] = [
    ("function_call_received", "/invalid_args"),
    ("hook_answered", "/failure"),
    ("hook_answered", "/response"),
    ("tool_returned", "/response"),
    ("gate_waived", "/reason"),
    ("confirmation_answered", "/reason"),
    ("response_issued", "/response"),
    ("runner_detached", "/reason"),
];

#[tokio::test]
async fn words_of_the_engine_are_as_they_were() {
    let mut text = String::new();
    for (name, builder, args) in cases() {
        writeln!(text, "# {name}").unwrap();
        for fact in played(builder, args).await {
            let body: Value = serde_json::from_str(&fact.event.body().unwrap()).unwrap();
            for (kind, member) in WORDS {
                let told = body.pointer(member).filter(|_| fact.event.kind() == kind);
                if let Some(words) = told {
                    writeln!(text, "{kind}{member}: {words}").unwrap();
                }
            }
        }
    }
    assert_pinned("engine_words.txt", &text);
}

type Case = (&'static str, LiveBuilder, Value);

fn cases() -> Vec<Case> {
    let with = |tools: Toolset| Live::builder().with_tools(tools);
    let works = || T::simple("work", "Works", |_| async { Ok(json!({"done": true})) });
    let schema = json!({"type": "object", "required": ["n"], "additionalProperties": false,
        "properties": {"n": {"type": "integer", "minimum": 1}, "to": {"enum": ["a", "b"]}}});
    let strict = || {
        let schema = schema.clone();
        let works = |_| async { Ok(json!(3)) };
        with(T::simple_with("work", "Works", schema, works))
    };
    let panics = T::simple("work", "Works", |args| async move {
        match args.as_object() {
            Some(_) => panic!("boom"),
            None => Ok(Value::Null),
        }
    });
    let fails = T::simple("work", "Works", |_| async {
        Err(ToolError::ExecutionFailed("the bank is closed".into()))
    });
    let undecided = T::confirm_when_fn(works(), "Work?", |args: Value, _| async move {
        assert!(args.is_null(), "boom");
        true
    });
    let hooked = with(works()).on_tool_call(|calls, _| async move {
        assert!(calls.is_empty(), "boom");
        None
    });
    let withheld = with(works()).before_tool_response(|responses, _| async move {
        assert!(responses.is_empty(), "boom");
        responses
    });
    let denied = with(T::confirm(works(), "Work?"))
        .confirmation_provider(StaticConfirmation::deny_all("not today"));
    vec![
        ("a result that is no object", strict(), json!({"n": 1})),
        ("a required member that is missing", strict(), json!({})),
        (
            "members of wrong types and values",
            strict(),
            json!({"n": 0, "to": "c", "more": 1}),
        ),
        ("a text for a number", strict(), json!({"n": "one"})),
        ("a tool that panics", with(panics), json!({})),
        ("a tool that fails", with(fails), json!({})),
        ("a hook for calls that panics", hooked, json!({})),
        ("a hook for responses that panics", withheld, json!({})),
        ("a gate whose predicate panics", with(undecided), json!({})),
        (
            "a gate without a way to ask",
            with(T::confirm(works(), "Work?")),
            json!({}),
        ),
        ("a provider that denies", denied, json!({})),
    ]
}

/// The record of a session in which the model calls `work` once.
async fn played(builder: LiveBuilder, args: Value) -> Vec<Fact> {
    let call = json!({"id": "c1", "name": "work", "args": args});
    let asks = json!({"on": {"text": "go"}, "send": [{"call": [call]}]});
    let ends = json!({"on": {"responses_to": ["c1"]}, "send": [{"say": "Done."}]});
    let model = ScriptedModel::parse(&format!("{asks}\n{ends}")).unwrap();
    let engine = Engine::in_memory().clock(ManualClock::new()).open().await;
    let live = builder.model("m").engine(&engine.unwrap());
    let live = live.connect_with(model).await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Done."));
    let (ledger, session) = (live.engine().ledger().clone(), live.session_id());
    live.disconnect().await.unwrap();
    ledger.facts(session, Seq(1), 1000).await.unwrap()
}
