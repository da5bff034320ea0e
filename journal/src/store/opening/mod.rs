//! What happens between the lock and the first append.

pub(crate) mod options;
mod pass;
pub(crate) mod recovery;
mod refused;
pub(crate) mod settling;
