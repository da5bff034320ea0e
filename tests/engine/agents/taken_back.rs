//! Agents whose calls are cancelled, and an agent that ends its session.

use super::*;
use recount::session::{Decision, Route};

#[test]
fn question_of_cancelled_agent_stays_open_for_approver() {
    let (world, witness) = (World::new(), Witness::default());
    let gated = T::confirm(witness.tool("send_code"), "Send a code?");
    let llm = ScriptedLlm::new([
        calls([LlmSaid::call("send_code", json!({}))]),
        LlmReply::text("It is Ada."),
    ]);
    let (life, live) = world.called(verify(LlmAgent::new("verifier", llm).tools(gated)));
    life.run(live.send_text("stop it")).unwrap();
    life.settle();
    let pending = life.run(life.engine().pending()).unwrap();
    assert!(pending[0].model_lost_interest, "{pending:?}");
    approve(&life).unwrap();
    assert_eq!(witness.noted(), ["send_code"]);
    let folded = world.folded();
    assert!(folded.calls.is_empty(), "{:?}", folded.calls);
    // The call was cancelled, so the model gets its outcome as text.
    assert_eq!(world.answers(), Vec::<Value>::new());
    let facts = world.facts();
    let told = facts.iter().rev().find_map(|fact| match &fact.event {
        Event::Decided(Decision::ResponseIssued(it)) => Some((it.outcome, it.route)),
        Event::Decided(_) | Event::Observed(_) => None,
    });
    let Some((Outcome::Returned, Route::Conversation { .. })) = told else {
        panic!("{told:?}");
    };
}

#[test]
fn agent_reply_reaches_model_before_agent_ends_session() {
    let world = World::new();
    let llm = ScriptedLlm::new([
        calls([LlmSaid::call(
            "endSession",
            json!({"reason": "verified", "confirmed": true}),
        )]),
        LlmReply::text("It is Ada, and she is gone."),
    ]);
    let agent = LlmAgent::new("verifier", llm).tools(T::end_session());
    let _life = world.called(verify(agent));
    let answer = json!({"output": "It is Ada, and she is gone."});
    assert_eq!(world.answers(), [answer]);
    assert!(world.folded().closed);
    let kinds = world.kinds();
    let place = |kind| kinds.iter().rposition(|it| *it == kind).unwrap();
    assert!(
        place("responses_sent") < place("session_closed"),
        "{kinds:?}"
    );
}
