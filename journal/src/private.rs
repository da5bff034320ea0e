//! Files and directories for the user of this process alone: records quote arguments and names, and
//! a process that can open the lock can keep it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes directories for their user alone, those above them included.
pub(crate) fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes a file for writing where none may be: what a killed process left there goes first, and a
/// link to elsewhere is removed, never followed.
pub(crate) fn anew(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    options().write(true).create_new(true).open(path)
}

/// Settings for opening a file of a journal: one that is made is for its user alone, and a link is
/// not followed.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
        options.custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0));
    }
    options
}
