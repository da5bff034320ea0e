//! A tool tells the program what happened, in the program's own types: no strings, no casts, and on record before it is heard.

use std::time::Duration;

use recount::prelude::*;
use recount::simulator::{Script, Simulator};
use recount::tool::{EndSession, ToolEvent};
use serde::{Deserialize, Serialize};

const MODEL: &str = r#"
{"on": {"text": "send"}, "send": [{"call": [{"id": "c1", "name": "ship", "args": {"order": 7}}]}]}
{"on": {"responses_to": ["c1"]}, "send": [{"say": "It is on its way. Anything else?"}]}
{"on": {"text": "no"}, "send": [{"call": [{"id": "c2", "name": "endSession", "args": {"reason": "all is said", "confirmed": true}}]}]}
"#;

/// A parcel left the house.
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
        .model("gemini-live-2.5-flash")
        .tools(Toolset::from(ship()) | T::defaults())
        .connect_to(model.url())
        .await?;

    // Dropping a subscription ends it; what goes wrong in a closure is nobody else's affair.
    let _hears = live.on::<Shipped>(|it| {
        println!("  order {} left by {}", it.event.order, it.event.carrier);
    });
    let _panics = live.on::<Shipped>(|it| assert!(it.event.order > 1_000, "too small for me"));
    let _ends = live.on::<EndSession>(|it| println!("  it ends: {}", it.event.reason));

    let mut updates = live.subscribe();
    println!("you:   Please send it.");
    live.send_text("Please send it.").await?;
    let answer = updates.turn().await.unwrap_or_default();
    println!("model: {answer}");
    println!("you:   No, thanks.");
    live.send_text("No, thanks.").await?;
    // The session is closed, so there is an end to what goes on record.
    while updates.next().await.is_some() {}
    live.engine().shutdown(Duration::ZERO).await?;
    println!(
        "  the model was answered {} times",
        model.transcript().answers().count()
    );
    Ok(())
}
