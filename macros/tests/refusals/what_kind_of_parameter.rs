use recount_macros::tool;

#[tool("Has a self")]
async fn method(&self) {}

#[tool("Borrows")]
async fn borrows(city: &str) {}

#[tool("Does not say which type")]
async fn unnamed(city: impl Into<String>) {}

#[tool("Takes a pair apart")]
async fn pair((a, b): (u8, u8)) {}

#[tool("May have no such parameter")]
async fn conditional(#[cfg(unix)] city: String) {}

fn main() {}
