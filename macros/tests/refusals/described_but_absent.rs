use recount_macros::tool;

/// Tells the weather.
///
/// # Arguments
/// * `town` - The city
#[tool]
async fn get_weather(city: String) {}

fn main() {}
