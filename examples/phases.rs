//! A call about a debt in four phases: verify identity, inform, negotiate, arrange payment.
//!
//! Run `recount simulate --script fixtures/scripts/debt.jsonl` beside it.

use recount::prelude::*;
use recount::session::{Decision, Event, Observation};

/// Verifies who is calling.
#[tool]
async fn verify_identity(account: String, context: ToolContext) -> Value {
    let verified = account == "4711";
    context.state.set("identity_verified", verified);
    json!({ "verified": verified })
}

/// Tells what is owed.
#[tool]
async fn disclose_debt(context: ToolContext) -> Value {
    context.state.set("debt_cents", 120_000);
    json!({ "cents": 120_000 })
}

/// Plans payments; the caller must agree to a plan.
#[tool]
async fn plan_payments(months: u64, agreed: bool, context: ToolContext) -> Value {
    let debt = context.state.get::<u64>("debt_cents").unwrap_or_default();
    context.state.set("plan_agreed", agreed);
    json!({ "cents_a_month": debt.checked_div(months) })
}

/// Takes a payment.
#[tool]
async fn arrange_payment(cents: u64) -> Value {
    json!({ "paid": cents })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or("ws://127.0.0.1:8787".into());
    let live = Live::builder()
        .model("gemini-live-2.5-flash")
        .instruction("You collect debts, politely.")
        .tools(
            Toolset::from(verify_identity())
                | disclose_debt()
                | plan_payments()
                | T::confirm(arrange_payment(), "Take this payment?"),
        )
        .strict()
        .phase("verify_identity")
        .instruction("Verify who is calling.")
        .tools(["verify_identity"])
        .transition("inform_debt", S::is_true("identity_verified"))
        .done()
        .phase("inform_debt")
        .instruction("Tell what is owed.")
        .tools(["disclose_debt"])
        .transition(
            "negotiate",
            S::compares("debt_cents", Comparison::Greater, 0),
        )
        .done()
        .phase("negotiate")
        .instruction("Negotiate a plan.")
        .tools(["plan_payments"])
        .transition("arrange_payment", S::is_true("plan_agreed"))
        .done()
        .phase("arrange_payment")
        .instruction("Arrange the first payment.")
        .tools(["arrange_payment"])
        .done()
        .connect_to(url)
        .await?;

    let mut updates = live.subscribe();
    for words in [
        "This is account 4711.",
        "What do I owe?",
        "I agree to six months.",
        "Please take the first part now.",
    ] {
        println!("> {words}");
        live.send_text(words).await?;
        turn(&live, &mut updates).await?;
    }
    Ok(())
}

/// Follows what goes on record until the model has had its turn; says yes to whatever waits for a person.
async fn turn(live: &LiveHandle, updates: &mut Updates) -> Result<(), Box<dyn std::error::Error>> {
    while let Some(recorded) = updates.next().await {
        match &recorded.fact.event {
            Event::Decided(Decision::PhaseEntered(it)) => println!("  phase: {}", it.phase),
            Event::Decided(Decision::PolicyDecided(it)) => {
                println!("  verdict: {:?}, by rule {:?}", it.verdict, it.rule);
            }
            Event::Decided(Decision::ConfirmationRequested(_)) => {
                for waiting in live.pending().await? {
                    println!("  {} {}: approved", waiting.tool, waiting.args);
                    let (yes, by) = (ToolConfirmation::confirmed(), Actor::embedder("ada"));
                    live.answer(waiting.id, yes, by).await?;
                }
            }
            Event::Observed(Observation::ModelOutputReceived(it)) => println!("{}", it.text),
            Event::Observed(Observation::TurnCompleted(_)) => break,
            Event::Decided(_) | Event::Observed(_) => {}
        }
    }
    Ok(())
}
