//! The program of the README: a call that waits for approval while its process is killed.
//!
//! Run `recount simulate --script fixtures/scripts/refund.jsonl` beside it.
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value without the key reads as null"
)]

use recount::prelude::*;
use recount::session::OnSettled;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1);
    let refund = T::simple("refund", "Refunds an order", |args| async move {
        println!("refunded order {}", args["order_id"]);
        Ok(json!({ "refunded": args["order_id"] }))
    });
    let support = Agent::new()
        .model("gemini-3.8-live")
        .tools(T::confirm(refund, "Refund this order?"))
        .connect_to(Endpoint::url(url.unwrap_or("ws://127.0.0.1:8787".into())))
        .on_settled(OnSettled::Connect); // The outcome of a call opens a connection.
    let engine = Engine::builder("./journal").agent("support", support);
    let engine = engine.open().await?;
    let mut updates = engine.subscribe();

    // The first start begins a conversation. Every later one finds it in the journal.
    let live;
    if engine.sessions().await?.is_empty() {
        live = engine.session("support").connect().await?;
        live.send_text("Please refund order 1001.").await?;
        updates
            .wait_for(|event| event.kind() == "confirmation_requested")
            .await;
    }
    let pending = engine.pending().await?;
    if pending.is_empty() {
        println!("no call waits for approval");
    }
    for waiting in pending {
        println!("waiting for approval: {} {}", waiting.tool, waiting.args);
        println!("  recount approve journal {}", waiting.id);
    }
    // The process may die here. The request stays in the journal, for weeks if it must.
    while let Some(said) = updates.turn().await {
        println!("model: {said}");
    }
    Ok(())
}
