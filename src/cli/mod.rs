//! The program `recount`: what it reads and what it prints. It decides nothing about a session.

pub mod tools_file;
