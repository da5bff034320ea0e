//! A web service that embeds the engine. It may crash while a person decides, and the approval
//! counts after its restart.
//!
//! `docs/cookbook/approve_after_restart.md` builds it step by step. First run
//! `recount simulate --script fixtures/scripts/refund.jsonl`, then
//! `approvals_service ws://127.0.0.1:8787`.

mod service;

use std::collections::BTreeMap;

use service::Config;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1);
    let config = Config {
        address: "127.0.0.1:3000".into(),
        journal: "./approvals-journal".into(),
        receipts: "./refunds.txt".into(),
        model: url.unwrap_or("ws://127.0.0.1:8787".into()),
        // In your service they come from the login.
        people: BTreeMap::from([("secret-of-ada".to_owned(), "ada".to_owned())]),
    };
    let stop = async {
        // Without signals, the service runs until it is killed, which it survives.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    service::serve(config, |address| println!("http://{address}"), stop).await
}
