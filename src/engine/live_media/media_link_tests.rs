use futures_util::FutureExt;

use super::*;
use crate::engine::clock::SystemClock;
use crate::engine::live_media::input_lines::LINE_PIECES_MAX;
use crate::engine::live_media::pieces::Passed;
use crate::session::Frames;

impl Default for Media {
    fn default() -> Media {
        Media::new(SystemClock::shared(), None)
    }
}

/// A fast path that withholds input while the model waits for any function.
fn withholding() -> Arc<Media> {
    Arc::new(Media::new(SystemClock::shared(), Some(Arc::from([]))))
}

fn piece() -> Piece {
    Piece::Audio("audio/pcm".to_owned(), Arc::from([0_u8; 4]))
}

/// Opens a connection that accepts input at once.
fn open(media: &Arc<Media>, epoch: Seq) -> Pieces {
    let pieces = media.open(epoch, 64);
    media.release();
    pieces
}

/// Returns the messages sent now.
fn leave(pieces: &mut Pieces) -> Vec<String> {
    let mut left = Vec::new();
    while let Some(Some(passed)) = pieces.next().now_or_never() {
        if let Passed::Message(message) = passed {
            left.push(message);
        }
    }
    left
}

#[tokio::test]
async fn waiting_input_goes_to_next_connection_once() {
    let media = Arc::new(Media::default());
    let mut before = open(&media, Seq(3));
    for _ in 0..LINE_PIECES_MAX {
        assert!(media.send(piece()).await);
    }
    let mut waits = Box::pin(media.send(piece()));
    assert!((&mut waits).now_or_never().is_none(), "the queue is full");
    let mut after = open(&media, Seq(9));
    // Its queued pieces are dropped, which makes room.
    assert!(leave(&mut before).is_empty());
    assert!(waits.await);
    assert_eq!(media.rest(Seq(9)), None);
    assert_eq!(leave(&mut after).len(), 1);
    let counted = media
        .rest(Seq(9))
        .unwrap_or_else(|| panic!("one piece was sent"));
    let one = Frames {
        frames: 1,
        bytes: 4,
    };
    assert_eq!(counted.sent.audio, one);
}

#[tokio::test]
async fn waiting_input_is_refused_without_next_connection() {
    let media = Arc::new(Media::default());
    let pieces = open(&media, Seq(3));
    for _ in 0..LINE_PIECES_MAX {
        assert!(media.send(piece()).await);
    }
    let mut waits = Box::pin(media.send(piece()));
    assert!((&mut waits).now_or_never().is_none());
    media.shut(Seq(3));
    drop(pieces);
    assert!(!waits.await);
    let expected = media.expect();
    for _ in 0..LINE_PIECES_MAX {
        assert!(media.send(piece()).await);
    }
    let mut waits = Box::pin(media.send(piece()));
    assert!(
        (&mut waits).now_or_never().is_none(),
        "as many wait as else"
    );
    drop(expected);
    assert!(!waits.await);
}

#[test]
fn call_read_during_close_withholds_nothing() {
    let media = withholding();
    let mut listener = media.listen();
    let _pieces = media.open(Seq(3), 64);
    media.shut(Seq(3));
    // The connection has ended while its reader was handling a message.
    let call = r#"{"toolCall":{"functionCalls":[{"id":"c","name":"pay"}]}}"#;
    media.handed_on(Seq(3), call);
    assert!(!media.is_withholding());
    assert!(listener.try_recv().is_err());
}

#[tokio::test]
async fn waiting_audio_end_is_sent_even_if_queue_is_full() {
    for waiting in [0, LINE_PIECES_MAX] {
        let media = withholding();
        let mut pieces = open(&media, Seq(3));
        assert!(media.send(piece()).await);
        assert_eq!(leave(&mut pieces).len(), 1);
        media.note(Seq(3), true);
        assert!(media.send(Piece::AudioStreamEnd).await);
        assert!(leave(&mut pieces).is_empty(), "it is withheld");
        for _ in 0..waiting {
            assert!(media.send(piece()).await);
        }
        media.note(Seq(3), false);
        let left = leave(&mut pieces).into_iter();
        let gone: Vec<bool> = left.map(|it| it.contains("audioStreamEnd")).collect();
        let end_first: Vec<bool> = (0..=waiting).map(|at| at == 0).collect();
        assert_eq!(gone, end_first);
        let counted = media
            .rest(Seq(3))
            .unwrap_or_else(|| panic!("audio was sent"));
        assert_eq!(counted.sent.audio.frames, 1 + waiting as u64);
        assert!(counted.withheld.is_none());
    }
}

#[test]
fn too_deep_message_brings_neither_media_nor_calls() {
    let blob = r#"{"inlineData":{"mimeType":"audio/pcm","data":"AAEC"}}"#;
    let frame =
        format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{blob}]}},"turnComplete":true}}}}"#);
    let call = r#"{"toolCall":{"functionCalls":[{"id":"c","name":"pay"}]}}"#;
    for (depth_max, is_read) in [(3, false), (64, true)] {
        let media = withholding();
        let mut listener = media.listen();
        let _pieces = media.open(Seq(3), depth_max);
        assert!(media.hear(Seq(3), &frame));
        let heard = listener.try_recv();
        let audio = matches!(heard, Ok(LiveEvent::Audio { .. }));
        let unreadable = matches!(heard, Ok(LiveEvent::Unreadable(_)));
        assert_eq!((audio, unreadable), (is_read, !is_read), "{heard:?}");
        media.handed_on(Seq(3), call);
        assert_eq!(media.is_withholding(), is_read);
    }
}

#[test]
fn malformed_parts_are_one_event_and_leave_the_media() {
    let blob = r#"{"inlineData":{"mimeType":"audio/pcm","data":"AAEC"}}"#;
    let content = format!(r#""serverContent":{{"modelTurn":{{"parts":[{blob}]}}}}"#);
    let frame = |more: &str| format!("{{{content},{more}}}");
    let three = r#""goAway":7,"toolCallCancellation":{"ids":[7,7]}"#;
    for (more, told) in [
        (r#""usageMetadata":{}"#, None),
        (
            r#""goAway":7"#,
            Some("goAway: expected an object, found a number"),
        ),
        (
            three,
            Some("ids[0]: expected a string, found a number, and 2 more"),
        ),
    ] {
        let media = withholding();
        let mut listener = media.listen();
        let _pieces = media.open(Seq(3), 64);
        assert!(
            media.hear(Seq(3), &frame(more)),
            "{more}: the session records the rest"
        );
        let events = std::iter::from_fn(|| listener.try_recv().ok());
        let (unreadable, others): (Vec<_>, Vec<_>) =
            events.partition(|it| matches!(it, LiveEvent::Unreadable(_)));
        assert!(
            matches!(others[..], [LiveEvent::Audio { .. }]),
            "{more}: {others:?}"
        );
        assert_eq!(unreadable.len(), usize::from(told.is_some()), "{more}");
        let ends =
            |it: &LiveEvent| format!("{it:?}").ends_with(&format!("{})", told.unwrap_or_default()));
        assert!(unreadable.iter().all(ends), "{more}: {unreadable:?}");
    }
}
