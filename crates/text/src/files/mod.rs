//! Files that a user names. [`given_file`] reads a whole file within a limit. [`draft`] writes a
//! file that gets its name only when it is complete. Neither knows the content.

pub mod draft;
pub mod given_file;
