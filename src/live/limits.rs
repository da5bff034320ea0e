//! How much is taken from a peer.

/// How much of what the service sends is taken in.
///
/// A frame or message that is larger ends the connection with close code 1009, and says so. A
/// message that nests deeper than the limit goes on record as one that could not be read, and the
/// connection goes on.
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
    /// Bytes of one frame of the WebSocket; 16 MiB if nothing else is said.
    pub frame_bytes_max: usize,
    /// Bytes of one message, which may come in several frames; 16 MiB if nothing else is said.
    pub message_bytes_max: usize,
    /// Levels of the protocol's own objects and lists within each other; 64 if nothing else is
    /// said, and never more than
    /// 256. Arguments that nest deeper than 64 levels are answered as malformed, whatever is said
    ///      here.
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
