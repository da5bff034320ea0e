//! The properties that hold for any bytes received as a frame.

use crate::live::incoming;
use crate::live::wire::{CallRead, ClientMessage, PartsRead, ServerMessage};
use crate::session::{Event, Observation, Seq};

/// The maximum length of the record of one part of a frame, in bytes. It leaves room for the
/// decisions about it.
const RECORD_BYTES_MAX: usize = 1 << 20;

/// Reads bytes as both sides read a frame, and translates them as the client does.
///
/// ```
/// recount::testing::any_frame(br#"{"serverContent":{"turnComplete":true}}"#);
/// recount::testing::any_frame(b"no JSON at all");
/// ```
///
/// # Panics
/// If one of these properties does not hold:
///
/// * A message that was read, written and read again is equal.
/// * All bytes are translated, and the same way each time.
/// * Each call has one observation.
/// * No observation is too large for the journal.
pub fn any_frame(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = ServerMessage::decode(&text);
    if let Ok(message) = &read {
        let again = ServerMessage::decode(&message.encode());
        assert_eq!(again.as_ref(), Ok(message), "of a service: {text}");
    }
    if let Ok(message) = ClientMessage::decode(&text) {
        let again = ClientMessage::decode(&message.encode());
        assert_eq!(again, Ok(message), "of a client: {text}");
    }
    let translate = || {
        let heard = incoming::heard(Seq(1), &text, 64, &|_, _| None, &mut Default::default());
        (heard.observations, heard.handle.is_some())
    };
    let heard = translate();
    assert_eq!(heard, translate(), "{text}");
    let (observations, has_handle) = heard;
    for observation in &observations {
        let body = Event::Observed(observation.clone()).body();
        let bytes = body.map_or(usize::MAX, |body| body.len());
        assert!(bytes <= RECORD_BYTES_MAX, "{bytes} bytes: {text}");
    }
    let of_kind = |kind: &str| {
        let found = observations.iter().filter(|it| it.kind() == kind);
        found.count()
    };
    match PartsRead::decode_within(&text, 64) {
        Err(_) => {
            assert!(read.is_err(), "{text}");
            assert_eq!(of_kind("frame_rejected"), observations.len(), "{text}");
        }
        Ok(parts) => {
            assert_eq!(read.is_ok(), parts.is_whole(), "{text}");
            let known = of_kind("function_call_received");
            assert!(known <= parts.calls.len(), "{text}");
            // A call whose arguments still stream has no observation yet.
            let ends = parts.calls.iter().filter(|it| match it {
                CallRead::Call(call) => call.will_continue != Some(true),
                CallRead::Malformed(..) | CallRead::Unreadable { .. } => false,
            });
            // A call with a name that is too large is rejected instead.
            let rejected = of_kind("frame_rejected");
            assert!(
                !parts.is_whole() || known + rejected >= ends.count(),
                "{text}"
            );
            assert!(rejected >= parts.rejected.len(), "{text}");
            let is_given = |it: &Observation| {
                if let Observation::ResumptionHandleReceived(it) = it {
                    it.fingerprint.is_some()
                } else {
                    false
                }
            };
            assert_eq!(observations.iter().any(is_given), has_handle, "{text}");
        }
    }
}
