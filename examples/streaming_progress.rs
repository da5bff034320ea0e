//! A tool that yields several results. Each is recorded, and sent to the model while the tool runs.

use std::sync::Arc;

use async_trait::async_trait;
use recount::prelude::*;
use recount::session::{Event, Observation};
use recount::simulator::{Script, Simulator};
use tokio::sync::mpsc;

const MODEL: &str = r#"
{"on": {"text": "dish"}, "send": [{"call": [{"id": "c1", "name": "follow_dish"}]}]}
{"on": {"responses_to": ["c1"]}, "send": [{"say": "Enjoy your meal!"}]}
"#;

struct FollowDish;

#[async_trait]
impl StreamingTool for FollowDish {
    fn name(&self) -> &str {
        "follow_dish"
    }

    fn description(&self) -> &str {
        "Follows a dish on its way to the table"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn run(&self, _args: Value, yields: mpsc::Sender<Value>) -> Result<(), ToolError> {
        for place in ["in the oven", "on the plate", "on the table"] {
            let gone = |_| ToolError::Cancelled("nobody waits for the dish".into());
            yields.send(json!({ "dish": place })).await.map_err(gone)?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Simulator::start(Script::parse(MODEL)?);
    let model = model.listen("127.0.0.1:0").await?;
    let live = Live::builder()
        .model("gemini-3.8-live")
        .tools(T::streaming(Arc::new(FollowDish)))
        .connect_to(model.url())
        .await?;

    let mut updates = live.subscribe();
    println!("you:   Where is my dish?");
    live.send_text("Where is my dish?").await?;
    while let Some(recorded) = updates.next().await {
        match &recorded.fact.event {
            Event::Observed(Observation::ToolYielded(it)) => println!("  {}", it.response),
            Event::Observed(Observation::ToolReturned(it)) => println!("  {}", it.response),
            Event::Observed(Observation::ModelOutputReceived(it)) => println!("model: {}", it.text),
            Event::Observed(Observation::TurnCompleted(_)) => break,
            Event::Observed(_) | Event::Decided(_) => {}
        }
    }
    println!(
        "  the model was answered {} times",
        model.transcript().answers().count()
    );
    Ok(())
}
