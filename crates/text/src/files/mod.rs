//! Files that people name: [`given_file`] reads one whole, within a limit, and [`draft`] writes one
//! that has its name only once it is whole. It does not know what is in them.

pub mod draft;
pub mod given_file;
