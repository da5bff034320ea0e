//! The tools of an MCP server, the reference server for files. Writing needs an approval, reading
//! does not.
//!
//! First run `recount simulate --script fixtures/scripts/mcp_filesystem.jsonl`, then this program
//! in a directory that contains a directory `notes`. The arguments are the model's URL and the
//! server's command line.

use std::time::Duration;

use recount::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let url = args.next().unwrap_or("ws://127.0.0.1:8787".into());
    let server = args
        .next()
        .unwrap_or("npx -y @modelcontextprotocol/server-filesystem@2026.8.31 notes".into());

    // Connects, lists the tools and checks them. The pattern names the tools to which the policy
    // applies.
    let files = McpServer::from(server)
        .named("files")
        .prefix("files_")
        .timeout(Duration::from_secs(10))
        .policy("files_write_*", ToolPolicy::gate("Write this file?"));
    let files = T::mcp(files).await?;
    println!("{} tools", files.tools().len());

    let live = Live::builder()
        .model("gemini-3.8-live")
        .instruction("You keep the user's notes.")
        .tools(files)
        .journal("./journal")
        .connect_to(url)
        .await?;
    let mut updates = live.subscribe();
    live.send_text("Please note that the milk is finished.")
        .await?;
    updates
        .wait_for(|event| event.kind() == "confirmation_requested")
        .await;
    for request in live.pending().await? {
        println!("{} {}: approved", request.tool, request.args);
        let yes = ToolConfirmation::confirmed();
        live.answer(request.id, yes, Actor::embedder("ada")).await?;
    }
    println!("{}", updates.turn().await.unwrap_or_default());

    live.send_text("What is in my notes?").await?;
    println!("{}", updates.turn().await.unwrap_or_default());
    Ok(())
}
