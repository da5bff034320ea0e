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
//! Read `address` and `options` first, then `server` (connections), `schema` (the tables), `node`
//! (the lease) and `claims` (its streams), `statements`, `batch` and `committer` (appends),
//! `sequencer`, `news` and `commits` (positions, and who follows them), `reading`, `commands`
//! (requests to other nodes), `openings` (the streams of keys), `journal`, and `sharing`.

mod address;
mod batch;
mod claims;
mod commands;
mod commits;
mod committer;
mod error;
mod journal;
mod news;
mod node;
mod openings;
mod options;
mod queue;
mod reading;
mod schema;
mod sequencer;
mod server;
mod sharing;
mod statements;

pub use address::{Address, NotAnAddress};
pub use journal::PostgresJournal;
pub use options::Options;
