//! Paths in sentences and in commands.

use std::path::Path;

use super::one_line::one_line;

/// A path on one line, with the characters escaped that a terminal would act on.
pub fn shown(path: &Path) -> String {
    one_line(&path.display().to_string()).into_owned()
}

/// A path quoted for a shell.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:@,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
