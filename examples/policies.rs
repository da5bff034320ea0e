//! Composed policies on tools without a model: a dispatcher enforces them, and records its
//! decisions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use recount::prelude::*;

/// Counts the words of a text.
#[tool]
async fn count_words(text: String) -> Value {
    println!("  counting");
    json!({ "words": text.split_whitespace().count() })
}

/// Publishes a number of words.
#[tool]
async fn publish(words: u64) -> Value {
    json!({ "published": words })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tries = Arc::new(AtomicU32::new(0));
    let fetch = T::simple("fetch", "Fetches a text", move |_| {
        let first = tries.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if first {
                return Err(ToolError::ExecutionFailed("the line is busy".into()));
            }
            Ok(json!({ "text": "to recount is to tell a story again" }))
        }
    });
    let editor = |request: ConfirmationRequest| async move {
        println!("  {} {}", request.message.unwrap_or_default(), request.args);
        ToolConfirmation::denied("that is too much")
    };

    let mut tools = ToolDispatcher::new().with_confirmation_provider(Arc::new(editor));
    let much = S::compares(S::arg("words"), Comparison::Greater, 100);
    // The order does not matter: policies are attributes of a tool, and do not wrap each other.
    tools.register(
        T::timeout(
            T::idempotent(T::retry(fetch, 3, Duration::from_millis(1))),
            Duration::from_secs(5),
        ) | T::cached(count_words())
            | T::confirm_when(publish(), "Publish so much?", much),
    )?;

    let fetched = tools.call_function("fetch", json!({})).await?;
    println!("fetched: {fetched}");
    for _ in 0..2 {
        let counted = tools.call_function("count_words", fetched.clone()).await?;
        println!("counted: {counted}");
    }
    for words in [8, 800] {
        match tools
            .call_function("publish", json!({ "words": words }))
            .await
        {
            Ok(published) => println!("published: {published}"),
            Err(error) => println!("not published: {error}"),
        }
    }
    for fact in tools.recorded() {
        let kind = fact.event.kind();
        if ["retry_scheduled", "result_reused", "confirmation_answered"].contains(&kind) {
            println!("on record: {kind}");
        }
    }
    Ok(())
}
