//! Values that all other modules use: ids, times, hashes, actors, and the ends of calls.
//!
//! They contain no rule and know no event. Read `id` and `time`, then `object` and `endings`. The
//! files are independent of each other; only `time` and `lease` need `milliseconds`,
//! `known_fields` needs `object`, and `trace` needs `id`.

pub(super) mod actor;
pub(super) mod endings;
pub(super) mod id;
pub(super) mod known_fields;
pub(super) mod lease;
pub(super) mod milliseconds;
pub mod object;
pub(super) mod scheduling;
pub(super) mod scope;
#[doc(hidden)]
pub mod secret;
pub(super) mod time;
pub(super) mod trace;
