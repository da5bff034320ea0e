//! A text pipeline: tools under their policies, called through a dispatcher alone, without a model and without a session.
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value without the key reads as null"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use recount::prelude::*;

/// Counts the words of a text.
#[tool]
async fn count_words(text: String) -> Value {
    json!({ "words": text.split_whitespace().count() })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tries = Arc::new(AtomicU32::new(0));
    let fetch = T::simple("fetch", "Fetch a text", move |_| {
        let first = tries.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if first {
                return Err(ToolError::ExecutionFailed("the line is busy".into()));
            }
            Ok(json!({ "text": "to recount is to tell a story again" }))
        }
    });
    let publish = T::simple("publish", "Publish a number", |args| async move {
        Ok(json!({ "published": args["words"] }))
    });

    let mut tools = ToolDispatcher::new().with_confirmation_provider(Arc::new(
        |request: ConfirmationRequest| async move {
            match request.args["words"].as_u64() {
                Some(1..=100) => ToolConfirmation::confirmed(),
                Some(_) | None => ToolConfirmation::denied("that is not worth publishing"),
            }
        },
    ));
    tools.register(
        T::idempotent(T::retry(fetch, 3, Duration::from_millis(1)))
            | T::cached(count_words())
            | T::confirm(publish, "Publish this?"),
    )?;

    let fetched = tools.call_function("fetch", json!({})).await?;
    let counted = tools.call_function("count_words", fetched.clone()).await?;
    tools.call_function("count_words", fetched).await?;
    println!("{}", tools.call_function("publish", counted).await?);
    match tools.call_function("publish", json!({ "words": 0 })).await {
        Err(ToolError::Cancelled(reason)) => println!("denied: {reason}"),
        other => println!("expected a denial, found {other:?}"),
    }

    for fact in tools.recorded() {
        println!("{:>3} {}", fact.seq.0, fact.event.kind());
    }
    Ok(())
}
