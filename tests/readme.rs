//! The code blocks of the README are the code that runs.

const README: &str = include_str!("../README.md");
const EXAMPLE: &str = include_str!("../examples/approve.rs");

#[test]
fn the_program_of_the_readme_is_the_example_that_ci_runs() {
    let shown = README
        .split("```rust,no_run\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let runs = EXAMPLE.split_once("\n\n").map(|(_, program)| program);
    assert_eq!(shown, runs);
}
