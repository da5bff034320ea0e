//! The contents of bundles.
