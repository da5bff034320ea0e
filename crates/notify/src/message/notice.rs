//! A notice: one notification of one sink, without its content.

use recount::session::{Seq, SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::values::{Occasion, SinkName};

/// The namespace of the ids. It never changes, so that a repeated notification has the same id.
const NAMESPACE: Uuid = Uuid::from_u128(0x6d1f_9a2c_51b7_4e0e_8f63_2a4c_0b9d_e715);

/// One notification of one sink. Its content is read from the journal when it is sent.
///
/// ```json
/// {"id":"0b9d…","occasion":"asked","at":1795183387112345,
///  "about":{"call":{"session":"0199…","record":7,"call":5}}}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notice {
    pub(crate) id: Uuid,
    pub(crate) occasion: Occasion,
    /// The time of the record, or the time at which a reminder, an escalation or a digest was due.
    pub(crate) at: Timestamp,
    pub(crate) about: About,
}

/// The subject of a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum About {
    /// A record of a call.
    Call {
        session: SessionId,
        /// The record: a request, an answer or an end.
        record: Seq,
        /// `None` if the record cannot be read.
        call: Option<Seq>,
    },
    /// A day.
    Digest(Digest),
    /// Nothing: a test.
    Nothing,
}

/// The numbers of a day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest {
    /// The day on which the digest is sent, such as `2026-11-28`.
    pub(crate) date: String,
    pub(crate) asked: u64,
    pub(crate) approved: u64,
    pub(crate) denied: u64,
    pub(crate) expired: u64,
    pub(crate) in_doubt: u64,
    /// The requests that wait when the digest is made.
    pub(crate) open: u64,
}

impl Notice {
    /// A notice about a record of a call.
    pub(crate) fn of_call(
        sink: &SinkName,
        occasion: Occasion,
        at: Timestamp,
        session: SessionId,
        (record, call): (Seq, Option<Seq>),
    ) -> Notice {
        let name = format!("{sink}/{}/{}/{occasion}", session.0, record.0);
        Notice {
            id: Uuid::new_v5(&NAMESPACE, name.as_bytes()),
            occasion,
            at,
            about: About::Call {
                session,
                record,
                call,
            },
        }
    }

    /// The notice with a digest.
    pub(crate) fn of_day(sink: &SinkName, at: Timestamp, digest: Digest) -> Notice {
        let name = format!("{sink}/digest/{}", digest.date);
        Notice {
            id: Uuid::new_v5(&NAMESPACE, name.as_bytes()),
            occasion: Occasion::Digest,
            at,
            about: About::Digest(digest),
        }
    }

    /// A notice about nothing. Each test has an id of its own.
    pub(crate) fn test(id: Uuid, at: Timestamp) -> Notice {
        Notice {
            id,
            occasion: Occasion::Test,
            at,
            about: About::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn notice(sink: &str, session: u128, record: u64, occasion: Occasion) -> Uuid {
        let (sink, session) = (sink.parse().unwrap(), SessionId(Uuid::from_u128(session)));
        let place = (Seq(record), Some(Seq(1)));
        Notice::of_call(&sink, occasion, Timestamp(9), session, place).id
    }

    #[test]
    fn id_follows_from_sink_record_and_occasion() {
        let ids = BTreeSet::from([
            notice("a", 1, 7, Occasion::Asked),
            notice("b", 1, 7, Occasion::Asked),
            notice("a", 2, 7, Occasion::Asked),
            notice("a", 1, 8, Occasion::Asked),
            notice("a", 1, 7, Occasion::Reminder),
        ]);
        assert_eq!(ids.len(), 5);
        // Receivers recognise repetitions across releases by this value.
        let pinned = "7a520fa5-7733-575b-87b2-73c1be81e5f0";
        assert_eq!(notice("a", 1, 7, Occasion::Asked).to_string(), pinned);
    }
}
