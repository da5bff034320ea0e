//! A slow search in the background: the model keeps talking, and uses the result when it is idle.

use std::sync::Arc;

use recount::prelude::*;
use recount::simulator::{Script, Simulator};
use tokio::sync::Notify;

const MODEL: &str = concat!(
    r#"{"on": {"text": "wine"}, "#,
    r#""send": [{"call": [{"id": "c1", "name": "search"}]}, "#,
    r#"{"say": "I am looking. Red or white?"}]}"#,
    "\n",
    r#"{"on": {"text": "white"}, "send": [{"say": "White it is."}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["c1"]}, "send": [{"say": "The Riesling goes with it."}]}"#,
);

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Simulator::start(Script::parse(MODEL)?);
    let model = model.listen("127.0.0.1:0").await?;

    let library_answers = Arc::new(Notify::new());
    let answers = library_answers.clone();
    let search = T::simple("search", "Searches the wine list", move |_| {
        let answers = answers.clone();
        async move {
            answers.notified().await;
            Ok(json!({ "found": "Riesling" }))
        }
    });
    let live = Live::builder()
        .model("gemini-3.8-live")
        .tools(T::background(search))
        .connect_to(model.url())
        .await?;

    let mut updates = live.subscribe();
    for words in ["Which wine goes with it?", "White, please."] {
        println!("you:   {words}");
        live.send_text(words).await?;
        println!("model: {}", updates.turn().await.unwrap_or_default());
    }
    println!("  (the search finds something)");
    library_answers.notify_one();
    println!("model: {}", updates.turn().await.unwrap_or_default());

    for (_, answer, _) in model.transcript().answers() {
        if let Some(response) = &answer.response {
            println!("  the model was told: {response}");
        }
    }
    Ok(())
}
