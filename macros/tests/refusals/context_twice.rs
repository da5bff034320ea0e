use recount_macros::tool;

#[tool("Is told twice")]
async fn twice(one: ToolContext, city: String, other: recount::tool::ToolContext) {}

fn main() {}
