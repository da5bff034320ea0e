//! The record of who read recorded sessions.
//!
//! A [`Recorder`] appends each [`Read`] to an access journal, which is a journal of its own beside
//! that of the sessions. It holds no bodies, no tokens and no query strings. [`on_record`] reads
//! it.
//!
//! ```
//! use std::sync::Arc;
//! use recount::engine::SystemClock;
//! use recount::session::{Actor, SessionId};
//! use recount_journal::{MemoryJournal, block_on};
//! use recount_reads::{Depth, Door, How, Read, Recorder, Settings, on_record};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let journal = Arc::new(MemoryJournal::new());
//! let clock = SystemClock::shared();
//! let recorder = Recorder::start(journal.clone(), clock, Settings::default()).await?;
//! let read = Read {
//!     by: Actor::token("ada"),
//!     how: How::Token,
//!     door: Door::Http,
//!     route: "GET /v1/sessions/{id}/records".to_owned(),
//!     sessions: vec![SessionId(uuid::Uuid::from_u128(7))],
//!     every_session: false,
//!     depth: Depth::Bodies,
//!     status: 200,
//! };
//! recorder.record(read.clone()).await?;
//! let found = on_record(&*journal).await?;
//! assert_eq!(found.reads[0].read, read);
//! # Ok(()) }
//! ```
//!
//! Read `read` first, the values, then `days`, the streams, and `bodies`, what is on record in
//! them. `recorded` reads them. `windows` has the reads that are not written again, `writer` the
//! task that appends, and `recorder` what a service holds.

mod bodies;
mod days;
mod read;
mod recorded;
mod recorder;
mod windows;
mod writer;

pub use days::stream_of;
pub use read::{Depth, Door, How, Read};
pub use recorded::{Missed, OnRecord, RecordedRead, Switch, latest, on_record};
pub use recorder::{NotRecorded, OnFailure, Recorder, Settings, Status, note_off};
