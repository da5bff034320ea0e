//! The user that runs this process, as the operating system reports it.

use std::process::Command;

/// Returns the name of the user, if the system knows it. An environment variable could be set to
/// any name by the parent process.
///
/// Blocks briefly, because it runs a program.
pub fn current() -> Option<String> {
    let (program, arguments): (&str, &[&str]) = if cfg!(windows) {
        ("whoami", &[])
    } else {
        ("id", &["-un"])
    };
    said(program, arguments)
}

/// The name of the user with this id, if there is one.
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
