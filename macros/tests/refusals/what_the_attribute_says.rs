use recount_macros::tool;

#[tool("Has another key", timeout = "3")]
async fn another_key() {}

#[tool("Has two", description = "descriptions")]
async fn twice() {}

#[tool("Has a name no model could call", name = "get weather")]
async fn spaced() {}

#[tool(7)]
async fn number() {}

/// Has a name that is too long.
#[tool]
async fn no_service_takes_a_name_that_has_as_many_letters_as_this_one_has_got() {}

fn main() {}
