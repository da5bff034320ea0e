//! Kinds of tool in one conversation: a typed closure, an async function, a streaming tool, one in the background.
//!
//! Run `recount simulate --script fixtures/scripts/tools.jsonl` beside it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use recount::prelude::*;
use recount::schemars::{self, JsonSchema};
use serde::Deserialize;
use tokio::sync::mpsc;

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The city to get weather for
    city: String,
}

/// Books a table.
///
/// # Arguments
/// * `guests` - How many people come
#[tool]
async fn book_table(guests: u8, context: ToolContext) -> Result<Value, ToolError> {
    if guests == 0 {
        return Err(ToolError::InvalidArgs("nobody comes".into()));
    }
    context.state.set("guests", guests);
    Ok(json!({ "booked": guests }))
}

/// Follows a dish on its way to the table.
struct FollowDish;

#[async_trait]
impl StreamingTool for FollowDish {
    fn name(&self) -> &str {
        "follow_dish"
    }
    fn description(&self) -> &str {
        "Follow a dish on its way to the table"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn run(&self, _args: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError> {
        for step in ["in the oven", "on the plate", "on the table"] {
            let told = yield_tx.send(json!({ "step": step })).await;
            told.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or("ws://127.0.0.1:8787".into());
    let weather = T::typed(
        "get_weather",
        "Get the weather",
        |place: Place| async move {
            println!("  (asking about the weather in {})", place.city);
            Ok(json!({ "city": place.city, "celsius": 22 }))
        },
    );
    let wine = T::simple("find_wine", "Find a wine", |_| async {
        Ok(json!({ "wine": "Riesling" }))
    });
    let live = Live::builder()
        .model("gemini-live-2.5-flash")
        .instruction("You are the front desk of a restaurant.")
        .tools(
            T::cached(T::timeout(weather, Duration::from_secs(10)))
                | book_table()
                | T::streaming(Arc::new(FollowDish))
                | T::background(wine),
        )
        .connect_to(url)
        .await?;

    let mut updates = live.subscribe();
    for words in [
        "How is the weather in Oslo?",
        "A table for four, please.",
        "Where is my dish?",
        "And which wine goes with it?",
    ] {
        println!("> {words}");
        live.send_text(words).await?;
        println!("{}", updates.turn().await.unwrap_or_default());
    }
    let guests = live.state().await?.get::<u8>("guests");
    println!("guests: {}", guests.unwrap_or_default());
    Ok(())
}
