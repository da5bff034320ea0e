//! The check of which users can read or write a key store, before a key in it is trusted.

use std::path::Path;

use super::Error;
#[cfg(unix)]
use crate::files::guard::guarded;

/// The mode bits that let others read and write.
#[cfg(unix)]
const ANY: u32 = 0o006;

/// Rejects a key store that other users than its owner can write to, or whose files they can read.
#[cfg(unix)]
pub(super) fn guard_keys(path: &Path) -> Result<(), Error> {
    guarded(path, ANY).map_err(|error| match error {
        crate::Error::NotYours { path, owner } => {
            let what = format!("it belongs to the user {owner}, not to the superuser");
            Error::Insecure { path, what }
        }
        crate::Error::Insecure { path, what } => Error::Insecure { path, what },
        crate::Error::Io { doing, source } => Error::Io { doing, source },
        other => Error::Insecure {
            path: path.to_owned(),
            what: other.to_string(),
        },
    })
}

#[cfg(not(unix))]
pub(super) fn guard_keys(_path: &Path) -> Result<(), Error> {
    Ok(())
}
