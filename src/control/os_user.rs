//! The user that this process runs as, by the operating system's own word.

use std::process::Command;

/// The name of the user, if the system tells it. An environment variable would say whatever its
/// parent wanted.
///
/// It asks a program, so it blocks for a moment.
pub fn current() -> Option<String> {
    let (program, arguments): (&str, &[&str]) = if cfg!(windows) {
        ("whoami", &[])
    } else {
        ("id", &["-un"])
    };
    said(program, arguments)
}

/// The name of the user with this number, if there is one.
#[cfg(unix)]
pub(super) fn named(uid: u32) -> Option<String> {
    said("id", &["-un", &uid.to_string()])
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let asked = Command::new(program).args(arguments).output();
    asked
        .ok()
        .filter(|it| it.status.success())
        .and_then(|it| String::from_utf8(it.stdout).ok())
        .map(|it| it.trim().to_owned())
        .filter(|it| !it.is_empty())
}
