//! The number of the decision rules.
//!
//! A change that alters any decision in the corpus of old journals gets a new number. The old
//! branch stays as long as the corpus needs it. The number is recorded when a session opens and
//! when a runner attaches, and `decide` reads it from the session.

/// The rules number of this program.
pub const RULES: u32 = 1;
