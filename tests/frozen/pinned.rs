//! Comparison with pinned texts, each in a file of its own so that a diff shows the change.

use std::path::Path;

/// The variable with which the tests write the files again.
const WRITE: &str = "RECOUNT_WRITE_FROZEN";

/// Compares a text with the file in `tests/frozen/` that pins it.
pub(crate) fn assert_pinned(file: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/frozen")
        .join(file);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let pinned = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        pinned == found,
        "tests/frozen/{file} pins another text (- pinned, + found):\n{}\n\
         If the change is meant, write it anew with {WRITE}=1, and name it in CHANGELOG.md.",
        difference(&pinned, found)
    );
}

/// The lines between the common beginning and the common end of both texts.
fn difference(pinned: &str, found: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (pinned.lines().collect(), found.lines().collect());
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(rest);
    let after = after.take_while(|(a, b)| a == b).count();
    let marked = |mark: &str, lines: &[&str]| -> String {
        let lines = lines.iter().take(lines.len() - after).skip(before).take(40);
        lines.map(|line| format!("{mark} {line}\n")).collect()
    };
    marked("-", &old) + &marked("+", &new)
}
