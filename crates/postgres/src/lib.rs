//! The journal of Recount in PostgreSQL, for who outgrows one machine.
//!
//! A [`PostgresJournal`] is a [`Journal`](recount_journal::Journal): the same lines, hashes and
//! open work as in a directory. Several processes may open the same database. Each is a node with a
//! lease, by the clock of the database. A stream has one owner at a time, and the database refuses
//! the append of any other node, whatever that node believes.
//!
//! ```no_run
//! use recount_journal::{Journal, block_on};
//! use recount_postgres::PostgresJournal;
//!
//! # fn main() -> Result<(), recount_journal::Error> {
//! let journal = PostgresJournal::open("postgres://recount@db.internal/journal")?;
//! println!("{} sessions", block_on(journal.sessions(None, 100))?.len());
//! block_on(journal.close())
//! # }
//! ```
//!
//! Read `address` and `options` first, then `server` and `connection`, `schema` (the tables), `lease`
//! (this node, with `clock`, `health` and `supervision`) and `claims` (its streams), `statements`, `batch` and `committer`
//! (appends), `sequencer`,
//! `news` and `commits` (positions, and who follows them), `reading`, `commands`
//! (requests to other nodes), `openings` (the streams of keys), `journal`, and `sharing`.

mod address;
mod batch;
mod claims;
mod clock;
mod commands;
mod commits;
mod committer;
mod connection;
mod error;
mod health;
mod journal;
mod lease;
mod news;
mod openings;
mod options;
mod owned;
mod queue;
mod reading;
mod reads;
mod schema;
mod sequencer;
mod server;
mod settings;
mod sharing;
mod statements;
mod supervision;

pub use address::{Address, NotAnAddress};
pub use journal::PostgresJournal;
pub use options::Options;
