//! A tool that the model calls while it talks: the weather.
//!
//! The model is the simulator, in this process. For Gemini itself, replace `.connect_to(…)` with
//! `.connect_google_ai(key)`.

use recount::prelude::*;
use recount::simulator::{Script, Simulator};

const MODEL: &str = concat!(
    r#"{"on": {"text": "weather"}, "#,
    r#""send": [{"call": [{"id": "c1", "name": "get_weather", "args": {"city": "Oslo"}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["c1"]}, "send": [{"say": "It is 22 degrees in Oslo."}]}"#,
);

/// Tells the weather.
///
/// # Arguments
/// * `city` - The city to tell it for
#[tool]
async fn get_weather(city: String) -> Value {
    println!("  asked for the weather in {city}");
    json!({ "city": city, "celsius": 22 })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Simulator::start(Script::parse(MODEL)?);
    let model = model.listen("127.0.0.1:0").await?;
    let live = Live::builder()
        .model("gemini-3.8-live")
        .instruction("You know the weather.")
        .tools(get_weather())
        .connect_to(model.url())
        .await?;

    let mut updates = live.subscribe();
    println!("you:   How is the weather?");
    live.send_text("How is the weather?").await?;
    println!("model: {}", updates.turn().await.unwrap_or_default());
    Ok(())
}
