//! The pages of `docs/tools` are complete: each short name of `T` appears in one of them.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::fs;
use std::path::Path;

#[test]
fn every_policy_has_a_row_of_its_own() {
    let page = include_str!("../docs/tools/policies.md");
    let source = concat!(
        include_str!("../crates/tool/src/tools/t_approvals.rs"),
        include_str!("../crates/tool/src/tools/t_policies.rs")
    );
    for name in short_names(source) {
        let row = format!("`T::{name}");
        let rows = page.lines().filter(|line| line.starts_with('|'));
        assert!(
            rows.clone().any(|line| line.contains(&row)),
            "T::{name} has no row in docs/tools/policies.md"
        );
    }
}

#[test]
fn every_kind_of_tool_is_on_a_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tools");
    let pages = fs::read_dir(folder).unwrap();
    let pages: String = pages
        .map(|page| fs::read_to_string(page.unwrap().path()).unwrap())
        .collect();
    for name in short_names(include_str!("../crates/tool/src/tools/t.rs")) {
        let named = format!("T::{name}");
        assert!(pages.contains(&named), "{named} stands on no page");
    }
}

/// The public functions of one part of `impl T`.
fn short_names(source: &str) -> Vec<&str> {
    let functions = source.split("\n    pub fn ").skip(1);
    let names: Vec<&str> = functions
        .map(|rest| rest.split(['<', '(']).next().unwrap())
        .collect();
    assert!(names.len() > 10, "{names:?}");
    names
}
