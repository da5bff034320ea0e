//! Records that this program did not write, appended to the journal as they are.

use recount::session::{OpenKind, Seq, SessionId};
use recount_journal::{Actor, Append, Draft, Hash, Journal, OpenItem, WorkChange};

/// A body that only a newer program knows.
pub(crate) const NEWER: &str = r#"{"about":"life","rules":4711}"#;

/// Appends records of one time to a session, each with its kind and its body, and open work.
pub(crate) async fn append(
    journal: &dyn Journal,
    session: SessionId,
    at_us: i64,
    records: &[(&str, &str)],
    open: Vec<OpenItem>,
) {
    let head = journal.head(session.0).await.unwrap();
    let (first, mut prev) = head.map_or((0, Hash::ZERO), |it| (it.seq, it.hash));
    let mut lines = Vec::new();
    for (seq, (kind, body)) in (first + 1..).zip(records) {
        let draft = Draft {
            session: session.0,
            seq,
            at_us,
            kind,
            cause: None,
            actor: Actor::new("program"),
            body,
            prev,
        };
        let line = draft.line();
        prev = line.leaf();
        lines.push(line);
    }
    let mut append = Append::new(session.0, first, lines);
    append.open_work = open.into_iter().map(WorkChange::Put).collect();
    journal.append(append).await.unwrap();
}

/// Appends a session of a newer program, of which no record can be read. Open work of every kind
/// names its records.
pub(crate) async fn unreadable_session(journal: &dyn Journal, session: SessionId) {
    let kinds = [
        ("session_opened", OpenKind::Session),
        ("function_call_received", OpenKind::Confirmation),
        ("confirmation_requested", OpenKind::Paused),
        ("function_call_received", OpenKind::Claimed),
        ("function_call_received", OpenKind::Ready),
        ("confirmation_answered", OpenKind::Leave),
        ("paused", OpenKind::Pause),
    ];
    let records = kinds.map(|(kind, _)| (kind, NEWER));
    let open = (1..).zip(kinds).map(|(item, (_, kind))| OpenItem {
        session: session.0,
        item,
        kind: kind.as_str().to_owned(),
        since_us: 1,
        deadline_us: None,
        // The request of the call at record 2.
        request: (kind == OpenKind::Confirmation).then(|| session.request_id(Seq(3)).0),
        flags: 0,
    });
    append(journal, session, 1, &records, open.collect()).await;
}
