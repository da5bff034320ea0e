//! A debt collection in phases: the tools of the model depend on the state, and not on its memory.

use recount::prelude::*;
use recount::session::{Decision, Event, Observation};
use recount::simulator::{Script, Simulator};

/// The model tries to take a payment before the caller is verified.
const MODEL: &str = concat!(
    r#"{"on": {"text": "4711"}, "#,
    r#""send": [{"call": [{"id": "p0", "name": "take_payment", "args": {"cents": 120000}}, "#,
    r#"{"id": "v1", "name": "verify_identity", "args": {"account": "4711"}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["p0", "v1"]}, "#,
    r#""send": [{"say": "Thank you, Ada. You owe 1200 euros."}]}"#,
    "\n",
    r#"{"on": {"text": "pay"}, "#,
    r#""send": [{"call": [{"id": "p1", "name": "take_payment", "args": {"cents": 20000}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["p1"]}, "send": [{"say": "The first payment is made."}]}"#,
);

/// Verifies who is calling.
#[tool]
async fn verify_identity(account: String, context: ToolContext) -> Value {
    let verified = account == "4711";
    context.state.set("identity_verified", verified);
    json!({ "verified": verified })
}

/// Takes a payment.
#[tool]
async fn take_payment(cents: u64) -> Value {
    json!({ "paid": cents })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Simulator::start(Script::parse(MODEL)?);
    let model = model.listen("127.0.0.1:0").await?;
    let live = Live::builder()
        .model("gemini-3.8-live")
        .instruction("You collect debts, politely.")
        .tools(Toolset::from(verify_identity()) | take_payment())
        .phase("verify_identity")
        .instruction("Verify who is calling.")
        .tools(["verify_identity"])
        .transition("arrange_payment", S::is_true("identity_verified"))
        .done()
        .phase("arrange_payment")
        .instruction("Arrange the first payment.")
        .tools(["take_payment"])
        .done()
        .connect_to(model.url())
        .await?;

    let mut updates = live.subscribe();
    for words in ["This is account 4711.", "I pay the first part."] {
        println!("you:   {words}");
        live.send_text(words).await?;
        while let Some(recorded) = updates.next().await {
            match &recorded.fact.event {
                Event::Decided(Decision::PhaseEntered(it)) => println!("  phase {}", it.phase),
                Event::Decided(Decision::PolicyDecided(it)) => {
                    println!("  a call: {:?}, by {:?}", it.verdict, it.rule);
                }
                Event::Observed(Observation::ModelOutputReceived(it)) => {
                    println!("model: {}", it.text);
                }
                Event::Observed(Observation::TurnCompleted(_)) => break,
                Event::Decided(_) | Event::Observed(_) => {}
            }
        }
    }
    Ok(())
}
