//! The environment of programs that tools start.

use tokio::process::Command;

/// Lets a program have, of our environment, what every program may need and the variables named in
/// `more`.
///
/// Keys and tokens of this process stand in its environment, and a tool or a server is not to have
/// them.
#[doc(hidden)]
pub fn clean<'n>(command: &mut Command, more: impl IntoIterator<Item = &'n str>) {
    command.env_clear();
    for name in INHERITED.into_iter().chain(more) {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

/// The variables that every program may need and that are no secret.
const INHERITED: [&str; 9] = [
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TZ", "TMPDIR",
];
