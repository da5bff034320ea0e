//! Typed events of a tool: the program receives them as its own types, after they are recorded.

use recount::prelude::*;
use recount::simulator::{Script, Simulator, Transcript};
use recount::tool::{EndSession, ToolEvent};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

const MODEL: &str = concat!(
    r#"{"on": {"text": "send"}, "#,
    r#""send": [{"call": [{"id": "c1", "name": "ship", "#,
    r#""args": {"order": 7}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["c1"]}, "send": [{"say": "It is on its way. Anything else?"}]}"#,
    "\n",
    r#"{"on": {"text": "no"}, "#,
    r#""send": [{"call": [{"id": "c2", "name": "endSession", "#,
    r#""args": {"reason": "all is said", "confirmed": true}}]}]}"#,
);

/// The event of a parcel that was sent.
#[derive(Deserialize, Serialize)]
struct Shipped {
    order: u64,
    carrier: String,
}

impl ToolEvent for Shipped {
    const NAME: &'static str = "shipped";
}

/// Ships an order.
#[tool]
async fn ship(order: u64, context: ToolContext) -> Result<Value, ToolError> {
    let carrier = "train".to_owned();
    context.emit(&Shipped { order, carrier })?;
    Ok(json!({ "shipped": order }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Simulator::start(Script::parse(MODEL)?);
    let model = model.listen("127.0.0.1:0").await?;
    let live = Live::builder()
        .model("gemini-3.8-live")
        .tools(Toolset::from(ship()) | T::defaults())
        .connect_to(model.url())
        .await?;

    // Dropping a subscription ends it. An error of a callback affects no other callback.
    let (tell, mut heard) = mpsc::unbounded_channel();
    let tell_end = tell.clone();
    let _ships = live.try_on::<Shipped, _>(move |it| {
        tell.send(format!(
            "order {} left by {}",
            it.event.order, it.event.carrier
        ))
    });
    let _fails = live.try_on::<Shipped, _>(|_| Err("the printer has no paper"));
    let _ends = live.try_on::<EndSession, _>(move |it| tell_end.send(it.event.reason.clone()));

    let mut updates = live.subscribe();
    println!("you:   Please send it.");
    live.send_text("Please send it.").await?;
    println!("  heard: {}", heard.recv().await.unwrap_or_default());
    println!("model: {}", updates.turn().await.unwrap_or_default());
    println!("you:   No, thanks.");
    live.send_text("No, thanks.").await?;
    println!("  heard: {}", heard.recv().await.unwrap_or_default());
    // The session is closed, so the stream of records ends.
    while updates.next().await.is_some() {}
    let both = |seen: &Transcript| seen.answers().count() == 2;
    model.until(both).await;
    println!("  the model had its answer, and the session is closed");
    Ok(())
}
