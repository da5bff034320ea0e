//! Limits for messages from a peer.

/// The limits for messages from the service.
///
/// A larger frame or message ends the connection with close code 1009. A message that nests deeper
/// than the limit is recorded as unreadable, and the connection continues.
///
/// ```
/// use recount::live::{Endpoint, Limits};
///
/// let limits = Limits { message_bytes_max: 1 << 20, ..Limits::default() };
/// let endpoint = Endpoint::google_ai("an API key").limits(limits);
/// # let _ = endpoint;
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// The maximum size of a WebSocket frame, in bytes. Defaults to 16 MiB.
    pub frame_bytes_max: usize,
    /// The maximum size of a message, in bytes. A message may consist of several frames. Defaults
    /// to 16 MiB.
    pub message_bytes_max: usize,
    /// The maximum depth of the protocol's own objects and lists. Defaults to 64; values above 256
    /// count as 256.
    ///
    /// Arguments deeper than 64 levels are always answered as malformed.
    pub json_depth_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            frame_bytes_max: 16 << 20,
            message_bytes_max: 16 << 20,
            json_depth_max: 64,
        }
    }
}
