use recount_macros::tool;

#[tool]
async fn silent() {}

#[tool(name = "named", description = " ")]
async fn blank() {}

/// # Arguments
/// * `city` - The city
#[tool]
async fn only_arguments(city: String) {}

fn main() {}
