//! Compressed files: gzip and zstd, read and written as streams.
//!
//! A file to read is recognized by its first bytes, a file to write by its name. Read `format`
//! first, then `reading`, `zstd_frames` and `writing`.

mod format;
mod reading;
#[cfg(test)]
mod tests;
mod writing;
mod zstd_frames;

pub(crate) use format::Compression;
pub(crate) use reading::Decompressed;
pub(crate) use writing::Compressing;
