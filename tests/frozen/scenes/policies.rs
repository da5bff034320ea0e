//! Scenes in which a policy or a hook decides.

use recount::session::*;
use recount::testing::{History, toolbox};
use serde_json::{Value, json};

use super::{Scene, connected, look, one_tool, paying, raw_call};

pub(super) fn refusals() -> Vec<Scene> {
    let raw = |change: &dyn Fn(&mut FunctionCallReceived)| {
        let mut call = raw_call(&look());
        change(&mut call);
        look().observed(call)
    };
    let malformed = MalformedArgs {
        text: "{".into(),
        problem: "not JSON: EOF while parsing an object at line 1 column 1".into(),
    };
    let inner = toolbox().agent("clerk", ["look"]).plain("look");
    let repeats = one_tool("pay", json!({"confirm": {}, "repeats": "pending_ticket"}));
    let twice = connected(&repeats).call("c1", "pay", json!({"cents": 1}));
    let nameless = connected(&repeats).observed(FunctionCallReceived {
        id: None,
        name: Some("pay".into()),
        ..raw_call(&connected(&repeats))
    });
    vec![
        ("a call without a name", raw(&|it| it.name = None)),
        (
            "a tool that does not exist",
            look().call("c1", "fly \"high\"", json!({})),
        ),
        (
            "a tool for agents only",
            connected(&inner.inner("look")).call("c1", "look", json!({})),
        ),
        (
            "malformed arguments",
            raw(&|it| it.malformed_args = Some(malformed.clone())),
        ),
        (
            "invalid arguments",
            raw(&|it| it.invalid_args = Some("cents is not a number".into())),
        ),
        (
            "a call beyond its message",
            raw(&|it| it.beyond_max = Some(128)),
        ),
        (
            "an equal call that has not ended",
            twice.call("c2", "pay", json!({"cents": 1})),
        ),
        (
            "an equal call whose first has no id",
            nameless.call("c2", "pay", json!({"n": 1})),
        ),
    ]
}

pub(super) fn hooks() -> Vec<Scene> {
    let hooks = Hooks {
        on_tool_call: true,
        before_tool_response: false,
    };
    let hooked = connected(&toolbox().plain("look").hooks(hooks)).call("c1", "look", json!({}));
    let said = |response: Option<Value>, failure: Option<&str>| HookAnswered {
        hook: Hook::OnToolCall,
        call: hooked.call_seq(),
        of: None,
        by: response.as_ref().map(|_| Actor::embedder("on_tool_call")),
        response: response.as_ref().map(Json::of),
        failure: failure.map(str::to_owned),
        gated: None,
    };
    vec![
        (
            "a hook that failed",
            hooked
                .clone()
                .observed(said(None, Some("the hook panicked"))),
        ),
        (
            "a hook that answered",
            hooked
                .clone()
                .observed(said(Some(json!({"sky": "clear"})), None)),
        ),
    ]
}

fn phase(name: &str, to: Option<(&str, Condition)>) -> PhaseDeclaration {
    let transitions = to.into_iter().map(|(to, when)| Transition {
        to: to.to_owned(),
        when,
    });
    PhaseDeclaration {
        name: name.to_owned(),
        transitions: transitions.collect(),
        ..PhaseDeclaration::default()
    }
}

pub(super) fn availability() -> Vec<Scene> {
    let inform = one_tool("pay", json!({"phases": ["inform"]}));
    let over = S::compares("amount", Comparison::Greater, 1000);
    let phased = inform.clone().phases([
        phase("verify", Some(("inform", over))),
        phase("inform", None),
    ]);
    let guarded = one_tool("pay", json!({"when": {"is_true": "verified"}}));
    let pay = |session: History| session.call("c1", "pay", json!({}));
    vec![
        ("a tool of phases without phases", pay(connected(&inform))),
        ("a tool of another phase", pay(connected(&phased))),
        (
            "a tool of the phase that was entered",
            pay(connected(&phased).state("amount", json!(4200))),
        ),
        ("a condition that does not hold", pay(connected(&guarded))),
    ]
}

pub(super) fn limits() -> Vec<Scene> {
    let twice = |policy: Value| {
        paying(policy)
            .returned(json!({}))
            .call("c2", "pay", json!({}))
    };
    let open = connected(&toolbox().plain("look").open_calls_max(1));
    vec![
        (
            "a limit of a session",
            twice(json!({"limits": {"per_session": 1}})),
        ),
        (
            "a limit of a minute",
            twice(json!({"limits": {"per_minute": 1}})),
        ),
        (
            "a limit of open calls",
            open.call("c1", "look", json!({}))
                .call("c2", "look", json!({})),
        ),
        (
            "a result that is reused",
            connected(&toolbox().plain("look").cached("look"))
                .call("c1", "look", json!({}))
                .returned(json!({"found": 3}))
                .call("c2", "look", json!({})),
        ),
    ]
}
