use futures_util::FutureExt;

use super::super::SystemClock;
use super::*;
use crate::session::Frames;

impl Default for Media {
    fn default() -> Media {
        Media::new(SystemClock::shared(), None)
    }
}

/// One that withholds input while the model waits for whatever function.
fn withholding() -> Arc<Media> {
    Arc::new(Media::new(SystemClock::shared(), Some(Arc::from([]))))
}

fn piece() -> Piece {
    Piece::Audio("audio/pcm".to_owned(), Arc::from([0_u8; 4]))
}

#[tokio::test]
async fn what_waited_for_a_connection_that_has_ended_is_not_counted_on_the_next() {
    let media = Arc::new(Media::default());
    let mut before = media.open(Seq(3), 64);
    for _ in 0..SENDING {
        assert!(media.send(piece()).await);
    }
    let mut waits = Box::pin(media.send(piece()));
    assert!((&mut waits).now_or_never().is_none(), "the queue is full");
    let mut after = media.open(Seq(9), 64);
    // What it had queued goes nowhere now, and makes room.
    assert!(before.next().now_or_never().is_none());
    assert!(!waits.await, "its connection has ended");
    assert_eq!(media.rest(Seq(9)), None);
    assert!(media.send(piece()).await);
    assert!(after.next().await.is_some());
    let counted = media
        .rest(Seq(9))
        .unwrap_or_else(|| panic!("one piece was sent"));
    assert_eq!(
        counted.sent.audio,
        Frames {
            frames: 1,
            bytes: 4
        }
    );
}

#[test]
fn a_call_read_while_its_connection_ends_withholds_nothing() {
    let media = withholding();
    let mut listener = media.listen();
    let _pieces = media.open(Seq(3), 64);
    media.shut(Seq(3));
    // The reader has ended, and was in the middle of a message.
    let call = r#"{"toolCall":{"functionCalls":[{"id":"c","name":"pay"}]}}"#;
    media.handed_on(Seq(3), call);
    assert!(!media.is_withholding());
    assert!(listener.try_recv().is_err());
}

#[tokio::test]
async fn an_end_of_the_audio_that_waited_goes_by_itself_also_where_the_queue_is_full() {
    for waiting in [0, SENDING] {
        let media = withholding();
        let mut pieces = media.open(Seq(3), 64);
        assert!(media.send(piece()).await);
        assert!(pieces.next().await.is_some());
        media.note(Seq(3), true);
        assert!(media.send(Piece::AudioStreamEnd).await);
        assert!(pieces.next().now_or_never().is_none(), "it is withheld");
        for _ in 0..waiting {
            assert!(media.send(piece()).await);
        }
        media.note(Seq(3), false);
        let mut gone = Vec::new();
        while let Some(Some(message)) = pieces.next().now_or_never() {
            gone.push(message.contains("audioStreamEnd"));
        }
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
fn a_message_that_nests_deeper_than_the_connection_takes_brings_neither_media_nor_calls() {
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
