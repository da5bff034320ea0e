//! The sections about what changed or happened beside calls: policies, pauses, erasures, clocks.

mod clock;
mod difference;
mod erasures;
mod pauses;
mod policies;

pub(super) use clock::clock;
pub(super) use difference::difference;
pub(super) use erasures::erasures;
pub(super) use pauses::pauses;
pub(super) use policies::policies;
