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
    append(head, now_us, "journal_opened", &body.to_string())
}

pub(crate) fn closed(head: Option<&Head>, now_us: i64) -> Append {
    append(head, now_us, CLOSED, "{}")
}

pub(crate) fn repaired(head: Option<&Head>, now_us: i64, body: &str) -> Append {
    append(head, now_us, "journal_repaired", body)
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

fn append(head: Option<&Head>, now_us: i64, kind: &str, body: &str) -> Append {
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
        actor: Actor::new("journal"),
        body,
        prev,
    }
    .line();
    Append::new(session, seq, vec![line])
}
