//! Who sits at this terminal, as the operating system knows it.

use std::process::Command;

use super::failure::Failure;
use crate::session::{Actor, Authentication};

/// Who answers: the user of this process, or a name that nobody checked.
pub(super) fn actor(name: Option<String>) -> Result<Actor, Failure> {
    match name {
        Some(name) => Ok(Actor {
            name,
            authenticated_by: Authentication::None,
        }),
        None => Ok(Actor::os_user(current()?)),
    }
}

/// The user that this process runs as; an environment variable would say whatever its parent wanted.
pub(super) fn current() -> Result<String, Failure> {
    let (program, arguments): (&str, &[&str]) = if cfg!(windows) {
        ("whoami", &[])
    } else {
        ("id", &["-un"])
    };
    let asked = Command::new(program).args(arguments).output();
    let name = asked
        .ok()
        .filter(|it| it.status.success())
        .and_then(|it| String::from_utf8(it.stdout).ok())
        .map(|it| it.trim().to_owned())
        .filter(|it| !it.is_empty());
    name.ok_or_else(|| {
        Failure::new(
            "unknown-user",
            format!("expected the user's name from `{program}`, found none"),
        )
        .advice("say who you are with --as NAME")
    })
}
