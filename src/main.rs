//! The program `recount`.

fn main() {}
