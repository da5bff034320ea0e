//! Scenes of runs: their ends, in-doubt calls, and the deliveries of their responses.

use recount::session::*;
use recount::testing::{History, Toolbox, called_by, history, toolbox};
use serde_json::{Value, json};

use super::{Scene, connected, hint, look, one_tool, paying, raw_call};

pub(super) fn doubts() -> Vec<Scene> {
    let cut_off = |policy: Value| {
        let tools = one_tool("pay", policy);
        let running = connected(&tools).call("c1", "pay", json!({})).started();
        running.detached().attached(&tools)
    };
    let ask = || cut_off(json!({"in_doubt": "ask"}));
    let settled = |session: History, found: Finding| {
        let settle = Command::AnswerConfirmation {
            request: session.request(),
            answer: Ok(ToolConfirmation::found(found)),
            by: Actor::embedder("ada"),
        };
        session.commanded(settle)
    };
    let found = |session: History, found: Finding| {
        let reconcile = Command::ReconcileOutcome {
            call: session.call_seq(),
            name: "pay".into(),
            found,
            by: Actor::embedder("ada"),
        };
        session.commanded(reconcile)
    };
    let done = || Finding::done(&json!({"receipt": 17}));
    let failed = || Finding::failed("the bank refused it");
    let keeps = |in_doubt: &str| {
        let gate = json!({"confirm": {"keeps_reason": true}, "in_doubt": in_doubt});
        let tools = one_tool("pay", gate);
        let asked = connected(&tools).call("c1", "pay", json!({}));
        asked.granted("ada").started().detached().attached(&tools)
    };
    vec![
        ("an unknown outcome", cut_off(json!({}))),
        (
            "a run repeated after a crash",
            cut_off(json!({"in_doubt": "retry"})),
        ),
        ("a doubt and a yes", ask().granted("ada")),
        ("a doubt and a no", ask().denied("ada", Some("no"))),
        ("a doubt settled as done", settled(ask(), done())),
        ("a doubt settled as failed", settled(ask(), failed())),
        (
            "a doubt settled as failed, with the words kept",
            settled(keeps("ask"), failed()),
        ),
        ("an outcome found done", found(cut_off(json!({})), done())),
        (
            "an outcome found failed",
            found(cut_off(json!({})), failed()),
        ),
        (
            "an outcome found failed, with the words kept",
            found(keeps("settle_unknown"), failed()),
        ),
    ]
}

pub(super) fn runs() -> Vec<Scene> {
    let slow = json!({"timeout_ms": 1500});
    let unlimited = toolbox().plain("pay");
    let both = history().opened("support").attached(&unlimited);
    let both = both.attached(&one_tool("pay", slow.clone())).connected();
    let running = both.call("c1", "pay", json!({})).started();
    // The next runner has no timeout, but the deadline recorded at the start still holds.
    let goes_on = RunnerAttached {
        goes_on: true,
        ..unlimited.attached("support", &mut Library::default())
    };
    let due = DeadlinePassed {
        deadline: Deadline::Run {
            call: running.call_seq(),
            attempt: 1,
        },
        due_us: running.now().after_ms(1_500),
    };
    let inline = toolbox().plain("look").inline_timeout_ms(250);
    let retried = toolbox().plain("look").retried("look", 2, 100);
    let silent = json!({"background": {"scheduling": "SILENT"}});
    let ships = toolbox().long_running("ship");
    let streams = toolbox().streaming("watch");
    let watching = connected(&streams).call("c1", "watch", json!({})).started();
    vec![
        ("a time limit", paying(slow).timed_out()),
        (
            "a time limit that is gone",
            running.observed(goes_on).observed(due),
        ),
        (
            "a time limit for all",
            connected(&inline).call("c1", "look", json!({})).timed_out(),
        ),
        (
            "a failure and another run",
            connected(&retried)
                .call("c1", "look", json!({}))
                .failed(json!({"error": "away"})),
        ),
        (
            "a failure",
            look()
                .call("c1", "look", json!({}))
                .failed(json!({"error": "away"})),
        ),
        (
            "a run in the background",
            paying(silent).returned(json!({})),
        ),
        (
            "a long run with news",
            connected(&ships)
                .call("c1", "ship", json!({}))
                .paused(Some(json!({"ticket": 7})))
                .supplied(json!({"shipped": true})),
        ),
        (
            "a stream",
            watching
                .yielded(json!({"step": 1}))
                .returned(json!({"step": 2})),
        ),
    ]
}

pub(super) fn agents() -> Vec<Scene> {
    let tools = toolbox()
        .agent("clerk", ["look"])
        .plain("look")
        .plain("secret");
    let asking = || {
        let called = connected(&tools).call("c1", "clerk", json!({}));
        called.asks_model()
    };
    let looking = asking().model_calls(&["look"]);
    vec![
        (
            "an agent that calls",
            looking.clone().returned(json!({"found": 3})),
        ),
        (
            "an agent without the tool",
            asking().model_calls(&["secret"]),
        ),
        (
            "an agent that is taken back",
            looking.clone().taken_back("c1"),
        ),
        (
            "a call beyond those of a reply",
            looking.clone().observed(called_by(Seq(4), "look")),
        ),
        (
            "a model that cannot be reached",
            asking().failed_as("llm_unavailable"),
        ),
        (
            "a program's own call",
            look().program_call("look", json!({})).returned(json!({})),
        ),
    ]
}

pub(super) fn routes() -> Vec<Scene> {
    let ends = |choice: OnSettled| {
        let tools = toolbox().plain("look").on_settled(choice);
        let running = connected(&tools).call("c1", "look", json!({})).started();
        running.disconnected().returned(json!({"found": 3}))
    };
    let delivered = connected(&toolbox().plain("look")).handle("h1");
    vec![
        ("an end without a connection", ends(OnSettled::Park)),
        (
            "an end told on the next connection",
            ends(OnSettled::Park).connected(),
        ),
        ("an end that connects", ends(OnSettled::Connect)),
        ("an end that is only noted", ends(OnSettled::Notify)),
        (
            "a call delivered again",
            delivered
                .call("c1", "look", json!({"n": 1}))
                .returned(json!({"found": 3}))
                .sent()
                .heard()
                .disconnected()
                .resumed()
                .call("c1", "look", json!({"n": 1})),
        ),
    ]
}

pub(super) fn envelopes() -> Vec<Scene> {
    let shaped = |tools: Toolbox| connected(&tools.response(ResponseShape::Envelope));
    let ticket = json!({"confirm": {}, "repeats": "pending_ticket"});
    let tools = toolbox().plain("look").response(ResponseShape::Envelope);
    let pay = |policy: Value| shaped(one_tool("pay", policy)).call("c1", "pay", json!({}));
    let cut_off = pay(json!({})).started().detached();
    vec![
        (
            "an envelope of a refusal",
            connected(&tools).call("c1", "fly", json!({})),
        ),
        (
            "an envelope of a ticket",
            pay(ticket).call("c2", "pay", json!({})),
        ),
        (
            "an envelope of a no",
            pay(hint()).denied("ada", Some("not this customer")),
        ),
        (
            "an envelope of an acknowledgement",
            shaped(one_tool("pay", hint()).acknowledges()).call("c1", "pay", json!({})),
        ),
        (
            "an envelope of a time limit",
            pay(json!({"timeout_ms": 1500})).timed_out(),
        ),
        (
            "an envelope of an unknown outcome",
            cut_off.attached(&tools.plain("pay")),
        ),
    ]
}

/// Sessions whose state holds something that no decision shows.
pub(super) fn standings() -> Vec<Scene> {
    let running = || look().call("c1", "look", json!({})).started();
    let sealed = FunctionCallReceived {
        args: Some(Json::parse(r#"{"pin":{"$sealed":"v1.x"}}"#).expect("JSON")),
        sealed_args: vec!["/pin".into()],
        ..raw_call(&look())
    };
    let verify = PhaseDeclaration {
        name: "verify".into(),
        instruction: Some("Verify the caller.".into()),
        ..PhaseDeclaration::default()
    };
    let instructed = connected(&toolbox().phases([verify])).instructed();
    let handle = ResumptionHandleReceived {
        epoch: look().epoch(),
        resumable: true,
        fingerprint: Some("9f86d081884c7d65".into()),
        expires_at_us: Some(look().now().after_ms(7_200_000)),
    };
    let scheduled = ReconnectScheduled {
        attempt: 1,
        due_us: look().now().after_ms(500),
        resumes: None,
    };
    vec![
        (
            "a model that lost interest",
            paying(hint()).taken_back("c1"),
        ),
        ("arguments that are sealed", look().observed(sealed)),
        ("words of a hook", hooked()),
        ("an instruction that was told", instructed),
        (
            "a connection that is left and lost",
            running()
                .observed(handle)
                .switch_planned()
                .draining()
                .disconnected()
                .observed(scheduled),
        ),
        (
            "an end that a tool wants",
            running()
                .returned_and_ends("goodbye")
                .sent()
                .closed_by_its_tool(),
        ),
        (
            "values of every scope",
            running()
                .user_text("Hello?")
                .state("plan", json!("monthly"))
                .state("turn:amount", json!(9_007_199_254_740_993_u64))
                .state("user:name", json!({"first": "Ada"}))
                .tool_state("found", json!([1, 2.5, null]))
                .turn_ended()
                .state("plan", json!(null)),
        ),
    ]
}

/// A rejection whose text comes from the response hook.
fn hooked() -> History {
    let hooks = Hooks {
        on_tool_call: false,
        before_tool_response: true,
    };
    let hooked = connected(&toolbox().hooks(hooks)).call("c1", "fly", json!({}));
    let issued = hooked.session().head;
    hooked.clone().observed(HookAnswered {
        hook: Hook::BeforeToolResponse,
        call: hooked.call_seq(),
        of: Some(issued),
        response: Some(Json::of(&json!({"error": "not now"}))),
        failure: None,
        gated: None,
        by: None,
    })
}
