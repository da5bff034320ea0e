//! The files of secrets, which other users of the machine must not read.

use crate::config::{Given, Mistake};

/// The maximum length of a file, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 20;

pub(super) type File = Given<std::path::PathBuf>;

/// Reads a file with a secret. `danger` completes "so every user can".
pub(super) fn private_text(file: &File, danger: &str) -> Result<String, Mistake> {
    expect_private(file, danger)?;
    file.read(FILE_BYTES_MAX)
}

/// Rejects a secret that every user of the machine can read.
pub(super) fn expect_private(file: &File, danger: &str) -> Result<(), Mistake> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let facts = file
            .value
            .metadata()
            .map_err(|error| file.unreadable(&error))?;
        let mode = facts.permissions().mode() & 0o777;
        if mode & 0o007 != 0 {
            let path = file.value.display();
            let what = format!("{path} has the mode {mode:03o}, so every user can {danger}");
            return Err(file.mistake(what));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, danger);
    Ok(())
}
