//! Every program of `examples/` is small, and appears on the cookbook page that lists it.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../docs/cookbook/README.md");
const LINES_MAX: usize = 100;

fn files(directory: &str, extension: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let all = fs::read_dir(root).unwrap().map(|it| it.unwrap().path());
    let mut named: Vec<PathBuf> = all
        .filter(|it| it.extension().is_some_and(|it| it == extension))
        .collect();
    named.sort();
    named
}

fn names(files: &[PathBuf]) -> BTreeSet<String> {
    let stems = files.iter().map(|it| it.file_stem().unwrap());
    stems.map(|it| it.to_str().unwrap().to_owned()).collect()
}

#[test]
fn every_program_is_small_and_on_the_page() {
    let programs = files("examples", "rs");
    assert!(programs.len() >= 10, "{programs:?}");
    for program in &programs {
        let lines = fs::read_to_string(program).unwrap().lines().count();
        assert!(lines < LINES_MAX, "{} has {lines} lines", program.display());
    }
    for name in names(&programs) {
        let link = format!("(../../examples/{name}.rs)");
        assert!(PAGE.contains(&link), "the page has no link {link}");
    }
}

#[test]
fn every_program_that_brings_its_model_says_what_it_says() {
    let programs = files("examples", "rs");
    let alone = programs.iter().filter(|it| {
        let text = fs::read_to_string(it).unwrap();
        // The others take the address of a model.
        !text.contains("env::args()")
    });
    let alone: Vec<PathBuf> = alone.cloned().collect();
    assert_eq!(names(&alone), names(&files("examples/expected", "txt")));
}
