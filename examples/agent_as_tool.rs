//! A text agent as a tool: the voice model calls an agent with a model and tools of its own. One of
//! these tools asks a person.
//!
//! The example runs offline, with scripted models. With a key, `GeminiLlm` replaces the scripted
//! one.
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value without the key reads as null"
)]

use recount::prelude::*;
use recount::simulator::{Script, Simulator};
use recount::tool::{LlmAgent, LlmReply, LlmSaid, ScriptedLlm};

/// The script of the conversation's model.
const CONVERSATION: &str = concat!(
    r#"{"on": {"text": "17"}, "#,
    r#""send": [{"call": [{"id": "c1", "name": "verify_identity", "#,
    r#""args": {"request": "Verify customer 17."}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["c1"]}, "send": [{"say": "Thank you, Ada. How can I help?"}]}"#,
);

/// The script of the agent's model, turn by turn.
fn verifiers_model() -> ScriptedLlm {
    let calls = |call| LlmReply {
        said: vec![call],
        usage: None,
    };
    ScriptedLlm::new([
        calls(LlmSaid::call("look_up", json!({ "customer": 17 }))),
        calls(LlmSaid::call("send_code", json!({ "phone": "555-0117" }))),
        LlmReply::text("Verified: it is Ada."),
    ])
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let look_up = T::simple("look_up", "Finds a customer", |args| async move {
        Ok(json!({ "customer": args["customer"], "name": "Ada", "phone": "555-0117" }))
    });
    let send_code = T::simple("send_code", "Sends a code to a phone", |_| async {
        Ok(json!({ "code_entered": true }))
    });
    let verifier = LlmAgent::new("verifier", verifiers_model())
        .instruction("Verify the caller: look the customer up, then send a code.")
        .tools(look_up | T::confirm(send_code, "Send this customer a code?"))
        .turns_max(5)
        .output_key("verified");

    let script = Script::parse(CONVERSATION)?;
    let simulator = Simulator::start(script).listen("127.0.0.1:0").await?;
    let journal = tempfile::tempdir()?;
    let live = Live::builder()
        .model("gemini-3.8-live")
        .agent_tool("verify_identity", "Verifies a caller's identity", verifier)
        .journal(journal.path())
        .connect_to(simulator.url())
        .await?;
    let mut updates = live.subscribe();
    live.send_text("Hello, I am customer 17.").await?;

    // The agent waits for a person as any tool does. The process may crash here.
    updates
        .wait_for(|event| event.kind() == "confirmation_requested")
        .await;
    for request in live.pending().await? {
        println!("{} {}: approved", request.tool, request.args);
        let yes = ToolConfirmation::confirmed();
        live.answer(request.id, yes, Actor::embedder("ada")).await?;
    }
    println!("model: {}", updates.turn().await.unwrap_or_default());
    let verified: Option<String> = live.state().await?.get("verified");
    println!("state: {}", verified.unwrap_or_default());
    Ok(())
}
