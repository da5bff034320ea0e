//! The program `recount`: one file a command, and what they share.
//!
//! It reads and prints. It decides nothing about a session, and no other module knows of it.

mod age;
mod answer;
mod audit;
mod backup;
mod beside;
mod cancel;
mod compact;
mod count;
mod demo;
mod diff;
mod divergence;
mod erase;
mod export;
mod failure;
mod fixture;
mod follow;
mod found;
mod given_json;
mod glyph;
mod ids;
mod import;
mod keys;
mod log;
mod members;
mod names;
mod on_record;
mod one_line;
mod opening;
mod os_user;
mod outline;
mod output;
mod pending;
mod phrases;
mod policy;
mod program;
mod progress;
mod prompt;
mod reconcile;
mod repair;
mod replay;
mod respond_call;
mod restore;
mod run;
mod screen;
mod sentence;
mod sessions;
mod settle;
mod show;
mod simulate;
mod source;
mod state;
mod stop;
mod style;
mod timeline;
mod unanswered;
mod unknown_kinds;
mod unread;
mod verdict;
mod verify;
mod what_if;
mod whole_file;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run()
}
