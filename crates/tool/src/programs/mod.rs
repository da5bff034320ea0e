//! Programs of this machine as tools, and files that name them.
//!
//! The crate has this folder with the feature `programs`. It knows how a program is started, fed,
//! ended and known again; it does not know the record. Read `command`, which knows no policy, then
//! `tools_file`, which reads that of each tool.

mod command;
#[doc(hidden)]
pub mod implementation;
#[doc(hidden)]
pub mod process_group;
#[doc(hidden)]
pub mod program_env;
#[cfg(feature = "toml")]
pub mod tools_file;

pub use command::CommandTool;
