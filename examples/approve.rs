//! The program of the README: a gated tool call, approved by the program itself.
//!
//! Run `recount simulate --script fixtures/scripts/refund.jsonl` beside it.
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value without the key reads as null"
)]

use recount::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or("ws://127.0.0.1:8787".into());
    let refund = T::simple("refund", "Refunds an order", |args| async move {
        Ok(json!({ "refunded": args["order_id"] }))
    });
    let live = Live::builder()
        .model("gemini-3.8-live")
        .instruction("You are the support desk of a shop.")
        .tools(T::confirm(refund, "Refund this order?"))
        .journal("./journal")
        .connect_to(url)
        .await?;
    let mut updates = live.subscribe();
    live.send_text("Please refund order 1001.").await?;
    updates
        .wait_for(|event| event.kind() == "confirmation_requested")
        .await;
    // The process may die here: the request waits in the journal, for weeks if it must.
    for request in live.pending().await? {
        println!("{} {}: approved", request.tool, request.args);
        live.answer(
            request.id,
            ToolConfirmation::confirmed(),
            Actor::embedder("ada"),
        )
        .await?;
    }
    println!("{}", updates.turn().await.unwrap_or_default());
    Ok(())
}
