use recount_macros::tool;

#[tool("Is not async")]
fn not_async(city: String) {}

#[tool("Is generic")]
async fn generic<T>(value: T) {}

#[tool("Is bounded")]
async fn bounded(city: String)
where
    String: Clone,
{
}

#[tool("Is no function")]
struct City;

fn main() {}
