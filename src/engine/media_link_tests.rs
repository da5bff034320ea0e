use futures_util::FutureExt;

use super::*;
use crate::session::Frames;

fn piece() -> Piece {
    Piece::Audio("audio/pcm".to_owned(), Arc::from([0_u8; 4]))
}

#[tokio::test]
async fn what_waited_for_a_connection_that_has_ended_is_not_counted_on_the_next() {
    let media = Arc::new(Media::default());
    let mut before = media.open(Seq(3));
    for _ in 0..SENDING {
        assert!(media.send(piece()).await);
    }
    let mut waits = Box::pin(media.send(piece()));
    assert!((&mut waits).now_or_never().is_none(), "the queue is full");
    let mut after = media.open(Seq(9));
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
    let media = Arc::new(Media::new(Some(Arc::from([]))));
    let mut listener = media.listen();
    let _pieces = media.open(Seq(3));
    media.shut(Seq(3));
    // The reader is aborted, and was in the middle of a message.
    let call = r#"{"toolCall":{"functionCalls":[{"id":"c","name":"pay"}]}}"#;
    media.handed_on(Seq(3), call);
    assert!(!media.is_withholding());
    assert!(listener.try_recv().is_err());
}
