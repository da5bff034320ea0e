//! Recount.
