//! An event journal.
