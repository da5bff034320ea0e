//! The program `recount`: a room for each kind of command, and the rooms that they share.
//!
//! The program reads and prints. It decides nothing about a session.
//!
//! From the bottom: `failures`, `terminal` and `files`; then `journal`, `config` and
//! `telling`; then the commands, in `operator`, `inspect`, `maintenance`, `audit`, `development`,
//! `run`, `serve` and `demo`; `program` is the command line as a whole. No room imports a later
//! one.

mod audit;
#[cfg(feature = "serve")]
mod config;
mod demo;
mod development;
mod failures;
mod files;
mod inspect;
mod journal;
mod maintenance;
mod operator;
mod program;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod telling;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run()
}
