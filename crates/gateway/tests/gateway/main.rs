//! The gateway between a client and a vendor, both in the hands of the test.
//!
//! `bench` has both sides, on loopback. A test that expects nothing sends something else behind it,
//! and expects that next.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail"
)]

mod attacks;
mod bench;
mod calls;
mod disks;
mod early;
mod faults;
mod floods;
mod forgeries;
mod handles;
mod harmless;
mod order;
mod policies;
mod records;
mod sessions;
mod sockets;
mod stops;
mod takeovers;
mod transparency;
mod vendor;
mod views;
