//! A tool that runs in another program: the model calls it, a client claims the call and reports
//! the result.

use recount::engine::{ClaimRequest, ClientAction, Operation};
use recount::prelude::*;
use recount::session::{Json, Lease};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = json!({"type": "object", "properties": {"order": {"type": "integer"}}});
    let pack = T::idempotent(T::client("pack_order", "Packs an order", schema));
    let agent = Agent::new().model("none").tools(pack);
    let engine = Engine::in_memory().agent("shop", agent).open().await?;
    let session = engine.session("shop").open().await?;

    let calling = session.call_function("pack_order", json!({"order": 7}), Actor::embedder("shop"));
    let (result, packed) = tokio::join!(calling, pack_one(&engine));
    packed?;
    println!("result: {}", result?);
    engine.shutdown(std::time::Duration::ZERO).await?;
    Ok(())
}

/// The client: in a real system another process, over the control protocol or an API.
async fn pack_one(engine: &Engine) -> Result<(), recount::engine::Error> {
    let warehouse = Actor::embedder("warehouse");
    let request = ClaimRequest::new("worker-7/0001").tool("pack_order");
    let call = engine.claim_next(&request, warehouse.clone()).await?;
    println!(
        "claimed: {} {}, attempt {}",
        call.tool,
        call.args.as_str(),
        call.attempt
    );

    let (key, action) = (call.key(), ClientAction::Renew(Lease::DEFAULT));
    let renew = Operation::Client { key, action };
    engine.operate(renew, warehouse.clone()).await?;
    let boxes = Json::of(&json!({"boxes": 2}));
    engine
        .finish_claim(call.key(), Ok(boxes), warehouse.clone())
        .await?;

    let again = Json::of(&json!({"boxes": 3}));
    let second = engine.finish_claim(call.key(), Ok(again), warehouse).await;
    if let Err(refused) = second {
        println!("a second result: {refused}");
    }
    Ok(())
}
