//! A person must approve a refund, and may take their time. The program ends meanwhile, and another
//! one continues.

use std::path::Path;
use std::time::Duration;

use recount::prelude::*;
use recount::simulator::{Script, Simulator};

const MODEL: &str = concat!(
    r#"{"on": {"text": "refund order 1001"}, "#,
    r#""send": [{"call": [{"id": "c1", "name": "refund", "args": {"order": "1001"}}]}]}"#,
    "\n",
    r#"{"on": {"text": "[tool outcome]"}, "send": [{"say": "Your refund has been decided."}]}"#,
);

/// Gives the money for an order back.
#[tool]
async fn refund(order: String) -> Value {
    println!("  refunded {order}");
    json!({ "refunded": order })
}

/// Opens the engine of either program. Pending requests are in the journal.
async fn open(journal: &Path, model: String) -> Result<Engine, recount::engine::Error> {
    let support = Agent::new()
        .model("gemini-3.8-live")
        .tools(T::confirm(refund(), "Refund this order?"))
        .connect_to(Endpoint::url(model));
    let engine = Engine::builder(journal).agent("support", support);
    engine.open().await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Simulator::start(Script::parse(MODEL)?);
    let model = model.listen("127.0.0.1:0").await?;
    let journal = tempfile::tempdir()?;

    let engine = open(journal.path(), model.url()).await?;
    let mut updates = engine.subscribe();
    let live = engine.session("support").connect().await?;
    let session = live.session_id();
    println!("you:   Please refund order 1001.");
    live.send_text("Please refund order 1001.").await?;
    let asked = |event: &_| recount::session::Event::kind(event) == "confirmation_requested";
    updates.wait_for(asked).await;
    println!("  (nobody is there to agree, and the program ends)");
    engine.shutdown(Duration::ZERO).await?;
    drop((live, engine));

    let engine = open(journal.path(), model.url()).await?;
    let mut updates = engine.subscribe();
    for waiting in engine.pending().await? {
        let hint = waiting.hint.unwrap_or_default();
        println!("  {hint} {} {}", waiting.tool, waiting.args);
        let (yes, ada) = (ToolConfirmation::confirmed(), Actor::embedder("ada"));
        engine.answer(waiting.id, yes, ada).await?;
    }
    let _live = engine.resume(session).await?;
    println!("model: {}", updates.turn().await.unwrap_or_default());
    engine.shutdown(Duration::ZERO).await?;
    Ok(())
}
