//! Programs of this machine as tools, and files that declare them.
//!
//! Part of the crate with the feature `programs`. This module starts programs, feeds and kills
//! them, and computes their identity; it does not know the record. Read `command`, which knows no
//! policy, then `tools_file`, which reads the policy of each tool.

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
