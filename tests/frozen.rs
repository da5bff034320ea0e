//! The surfaces that stay as they are while the code moves; `frozen/README.md` lists all of them.
//!
//! Each test compares the output of public functions with a text file in `frozen/`. With
//! `RECOUNT_WRITE_FROZEN=1` it writes the file again, so that the difference can be reviewed.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

#[path = "frozen/decisions.rs"]
mod decisions;
#[cfg(feature = "testing")]
#[path = "frozen/engine_words.rs"]
#[expect(clippy::panic, reason = "one of the tools panics")]
mod engine_words;
#[path = "frozen/hashes.rs"]
mod hashes;
#[path = "frozen/pinned.rs"]
mod pinned;
#[path = "frozen/rejections.rs"]
mod rejections;
#[path = "frozen/scenes/mod.rs"]
mod scenes;
#[cfg(feature = "schema")]
#[path = "frozen/schemas.rs"]
mod schemas;
#[path = "frozen/seed_names.rs"]
mod seed_names;
#[path = "frozen/state.rs"]
mod state;
#[path = "frozen/tool_words.rs"]
mod tool_words;
#[path = "frozen/words.rs"]
mod words;
