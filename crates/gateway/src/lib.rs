//! A gateway for clients of the Gemini Live API: their calls get policies, approvals and a journal.
//!
//! A client connects to the [`Gateway`] instead of the vendor. Its messages pass unchanged. The
//! calls of the model are recorded, and held where a policy says so.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the relay that uses them follows")
)]
mod frames;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the relay that uses it follows")
)]
mod places;
