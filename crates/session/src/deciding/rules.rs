//! The number of the rules by which decisions are made.
//!
//! A change that alters a decision anywhere in the corpus of old journals is made under a new
//! number; the old branch stays as long as the corpus needs it. The number is recorded when a
//! session opens and when a runner attaches, and `decide` takes it from the session.

/// The rules of this program.
pub const RULES: u32 = 1;
