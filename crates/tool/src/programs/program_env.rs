//! The environment of programs that tools start.

use tokio::process::Command;

/// Limits a program's environment to the variables every program may need and those named in
/// `more`.
///
/// The environment of this process holds keys and tokens, which a tool or a server must not
/// receive.
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
