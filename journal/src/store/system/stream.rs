//! The records of the system stream: each opening, repair and close of the journal.

use serde_json::json;
use uuid::Uuid;

use super::opened::{After, Opened};
use crate::{Actor, Append, Draft, Hash, Head};

/// The kind of the record that closes a journal.
pub(crate) const CLOSED: &str = "journal_closed";

pub(crate) fn opened(head: Option<&Head>, now_us: i64, program: &str, opened: &Opened) -> Append {
    let after = match opened.after {
        After::New => "new",
        After::Clean => "clean",
        After::Crash => "crash",
    };
    let recovered = json!({
        "records": opened.records,
        "cut_bytes": opened.cut_bytes,
        "index": opened.index.to_string(),
    });
    let body = json!({"program": program, "after": after, "recovered": recovered});
    own_append(
        head,
        now_us,
        Actor::new("journal"),
        "journal_opened",
        &body.to_string(),
    )
}

pub(crate) fn closed(head: Option<&Head>, now_us: i64) -> Append {
    own_append(head, now_us, Actor::new("journal"), CLOSED, "{}")
}

pub(crate) fn repaired(head: Option<&Head>, now_us: i64, body: &str) -> Append {
    own_append(
        head,
        now_us,
        Actor::new("journal"),
        "journal_repaired",
        body,
    )
}

/// The head of the stream after an append of the journal itself.
pub(crate) fn head_of(append: &Append) -> Option<Head> {
    let line = append.lines.last()?;
    let record = line.record().ok()?;
    Some(Head {
        seq: record.seq,
        hash: line.leaf(),
        at_us: record.at_us,
    })
}

/// The append of one record to the journal's own stream, behind `head`.
///
/// Records that concern a whole journal are there, such as pauses, erasures and checkpoints. If
/// another writer was faster, the journal rejects the append with [`Conflict`](crate::Error).
///
/// ```
/// use recount_journal::{Actor, Journal, MemoryJournal, block_on, own_append};
/// use uuid::Uuid;
///
/// let journal = MemoryJournal::new();
/// let head = block_on(journal.head(Uuid::nil()))?;
/// let append = own_append(head.as_ref(), 1_000, Actor::new("journal"), "inspected", "{}");
/// assert_eq!(block_on(journal.append(append))?.seq, 1);
/// # Ok::<(), recount_journal::Error>(())
/// ```
pub fn own_append(
    head: Option<&Head>,
    now_us: i64,
    actor: Actor,
    kind: &str,
    body: &str,
) -> Append {
    let (seq, prev, last_us) = head.map_or((0, Hash::ZERO, i64::MIN), |head| {
        (head.seq, head.hash, head.at_us)
    });
    let session = Uuid::nil();
    // A clock that was set back must not make times decrease in the stream.
    let at_us = now_us.max(last_us);
    let line = Draft {
        session,
        seq: seq + 1,
        at_us,
        kind,
        cause: None,
        actor,
        body,
        prev,
    }
    .line();
    Append::new(session, seq, vec![line])
}
