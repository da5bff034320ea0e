//! An append in the queue, and the channel of its acknowledgement.

use futures_channel::oneshot;

use crate::view::Added;
use crate::{Error, Hash, Head};

/// An append in the queue.
pub(crate) struct Queued {
    pub(crate) bytes: Vec<u8>,
    pub(crate) added: Added,
    /// The leaf hash of each record, which the admission needed anyway.
    pub(crate) leaves: Vec<Hash>,
    pub(super) ack: Option<oneshot::Sender<Result<Head, Error>>>,
}

impl Queued {
    /// An append of the journal itself, of one record and without a waiting caller.
    pub(crate) fn own(bytes: Vec<u8>, added: Added) -> Self {
        Self {
            bytes,
            leaves: vec![added.head.hash],
            added,
            ack: None,
        }
    }

    pub(crate) fn acknowledge(self) {
        if let Some(ack) = self.ack {
            // A caller that no longer waits has lost nothing.
            let _gone = ack.send(Ok(self.added.head));
        }
    }

    pub(crate) fn refuse(self, cause: &str) {
        self.refuse_with(Error::Poisoned {
            cause: cause.to_owned(),
        });
    }

    pub(super) fn refuse_with(self, error: Error) {
        if let Some(ack) = self.ack {
            let _gone = ack.send(Err(error));
        }
    }
}
