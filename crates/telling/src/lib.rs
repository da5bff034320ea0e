//! Recorded sessions in words for people: the same words in the terminal, on pages and in messages.
//!
//! This crate knows no terminal, no page, no journal and no failure. Its callers give it events and
//! values, and lay its sentences out.
//!
//! Everything that a model, a tool or a person filled in is untrusted. [`one_line`] makes each
//! character of it visible; show such text through it and nowhere else.
//!
//! From the bottom: `text` has lines, times, numbers, people and paths; `tone` the kinds of text;
//! `needs` the approvals that a request needs; `question` a call that waits; `sentence` one event
//! as one sentence; `calls` the verdicts and outcomes of an audit; `outline` JSON with a line for
//! each member; [`timeline_svg`] a session as a picture.
//!
//! ```
//! use recount_telling::{count, one_line};
//!
//! assert_eq!(one_line("a\u{202e}b\n"), "a\\u{202e}b\\n");
//! assert_eq!(count(2_u64, "record"), "2 records");
//! ```

pub mod calls;
mod needs;
mod outline;
mod question;
mod sentence;
mod text;
pub mod timeline_svg;
mod tone;

pub use needs::{progress, still_needed};
pub use outline::outline;
pub use question::{asked, asked_in_words, shown_args};
pub use sentence::{Names, Sentence, clause, ending, sentence};
pub use text::{
    COLUMNS, Piece, Zone, acted, acted_in_short, age, bound_words, by_leave, count, cut, duration,
    end_of_leave, escaped, mixed_scripts, one_line, party, pieces, quoted, shown, span, width,
    wrapped,
};
pub use tone::Tone;
